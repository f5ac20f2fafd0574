//! Mutants of results: what an engine shows.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use contextwire_proto::v1;
use tonic::Status;

use super::fields::{assemble_of, typed};
use super::{Change, Exchange, Mutant, NONE, mutant};
use crate::list::{insert, keep, message};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "keeps-beyond-the-list",
        &["R3.5", "R3.10"],
        "a range ends behind the list",
        &["E-HKS-09"],
        shows(|it, start| {
            it.segments.push(keep(count(start), 1));
        }),
    ),
    mutant(
        "keeps-twice",
        &["R3.5"],
        "shows each range twice",
        &["E-HKS-09", "E-HKS-12"],
        shows(|it, _| {
            it.segments.extend(it.segments.clone());
        }),
    ),
    mutant(
        "splits-pairs",
        &["R7.7"],
        "leaves tool calls out and keeps their results",
        &["E-HKS-11"],
        shows(|it, _| {
            leave_out(it, |index| index % 4 == 1);
        }),
    ),
    mutant(
        "loses-the-newest",
        &["R7.7"],
        "leaves the newest message out",
        &["E-HKS-12"],
        shows(|it, start| {
            let newest = count(start).saturating_sub(1);
            leave_out_at(it, newest);
        }),
    ),
    mutant(
        "ignores-budgets",
        &["R7.7"],
        "is ten times over the budget and says nothing",
        &["E-HKS-13"],
        shows(|it, start| {
            it.prompt_authority = None;
            it.estimated_tokens = start.token_budget.unwrap_or(1) * 10;
        }),
    ),
    mutant(
        "fickle",
        &["R3.1"],
        "shows something else each second time",
        &["E-HKS-14"],
        shows(|it, _| {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            if COUNT.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                it.segments.push(insert(message(
                    "",
                    "user",
                    r#"{"role":"user","content":"by the way"}"#,
                )));
            }
        }),
    ),
    mutant(
        "inserts-bare-text",
        &["R2.4"],
        "an inserted message is no object",
        &["E-RES-02"],
        shows(|it, _| {
            it.segments.push(insert(message("", "user", "hello")));
        }),
    ),
    mutant(
        "needs-a-budget",
        &["R4.1"],
        "shows nothing without a token budget",
        &["E-FLD-13"],
        shows(|it, start| {
            if start.token_budget.is_none() {
                it.segments.clear();
            }
        }),
    ),
    mutant(
        "shows-uploads",
        &["R3.4"],
        "answers an upload with messages",
        &["E-HKS-35"],
        shows(|it, start| {
            if start.site() == v1::AssembleSite::Sync {
                it.segments.push(keep(0, 1));
            }
        }),
    ),
    mutant(
        "wandering-epochs",
        &["R10.1"],
        "each answer has an epoch of its own",
        &["E-RES-10"],
        shows(|it, _| {
            if let Some(projection) = &mut it.context_projection {
                projection.epoch = Some(uuid::Uuid::now_v7().to_string());
            }
        }),
    ),
    mutant(
        "empty-outcomes",
        &["R7.7", "R10.2"],
        "a result has neither messages nor `unchanged`",
        &["E-RES-15"],
        Change {
            response: Some(|exchange, message| outcome(exchange, message, |_| None)),
            ..NONE
        },
    ),
    mutant(
        "shows-nothing-of-a-known-projection",
        &["R10.2"],
        "a known projection is answered with nothing",
        &["E-RES-09"],
        Change {
            response: Some(|exchange, message| {
                let start = assemble_of(exchange).unwrap_or_default();
                if start.known_projection.is_none() {
                    return Ok(vec![message]);
                }
                outcome(exchange, message, |_| None)
            }),
            ..NONE
        },
    ),
    mutant(
        "unasked-unchanged",
        &["R7.7"],
        "`unchanged` without a known projection",
        &["E-RES-15"],
        Change {
            response: Some(|exchange, message| {
                outcome(exchange, message, |_| {
                    Some(v1::assemble_result::Outcome::Unchanged(
                        v1::UnchangedProjection::default(),
                    ))
                })
            }),
            ..NONE
        },
    ),
    mutant(
        "silent-no-op",
        &["R1.2"],
        "compacts nothing and does not say why",
        &["E-HKS-16"],
        Change {
            response: Some(silent),
            ..NONE
        },
    ),
    mutant(
        "counts-too-much",
        &["R7.10"],
        "counts more messages than it got",
        &["E-HKS-31"],
        Change {
            response: Some(|exchange, message| {
                if exchange.method != "IngestBatch" {
                    return Ok(vec![message]);
                }
                Ok(vec![typed(message, |it: &mut v1::IngestBatchResponse| {
                    it.ingested_count += 1000;
                })])
            }),
            ..NONE
        },
    ),
];

const fn shows(change: fn(&mut v1::AssembledMessages, &v1::AssembleStart)) -> Change {
    Change {
        shown: Some(change),
        ..NONE
    }
}

type Outcome = Option<v1::assemble_result::Outcome>;

#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn outcome(
    exchange: &Exchange,
    message: Bytes,
    change: fn(Outcome) -> Outcome,
) -> Result<Vec<Bytes>, Status> {
    if exchange.method != "Assemble" {
        return Ok(vec![message]);
    }
    Ok(vec![typed(message, |it: &mut v1::AssembleResponse| {
        if let Some(v1::assemble_response::Frame::Result(result)) = &mut it.frame {
            result.outcome = change(result.outcome.take());
        }
    })])
}

#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn silent(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    if exchange.method != "Compact" {
        return Ok(vec![message]);
    }
    Ok(vec![typed(message, |it: &mut v1::CompactResponse| {
        if let Some(v1::compact_response::Frame::Result(result)) = &mut it.frame {
            result.reason = None;
        }
    })])
}

fn count(start: &v1::AssembleStart) -> u64 {
    let head = start.transcript.as_ref().and_then(|it| it.head.as_ref());
    head.map(|head| head.count).unwrap_or_default()
}

fn leave_out_at(messages: &mut v1::AssembledMessages, index: u64) {
    let segments = std::mem::take(&mut messages.segments);
    messages.segments = segments
        .into_iter()
        .flat_map(|segment| singles(&segment))
        .filter(|segment| *segment != keep(index, 1))
        .collect();
}

fn leave_out(messages: &mut v1::AssembledMessages, out: fn(u64) -> bool) {
    let segments = std::mem::take(&mut messages.segments);
    let kept = |segment: &v1::Segment| match &segment.kind {
        Some(v1::segment::Kind::Keep(keep)) => !out(keep.start),
        Some(v1::segment::Kind::Insert(_)) | None => true,
    };
    messages.segments = segments
        .into_iter()
        .flat_map(|segment| singles(&segment))
        .filter(kept)
        .collect();
}

/// A range as ranges of one.
fn singles(segment: &v1::Segment) -> Vec<v1::Segment> {
    match &segment.kind {
        Some(v1::segment::Kind::Keep(it)) => (it.start..it.start + it.count)
            .map(|index| keep(index, 1))
            .collect(),
        Some(v1::segment::Kind::Insert(_)) | None => vec![segment.clone()],
    }
}
