//! Updates of lists: parts, ranges and heads.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, Verdict, check, ensure};
use crate::list::{self, insert, keep};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-SYN-03",
        ["R3.4", "R1.8"],
        Must,
        Core,
        [],
        parts,
        "a list in several parts is joined, each part's head verified",
        "a long list does not fit into one message"
    ),
    check!(
        "E-SYN-04",
        ["R3.5"],
        Must,
        Core,
        [],
        bad_ranges,
        "a kept range that is empty, outside of the base or not ascending is refused",
        "a small frame could multiply messages without bound"
    ),
    check!(
        "E-SYN-06",
        ["R3.4"],
        Must,
        Core,
        [],
        incomplete,
        "a call whose list never ends is not answered from half of it",
        "the model would miss the newest messages"
    ),
    check!(
        "E-SYN-07",
        ["R3.7"],
        Must,
        Core,
        [],
        wrong_head,
        "a list from zero that does not match its head is TRANSCRIPT_DIGEST_MISMATCH",
        "both sides would go on with different lists"
    ),
    check!(
        "E-SYN-08",
        ["R3.1"],
        Must,
        Core,
        [],
        unknown_list,
        "a list of an unknown kind is INVALID_REQUEST",
        "a view stored as a log cannot be told from one any more"
    ),
];

const VIEW: v1::TranscriptList = v1::TranscriptList::View;

async fn parts(probe: Probe) -> Checked {
    let held = list::conversation(9);
    let first = held.get(..3).unwrap_or_default();
    let second = held.get(..6).unwrap_or_default();
    let start = v1::TranscriptUpdate {
        more: true,
        ..list::full(VIEW, 1, first)
    };
    let start = request::assemble_of(probe.session(), start);
    let mut stream = probe.started("Assemble", &start).await?;
    for (before, after, more) in [(first, second, true), (second, &held[..], false)] {
        let new = after.iter().skip(before.len()).cloned().map(insert);
        stream
            .transcript(&v1::TranscriptUpdate {
                segments: new.collect(),
                more,
                ..list::full(VIEW, 1, after)
            })
            .await;
    }
    let result = stream.result::<v1::AssembleResult>(&held).await?;
    let result = accepted(result, "a list in three parts")?;
    let Some(v1::assemble_result::Outcome::Messages(messages)) = result.outcome else {
        return crate::check::broken("no messages for a list in three parts");
    };
    ensure(!messages.segments.is_empty(), || {
        "nothing is shown of nine messages".to_owned()
    })
}

async fn bad_ranges(probe: Probe) -> Checked {
    let held = list::conversation(4);
    let defects = [
        ("an empty range", vec![keep(0, 0), keep(0, 4)]),
        ("a range beyond the base", vec![keep(0, 5)]),
        ("a huge range", vec![keep(1, u64::MAX)]),
        ("the same range twice", vec![keep(0, 4), keep(0, 4)]),
        ("ranges that descend", vec![keep(2, 2), keep(0, 2)]),
    ];
    let session = probe.session();
    let start = request::assemble(session.clone(), &held);
    super::assemble::shown(&probe, &start, &held).await?;
    for (what, segments) in defects {
        let update = v1::TranscriptUpdate {
            base: Some(list::state(&held)),
            segments,
            ..list::full(VIEW, 1, &held)
        };
        let start = request::assemble_of(session.clone(), update);
        let mut stream = probe.started("Assemble", &start).await?;
        let result = loop {
            // An engine that keeps no lists asks first, and is served the same defect.
            match stream.word().await? {
                Ok(Some(crate::probe::EngineFrame {
                    need: Some(need), ..
                })) => {
                    let segments = vec![keep(0, 1)];
                    stream
                        .transcript(&v1::TranscriptUpdate {
                            segments,
                            ..list::full(VIEW, need.seq, &held)
                        })
                        .await;
                }
                other => break other,
            }
        };
        let due = [Reason::InvalidRequest, Reason::ContractViolation];
        refused_as(result, &due).map_err(|verdict| on(what, verdict))?;
    }
    Ok(())
}

fn on(what: &str, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Broken(why) => Verdict::Broken(format!("{what}: {why}")),
        other @ (Verdict::NotApplicable(_) | Verdict::Inconclusive(_)) => other,
    }
}

async fn incomplete(probe: Probe) -> Checked {
    let mut stream = super::frames::waiting(&probe, probe.session()).await?;
    stream.half_close();
    let status = stream.failure().await?;
    let due = [
        Reason::TranscriptUnavailable,
        Reason::InvalidRequest,
        Reason::ContractViolation,
    ];
    refused_as::<()>(Err(status), &due).map(drop)
}

async fn wrong_head(probe: Probe) -> Checked {
    let held = list::conversation(3);
    let other = list::tool_rounds(1);
    let update = v1::TranscriptUpdate {
        head: Some(list::state(other.get(..3).unwrap_or_default())),
        ..list::full(VIEW, 1, &held)
    };
    let start = request::assemble_of(probe.session(), update);
    let mut stream = probe.started("Assemble", &start).await?;
    let status = stream.failure().await?;
    refused_as::<()>(Err(status), &[Reason::TranscriptDigestMismatch]).map(drop)?;
    let start = request::assemble(probe.session(), &held);
    super::assemble::shown(&probe, &start, &held)
        .await
        .map(drop)
}

async fn unknown_list(probe: Probe) -> Checked {
    let held = list::conversation(3);
    let update = v1::TranscriptUpdate {
        list: 77,
        ..list::full(VIEW, 1, &held)
    };
    let start = request::assemble_of(probe.session(), update);
    let mut stream = probe.started("Assemble", &start).await?;
    let status = stream.failure().await?;
    refused_as::<()>(Err(status), &[Reason::InvalidRequest]).map(drop)
}
