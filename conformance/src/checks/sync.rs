//! Differences: what an engine does that keeps lists.

use contextwire_proto::v1;

use crate::check::{Check, Checked, Need, Verdict, broken, check, ensure};
use crate::list;
use crate::probe::{Probe, Stream};
use crate::refusal::{Refused, accepted};
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-SYN-01",
        ["R3.8", "R3.9"],
        Must,
        Delta,
        [Need::Delta],
        known_base,
        "a difference over a state that a result acknowledged is taken without asking",
        "otherwise the whole conversation travels every turn"
    ),
    check!(
        "E-SYN-02",
        ["R3.6", "R3.9"],
        Must,
        Delta,
        [Need::Delta],
        older_base,
        "a difference over one of the last four states is taken as well",
        "a retry and a tool loop build on an older state"
    ),
    check!(
        "E-SYN-05",
        ["R3.6"],
        Must,
        Core,
        [],
        unknown_base,
        "an engine without the base asks for the list with the next seq, and is served from zero",
        "it must neither guess nor fail: the host has the list"
    ),
    check!(
        "E-SYN-09",
        ["R3.6"],
        Must,
        Core,
        [],
        asks_twice,
        "a list is asked for at most twice in a hook",
        "a host would send it for ever"
    ),
    check!(
        "E-SYN-10",
        ["R3.6"],
        Must,
        Delta,
        [Need::Delta],
        no_segments,
        "a host that has no base sends base = head without segments, and is understood",
        "it is how a host goes on after its restart"
    ),
    check!(
        "E-SYN-16",
        ["R3.9"],
        Must,
        Core,
        [],
        other_session,
        "a state of one session is not a base in another",
        "a session must never see another one's messages"
    ),
];

const VIEW: v1::TranscriptList = v1::TranscriptList::View;

async fn acknowledged(probe: &Probe, session: &v1::Session, held: &[v1::Message]) -> Checked {
    let start = request::assemble(session.clone(), held);
    super::assemble::messages(probe, &start, held)
        .await
        .map(drop)
}

/// An Assemble of a difference.
async fn differing(
    probe: &Probe,
    session: &v1::Session,
    update: v1::TranscriptUpdate,
) -> Result<Stream, Verdict> {
    let start = request::assemble_of(session.clone(), update);
    probe.started("Assemble", &start).await
}

/// The result, which has to come without a request for the list.
async fn at_once(mut stream: Stream) -> Checked {
    match stream.word().await? {
        Ok(Some(frame)) if frame.result.is_some() => Ok(()),
        Ok(Some(frame)) if frame.need.is_some() => {
            broken(format!("{:?} of a state that it acknowledged", frame.need))
        }
        Ok(other) => broken(format!("{other:?} instead of a result")),
        Err(status) => accepted::<()>(Err(status), "a difference over a known state"),
    }
}

async fn known_base(probe: Probe) -> Checked {
    let (session, held) = (probe.session(), list::conversation(8));
    let base = held.get(..6).unwrap_or_default();
    acknowledged(&probe, &session, base).await?;
    at_once(differing(&probe, &session, list::appended(VIEW, base, &held)).await?).await
}

async fn older_base(probe: Probe) -> Checked {
    let (session, held) = (probe.session(), list::conversation(8));
    for len in 2..=4 {
        acknowledged(&probe, &session, held.get(..len).unwrap_or_default()).await?;
    }
    let base = held.get(..2).unwrap_or_default();
    at_once(differing(&probe, &session, list::appended(VIEW, base, &held)).await?).await
}

async fn no_segments(probe: Probe) -> Checked {
    let (session, held) = (probe.session(), list::conversation(8));
    acknowledged(&probe, &session, &held).await?;
    let update = v1::TranscriptUpdate {
        base: Some(list::state(&held)),
        segments: Vec::new(),
        ..list::full(VIEW, 1, &held)
    };
    at_once(differing(&probe, &session, update).await?).await?;
    let session = probe.session();
    let update = v1::TranscriptUpdate {
        base: Some(list::state(&held)),
        segments: Vec::new(),
        ..list::full(VIEW, 1, &held)
    };
    served(&mut differing(&probe, &session, update).await?, &held).await
}

/// The engine has to ask with the right number, and to answer once it has the list.
async fn served(stream: &mut Stream, held: &[v1::Message]) -> Checked {
    let frame = match stream.word().await? {
        Ok(Some(frame)) => frame,
        Ok(None) => return broken("OK trailers without a result"),
        Err(status) => return accepted::<()>(Err(status), "a difference over an unknown state"),
    };
    let Some(need) = frame.need else {
        return broken("a result over a base that the engine cannot have");
    };
    ensure(need.seq == 2 && need.list() == VIEW, || {
        format!("{need:?}: the answer to the first request has the seq 2 of the VIEW")
    })?;
    ensure(need.have.len() <= 32, || {
        format!("{} states in `have`", need.have.len())
    })?;
    stream.serve(&need, held).await;
    accepted(
        stream.result::<v1::AssembleResult>(held).await?,
        "the list from zero",
    )
    .map(drop)
}

async fn unknown_base(probe: Probe) -> Checked {
    let held = list::conversation(8);
    let base = held.get(..6).unwrap_or_default();
    let update = list::appended(VIEW, base, &held);
    served(
        &mut differing(&probe, &probe.session(), update).await?,
        &held,
    )
    .await
}

async fn asks_twice(probe: Probe) -> Checked {
    let held = list::conversation(8);
    let base = held.get(..6).unwrap_or_default();
    let update = list::appended(VIEW, base, &held);
    let mut stream = differing(&probe, &probe.session(), update.clone()).await?;
    let mut asked = 0;
    loop {
        match stream.word().await? {
            Ok(Some(frame)) => {
                let Some(need) = frame.need else {
                    return broken(format!("{frame:?} over a base that the engine cannot have"));
                };
                asked += 1;
                ensure(asked <= 2, || {
                    "the list is asked for a third time".to_owned()
                })?;
                stream
                    .transcript(&v1::TranscriptUpdate {
                        seq: need.seq,
                        ..update.clone()
                    })
                    .await;
            }
            Ok(None) => return broken("OK trailers without a result"),
            Err(status) => return Refused::read(&status).map(drop),
        }
    }
}

async fn other_session(probe: Probe) -> Checked {
    let (session, held) = (probe.session(), list::conversation(8));
    let base = held.get(..6).unwrap_or_default();
    acknowledged(&probe, &session, base).await?;
    let update = list::appended(VIEW, base, &held);
    served(
        &mut differing(&probe, &probe.session(), update).await?,
        &held,
    )
    .await
}
