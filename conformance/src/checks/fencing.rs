//! Order and tombstones: a delayed call loses, an abandoned one has no effect.

use contextwire_proto::{Reason, v1};

use super::log::{holds, ingested, same};
use crate::check::{Check, Checked, Need, Verdict, check, ensure};
use crate::list::{self, text};
use crate::probe::Probe;
use crate::refusal::{Refused, accepted, refused_as};
use crate::request;

const LOG_STATE: Need = Need::LogState;
const AFTER_TURN: Need = Need::Method("AfterTurn");

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-IDM-12",
        ["R7.9"],
        Must,
        Store,
        [LOG_STATE],
        delayed,
        "a mutating call with a lower pair and a new key is GENERATION_CONFLICT and changes nothing",
        "a packet of a host that is gone must not undo what its successor did"
    ),
    check!(
        "E-IDM-13",
        ["R7.9"],
        Must,
        Store,
        [LOG_STATE],
        reads,
        "a read with a lower pair is served and does not raise it",
        "reads are unordered; a slow one must not lock its own host out"
    ),
    check!(
        "E-IDM-14",
        ["R7.9", "R7.10"],
        Must,
        Store,
        [LOG_STATE],
        recorded,
        "a repeated call under a recorded key gets its answer, whatever came after it",
        "its answer was lost; a conflict would make the host do it once more"
    ),
    check!(
        "E-FEN-01",
        ["R7.2"],
        Must,
        Store,
        [LOG_STATE, AFTER_TURN],
        tombstone,
        "a hook that a later call names as abandoned has no effect any more: HOOK_CLOSED",
        "a substitute has acted in its place"
    ),
    check!(
        "E-FEN-02",
        ["R7.2"],
        Must,
        Store,
        [LOG_STATE, AFTER_TURN],
        tombstone_in_read,
        "a read records the tombstones that it carries",
        "the next call of a session is mostly an Assemble"
    ),
    check!(
        "E-FEN-03",
        ["R7.2"],
        Must,
        Store,
        [LOG_STATE, AFTER_TURN],
        late,
        "an abandoned hook that had its effect is named in reply.late",
        "the host has to look at what happened"
    ),
];

fn ingest_at(session: &v1::Session, id: &str, place: (u64, u64)) -> v1::IngestRequest {
    let ingest = request::ingest(session.clone(), text(id, "user", id));
    v1::IngestRequest {
        call: ingest.call.map(|call| request::at(call, place.0, place.1)),
        ..ingest
    }
}

async fn ordered(probe: &Probe, session: &v1::Session) -> Checked {
    let request = ingest_at(session, "first", (2_000, 5));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &request).await?;
    accepted(answer, "the first call of an epoch").map(drop)
}

async fn delayed(probe: Probe) -> Checked {
    let session = probe.session();
    ordered(&probe, &session).await?;
    for place in [(2_000, 4), (1_999, 900)] {
        let request = ingest_at(&session, "delayed", place);
        let answer = probe.ask::<v1::IngestResponse>("Ingest", &request).await?;
        refused_as(answer, &[Reason::GenerationConflict])?;
    }
    let request = ingest_at(&session, "next", (2_001, 1));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &request).await?;
    let reply = accepted(answer, "a call of a higher epoch")?.reply;
    let due = [text("first", "user", "first"), text("next", "user", "next")];
    same(reply.and_then(|it| it.log_state).as_ref(), &due)
}

async fn reads(probe: Probe) -> Checked {
    let session = probe.session();
    ordered(&probe, &session).await?;
    let held = list::conversation(2);
    for place in [(1_000, 1), (9_000, 1)] {
        let mut start = request::assemble(session.clone(), &held);
        start.call = start.call.map(|call| request::at(call, place.0, place.1));
        super::assemble::messages(&probe, &start, &held).await?;
    }
    let request = ingest_at(&session, "second", (2_000, 6));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &request).await?;
    accepted(
        answer,
        "the host's next call after a read with a higher pair",
    )
    .map(drop)
}

async fn recorded(probe: Probe) -> Checked {
    let session = probe.session();
    let first = ingest_at(&session, "first", (2_000, 5));
    let second = ingest_at(&session, "second", (2_000, 6));
    for request in [&first, &second, &first] {
        let answer = probe.ask::<v1::IngestResponse>("Ingest", request).await?;
        accepted(answer, "a call under a recorded key")?;
    }
    let due = [
        text("first", "user", "first"),
        text("second", "user", "second"),
    ];
    holds_more(&probe, &session, &due).await
}

async fn holds_more(probe: &Probe, session: &v1::Session, due: &[v1::Message]) -> Checked {
    let more = text("more", "user", "more");
    let mut due = due.to_vec();
    due.push(more.clone());
    same(ingested(probe, session, more).await?.as_ref(), &due)
}

/// A turn's end that its host gave up, and a call that names it.
fn abandoned(session: &v1::Session, log: &[v1::Message]) -> (v1::AfterTurnStart, v1::CallContext) {
    let start = request::after_turn(session.clone(), log);
    let hook_id = start.call.as_ref().map(|call| call.hook_id.clone());
    let call = v1::CallContext {
        abandoned_hooks: hook_id.into_iter().collect(),
        ..request::call(session.clone())
    };
    (start, call)
}

async fn closed(probe: &Probe, start: &v1::AfterTurnStart, log: &[v1::Message]) -> Checked {
    let mut stream = probe.started("AfterTurn", start).await?;
    let result = stream.result::<v1::AfterTurnResult>(log).await?;
    refused_as(result, &[Reason::HookClosed]).map(drop)
}

async fn tombstone(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(4));
    let (start, call) = abandoned(&session, &log);
    let first = text("first", "user", "first");
    let ingest = v1::IngestRequest {
        call: Some(call),
        ..request::ingest(session.clone(), first.clone())
    };
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "a call that names an abandoned hook")?;
    closed(&probe, &start, &log).await?;
    holds_more(&probe, &session, &[first]).await
}

async fn tombstone_in_read(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(4));
    let (start, call) = abandoned(&session, &log);
    let read = v1::AssembleStart {
        call: Some(call),
        ..request::assemble(session.clone(), &log)
    };
    super::assemble::messages(&probe, &read, &log).await?;
    closed(&probe, &start, &log).await?;
    holds(&probe, session, &[text("first", "user", "first")]).await
}

async fn late(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(4));
    let (start, call) = abandoned(&session, &log);
    let mut stream = probe.started("AfterTurn", &start).await?;
    let result = stream.result::<v1::AfterTurnResult>(&log).await?;
    accepted(result, "AfterTurn")?;
    let hooks = call.abandoned_hooks.clone();
    let ingest = v1::IngestRequest {
        call: Some(call),
        ..request::ingest(session, text("next", "user", "next"))
    };
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    let reply = named(answer)?.unwrap_or_default();
    let told: Vec<_> = reply.late.iter().map(|late| late.hook_id.clone()).collect();
    ensure(told == hooks, || {
        format!("reply.late names {told:?}, {hooks:?} are due")
    })
}

fn named(answer: Result<v1::IngestResponse, tonic::Status>) -> Result<Option<v1::Reply>, Verdict> {
    match answer {
        Ok(answer) => Ok(answer.reply),
        Err(status) => {
            let reason = Refused::read(&status)?.reason.name();
            crate::check::broken(format!("a call that names an abandoned hook is {reason}"))
        }
    }
}
