//! The stored log, seen through the state that replies carry.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, Need, Verdict, broken, check, ensure};
use crate::list::{self, message, text};
use crate::probe::Probe;
use crate::refusal::accepted;
use crate::request;

const LOG_STATE: Need = Need::LogState;
const BOOTSTRAP: Need = Need::Method("Bootstrap");

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-FLD-17",
        ["R2.1", "R2.2"],
        Must,
        Store,
        [LOG_STATE],
        bytes,
        "what is stored has the bytes that were sent: 1e400, duplicate keys, lone surrogates, spaces",
        "digests are over the bytes sent; a parser in between breaks every later difference"
    ),
    check!(
        "E-HKS-01",
        ["R3.1"],
        Must,
        Store,
        [LOG_STATE, BOOTSTRAP],
        bootstrap,
        "Bootstrap stores the log, and the same once more changes nothing",
        "a host repeats it whenever it starts"
    ),
    check!(
        "E-HKS-02",
        ["R3.1"],
        Must,
        Store,
        [BOOTSTRAP],
        empty,
        "Bootstrap of an empty log is accepted",
        "new sessions have one"
    ),
    check!(
        "E-HKS-07",
        ["R3.2"],
        Must,
        Store,
        [LOG_STATE, Need::Method("IngestBatch")],
        batch,
        "IngestBatch stores what the same messages one by one do",
        "hosts mix both"
    ),
    check!(
        "E-HKS-08",
        ["R7.10"],
        Must,
        Store,
        [LOG_STATE, Need::Method("IngestBatch")],
        all_or_nothing,
        "a batch with a bad message is refused and leaves no trace",
        "the host repeats it in pieces"
    ),
    check!(
        "E-HKS-30",
        ["R1.9"],
        Must,
        Store,
        [LOG_STATE],
        isolated,
        "two sessions share nothing, also under one session key",
        "a reset or a fork must not bring the old conversation along"
    ),
    check!(
        "E-HKS-37",
        ["R3.1"],
        Must,
        Store,
        [LOG_STATE],
        views_are_not_stored,
        "what an Assemble shows is not stored",
        "a view is merged, repaired and pruned; the log would be lost under it"
    ),
    check!(
        "E-HKS-38",
        ["R3.2"],
        Must,
        Store,
        [LOG_STATE, BOOTSTRAP],
        placed,
        "messages that came before the log has placed them are moved to its order, not copied",
        "order and number of messages are the host's"
    ),
    check!(
        "E-HKS-39",
        ["R2.3", "R7.10"],
        Must,
        Store,
        [LOG_STATE],
        corrected,
        "an Ingest of a known id with another payload replaces the body in its place",
        "a host corrects what it said; a second copy would contradict the first"
    ),
    check!(
        "E-HKS-40",
        ["R2.3"],
        Must,
        Store,
        [LOG_STATE, BOOTSTRAP],
        equal_texts,
        "equal texts without ids are kept as often as the log has them",
        "people say yes twice"
    ),
    check!(
        "E-SYN-13",
        ["R3.3"],
        Must,
        Store,
        [LOG_STATE, BOOTSTRAP],
        behind,
        "an engine that is behind log_head asks for the LOG and stores it",
        "it was down, or the host fell back: nobody sends it what it missed otherwise"
    ),
    check!(
        "E-SYN-14",
        ["R3.3"],
        Must,
        Store,
        [LOG_STATE],
        unavailable,
        "an engine whose request for the LOG cannot be served goes on at once",
        "the turn is worth more than a complete store"
    ),
];

/// Ingests these and fails unless the stored log is exactly them.
pub(super) async fn holds(
    probe: &Probe,
    session: v1::Session,
    messages: &[v1::Message],
) -> Checked {
    let mut last = None;
    for message in messages {
        last = ingested(probe, &session, message.clone()).await?;
    }
    same(last.as_ref(), messages)
}

/// Ingests a message and gives the state of the log after it.
pub(super) async fn ingested(
    probe: &Probe,
    session: &v1::Session,
    message: v1::Message,
) -> Result<Option<v1::TranscriptState>, Verdict> {
    let ingest = request::ingest(session.clone(), message);
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    Ok(accepted(answer, "Ingest")?
        .reply
        .and_then(|it| it.log_state))
}

/// The stored log has to be this list.
pub(super) fn same(state: Option<&v1::TranscriptState>, due: &[v1::Message]) -> Checked {
    let expected = list::state(due);
    ensure(state == Some(&expected), || {
        let shown = list::shown(state);
        format!(
            "the stored log has {shown}, {} are due",
            list::shown(Some(&expected))
        )
    })
}

/// Bootstraps with this log and gives the state after it.
pub(super) async fn bootstrapped(
    probe: &Probe,
    session: &v1::Session,
    log: &[v1::Message],
) -> Result<Option<v1::TranscriptState>, Verdict> {
    let start = request::bootstrap(session.clone(), log);
    let mut stream = probe.started("Bootstrap", &start).await?;
    let result = stream.result::<v1::BootstrapResult>(log).await?;
    Ok(accepted(result, "Bootstrap")?
        .reply
        .and_then(|it| it.log_state))
}

async fn bytes(probe: Probe) -> Checked {
    let payloads = [
        r#"{"role":"user","content":"n","size":1e400,"id":12345678901234567890123}"#,
        r#"{"role":"user","role":"user","content":"twice"}"#,
        r#"{"role":"user","content":"\ud800 alone"}"#,
        r#"{ "content" : "spaces" , "role" : "user" , "float" : 1.0 }"#,
    ];
    let messages = payloads.iter().enumerate();
    let messages = messages.map(|(n, payload)| message(&format!("e{n}"), "user", *payload));
    holds(&probe, probe.session(), &messages.collect::<Vec<_>>()).await
}

async fn bootstrap(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::tool_rounds(3));
    for _ in 0..2 {
        same(bootstrapped(&probe, &session, &log).await?.as_ref(), &log)?;
    }
    let longer = list::tool_rounds(5);
    same(
        bootstrapped(&probe, &session, &longer).await?.as_ref(),
        &longer,
    )
}

async fn empty(probe: Probe) -> Checked {
    bootstrapped(&probe, &probe.session(), &[]).await.map(drop)
}

async fn batch(probe: Probe) -> Checked {
    let held = list::conversation(5);
    let request = request::ingest_batch(probe.session(), &held);
    let answer = probe
        .ask::<v1::IngestBatchResponse>("IngestBatch", &request)
        .await?;
    let answer = accepted(answer, "IngestBatch")?;
    ensure(answer.ingested_count == 5, || {
        format!("{} of 5 were ingested", answer.ingested_count)
    })?;
    same(answer.reply.and_then(|it| it.log_state).as_ref(), &held)?;
    holds(&probe, probe.session(), &held).await
}

async fn all_or_nothing(probe: Probe) -> Checked {
    let session = probe.session();
    let mut batch = list::conversation(3);
    batch.push(v1::Message {
        omitted: Some(v1::OmittedPayload {
            bytes: 20_000_000,
            sha256: vec![7; 32].into(),
        }),
        ..text("e3", "user", "[20000000 bytes omitted]")
    });
    let request = request::ingest_batch(session.clone(), &batch);
    let answer = probe
        .ask::<v1::IngestBatchResponse>("IngestBatch", &request)
        .await?;
    let due = [Reason::InvalidRequest, Reason::MessageTooLarge];
    crate::refusal::refused_as(answer, &due)?;
    holds(&probe, session, &[text("e9", "user", "the only one")]).await
}

async fn isolated(probe: Probe) -> Checked {
    let one = probe.session();
    holds(&probe, one.clone(), &list::conversation(3)).await?;
    let two = v1::Session {
        session_key: one.session_key,
        ..probe.session()
    };
    holds(&probe, two, &[text("e0", "user", "a new beginning")]).await
}

async fn views_are_not_stored(probe: Probe) -> Checked {
    let session = probe.session();
    let view = list::tool_rounds(3);
    let start = request::assemble(session.clone(), &view);
    super::assemble::messages(&probe, &start, &view).await?;
    holds(
        &probe,
        session,
        &[text("e0", "user", "the only stored one")],
    )
    .await
}

async fn placed(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(4));
    for message in log.iter().skip(1).rev() {
        ingested(&probe, &session, message.clone()).await?;
    }
    same(bootstrapped(&probe, &session, &log).await?.as_ref(), &log)?;
    let more = text("e4", "user", "and on");
    let mut due = log;
    due.push(more.clone());
    same(ingested(&probe, &session, more).await?.as_ref(), &due)
}

async fn corrected(probe: Probe) -> Checked {
    let session = probe.session();
    holds(&probe, session.clone(), &list::conversation(3)).await?;
    let mut due = list::conversation(3);
    let corrected = text("e1", "assistant", "a better answer");
    if let Some(place) = due.get_mut(1) {
        place.clone_from(&corrected);
    }
    same(ingested(&probe, &session, corrected).await?.as_ref(), &due)
}

async fn equal_texts(probe: Probe) -> Checked {
    let session = probe.session();
    let log: Vec<_> = ["user", "assistant", "user", "assistant"]
        .into_iter()
        .map(|role| text("", role, "yes"))
        .collect();
    same(bootstrapped(&probe, &session, &log).await?.as_ref(), &log)?;
    same(bootstrapped(&probe, &session, &log).await?.as_ref(), &log)
}

/// An Assemble whose host says that its log is at this state.
fn assemble_at(session: v1::Session, log: &[v1::Message]) -> v1::AssembleStart {
    let mut start = request::assemble(session, log);
    start.call = start.call.map(|call| v1::CallContext {
        log_head: Some(list::state(log)),
        ..call
    });
    start
}

async fn behind(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(6));
    bootstrapped(&probe, &session, log.get(..2).unwrap_or_default()).await?;
    let mut stream = probe
        .started("Assemble", &assemble_at(session.clone(), &log))
        .await?;
    loop {
        match stream.word().await? {
            Ok(Some(frame)) if frame.result.is_some() => break,
            Ok(Some(frame)) => {
                if let Some(need) = &frame.need {
                    stream.serve(need, &log).await;
                }
            }
            Ok(None) => return broken("OK trailers without a result"),
            Err(status) => return accepted::<()>(Err(status), "an Assemble that catches up"),
        }
    }
    let more = text("e6", "user", "and on");
    let mut due = log;
    due.push(more.clone());
    same(ingested(&probe, &session, more).await?.as_ref(), &due)
}

async fn unavailable(probe: Probe) -> Checked {
    let (session, log) = (probe.session(), list::conversation(6));
    let mut stream = probe
        .started("Assemble", &assemble_at(session, &log))
        .await?;
    loop {
        match stream.word().await? {
            Ok(Some(frame)) if frame.result.is_some() => return Ok(()),
            Ok(Some(frame)) => {
                if let Some(need) = &frame.need {
                    ensure(need.list() == v1::TranscriptList::Log, || {
                        format!("{need:?} though the VIEW was sent whole")
                    })?;
                    stream.transcript(&list::unavailable(need)).await;
                }
            }
            Ok(None) => return broken("OK trailers without a result"),
            Err(status) => return accepted::<()>(Err(status), "an Assemble without the LOG"),
        }
    }
}
