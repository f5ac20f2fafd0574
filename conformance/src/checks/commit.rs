//! Turns and keys: one effect, however often it is asked for.

use contextwire_proto::{Reason, v1};
use futures_util::future::join_all;

use super::log::{ingested, same};
use crate::check::{Check, Checked, Need, Verdict, broken, check, ensure};
use crate::list::{self, text};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::request;

const COMMIT: Need = Need::Method("CommitTurn");

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-IDM-01",
        ["R7.10"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        repeated,
        "a turn committed ten times under one key is stored once",
        "the outbox repeats it until it is acknowledged"
    ),
    check!(
        "E-IDM-02",
        ["R7.10"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        parallel,
        "the same turn committed five times at once is stored once; the others get its answer or IN_PROGRESS",
        "two processes of one host may deliver the same row"
    ),
    check!(
        "E-IDM-03",
        ["R7.10"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        conflict,
        "one key with another turn is IDEMPOTENCY_CONFLICT and changes nothing",
        "it is a bug of the host, and must be told rather than stored"
    ),
    check!(
        "E-IDM-05",
        ["R7.8", "R7.10"],
        Must,
        Store,
        [Need::LogState],
        lost_answer,
        "an Ingest repeated under its hook id is stored once",
        "the answer was lost, not the effect"
    ),
    check!(
        "E-IDM-08",
        ["R7.11"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        readable,
        "COMMITTED and DUPLICATE are answered only for what is stored",
        "the host forgets the turn then"
    ),
    check!(
        "E-IDM-09",
        ["R2.3", "R3.2"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        after_ingest,
        "a turn whose messages were ingested before is not stored a second time",
        "hosts do both"
    ),
    check!(
        "E-IDM-10",
        ["R1.9", "R7.10"],
        Must,
        Store,
        [Need::LogState, COMMIT],
        other_session,
        "the same key in another session is another key",
        "keys are unique in their session alone"
    ),
];

async fn commit(
    probe: &Probe,
    session: &v1::Session,
    key: &str,
    turn: &[v1::Message],
) -> Result<v1::CommitTurnResponse, Verdict> {
    let request = request::commit(session.clone(), key, turn);
    let answer = probe
        .ask::<v1::CommitTurnResponse>("CommitTurn", &request)
        .await?;
    let answer = accepted(answer, "CommitTurn")?;
    let known = matches!(
        answer.status(),
        v1::CommitStatus::Committed | v1::CommitStatus::Duplicate
    );
    ensure(known, || format!("the status {}", answer.status))?;
    Ok(answer)
}

/// The log after one more message, which is stored by asking.
async fn log_is(probe: &Probe, session: &v1::Session, turn: &[v1::Message]) -> Checked {
    let more = text("after", "user", "and then");
    let mut due = turn.to_vec();
    due.push(more.clone());
    same(ingested(probe, session, more).await?.as_ref(), &due)
}

async fn repeated(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    for n in 0..10 {
        let status = commit(&probe, &session, "turn-1", &turn).await?.status();
        ensure(n > 0 || status == v1::CommitStatus::Committed, || {
            format!("the first commit is {status:?}")
        })?;
    }
    log_is(&probe, &session, &turn).await
}

async fn parallel(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    let one = || async {
        let request = request::commit(session.clone(), "turn-1", &turn);
        probe
            .ask::<v1::CommitTurnResponse>("CommitTurn", &request)
            .await
    };
    let answers = join_all((0..5).map(|_| one())).await;
    let mut stored = 0;
    for answer in answers {
        match answer? {
            Ok(_) => stored += 1,
            Err(status) => drop(refused_as::<()>(Err(status), &[Reason::InProgress])?),
        }
    }
    ensure(stored > 0, || {
        "none of five commits was answered".to_owned()
    })?;
    log_is(&probe, &session, &turn).await
}

async fn conflict(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    commit(&probe, &session, "turn-1", &turn).await?;
    let mut other = turn.clone();
    if let Some(last) = other.last_mut() {
        *last = text(&last.entry_id, "assistant", "another answer");
    }
    let request = request::commit(session.clone(), "turn-1", &other);
    let answer = probe
        .ask::<v1::CommitTurnResponse>("CommitTurn", &request)
        .await?;
    refused_as(answer, &[Reason::IdempotencyConflict])?;
    log_is(&probe, &session, &turn).await
}

async fn lost_answer(probe: Probe) -> Checked {
    let session = probe.session();
    let first = text("", "user", "said once");
    let mut ingest = request::ingest(session.clone(), first.clone());
    for _ in 0..3 {
        let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
        accepted(answer, "an Ingest under the same hook id")?;
        ingest.call = ingest.call.as_ref().map(request::again);
    }
    let more = text("", "assistant", "answered once");
    let due = [first, more.clone()];
    same(ingested(&probe, &session, more).await?.as_ref(), &due)
}

async fn readable(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    for _ in 0..2 {
        let state = commit(&probe, &session, "turn-1", &turn).await?.reply;
        let Some(state) = state.and_then(|it| it.log_state) else {
            return broken("the reply of a commit lacks log_state");
        };
        same(Some(&state), &turn)?;
    }
    log_is(&probe, &session, &turn).await
}

async fn after_ingest(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    for message in &turn {
        ingested(&probe, &session, message.clone()).await?;
    }
    commit(&probe, &session, "turn-1", &turn).await?;
    log_is(&probe, &session, &turn).await
}

async fn other_session(probe: Probe) -> Checked {
    let turn = list::tool_rounds(1);
    for session in [probe.session(), probe.session()] {
        let status = commit(&probe, &session, "turn-1", &turn).await?.status();
        ensure(status == v1::CommitStatus::Committed, || {
            format!("a key of another session makes this commit {status:?}")
        })?;
        log_is(&probe, &session, &turn).await?;
    }
    Ok(())
}
