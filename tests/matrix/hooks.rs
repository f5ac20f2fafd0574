//! A request of each hook, and what a host makes of it.

use std::time::Duration;

use contextwire_client::{Call, EngineClient, EngineRequest, ServedBy};
use contextwire_engine::{
    AfterTurn, Bootstrap, CommitTurn, Compact, Dispose, EndSubagent, FallbackClass, Hook, Ingest,
    IngestBatch, Maintain, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome,
};
use futures_util::future::join_all;

use crate::harness::{PATIENT, message, session, soon, transcript, view};

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The engine's answer.
    Engine,
    /// An answer of the host, and why.
    InProcess(&'static str),
    /// No answer, and why.
    Error(&'static str),
}

/// What becomes of a hook under a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// The engine's answer counts.
    Engine,
    /// The engine has not answered, for this reason.
    Fails(&'static str),
    /// The same of an engine that was never seen.
    Unseen(&'static str),
}

impl Gives {
    /// What the host makes of it: each hook has its class.
    fn of(self, hook: Hook) -> Outcome {
        let reason = match self {
            Self::Engine => return Outcome::Engine,
            Self::Fails(reason) | Self::Unseen(reason) => reason,
        };
        // The host's own compaction stands in for an engine that owns none; what the engine itself
        // failed at is told.
        let stands_in = matches!(self, Self::Fails(_)) && reason != "ENGINE_FAILURE";
        match hook.profile().fallback {
            FallbackClass::InProcess | FallbackClass::Neutral => Outcome::InProcess(reason),
            FallbackClass::LegacyCompaction if stands_in => Outcome::InProcess(reason),
            FallbackClass::Unavailable
            | FallbackClass::LegacyCompaction
            | FallbackClass::FailSpawn
            | FallbackClass::Outbox
            | FallbackClass::Warn => Outcome::Error(reason),
        }
    }
}

/// The hooks of a session.
pub(super) fn hooks() -> impl Iterator<Item = Hook> {
    Hook::ALL.into_iter().filter(|hook| *hook != Hook::Describe)
}

fn request(hook: Hook, id: &str) -> EngineRequest {
    match hook {
        Hook::Describe => panic!("no request of a session"),
        Hook::Bootstrap => Bootstrap {
            transcript: transcript(3),
            ..Bootstrap::default()
        }
        .into(),
        Hook::Ingest => Ingest {
            message: message(0),
            is_heartbeat: false,
        }
        .into(),
        Hook::IngestBatch => IngestBatch {
            messages: vec![message(0), message(1)],
            is_heartbeat: false,
        }
        .into(),
        Hook::Assemble => view(&transcript(3)).into(),
        Hook::Compact => Compact::default().into(),
        Hook::AfterTurn => AfterTurn {
            transcript: transcript(3),
            pre_prompt_message_count: 1,
            ..AfterTurn::default()
        }
        .into(),
        Hook::CommitTurn => CommitTurn {
            advancement_key: "turn".to_owned(),
            messages: vec![message(0)],
            ..CommitTurn::default()
        }
        .into(),
        Hook::Maintain => Maintain::default().into(),
        Hook::PrepareSubagentSpawn => PrepareSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            child_session_key: "child".to_owned(),
            ..PrepareSubagentSpawn::default()
        }
        .into(),
        Hook::ResolveSubagentSpawn => ResolveSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            outcome: SpawnOutcome::Started,
        }
        .into(),
        Hook::EndSubagent => EndSubagent {
            child_session_key: "child".to_owned(),
            reason: "completed".to_owned(),
            ..EndSubagent::default()
        }
        .into(),
        // A host has no session: its name is what an engine gets in the place of one.
        Hook::Dispose => Dispose {
            host_instance: id.to_owned(),
        }
        .into(),
    }
}

/// What comes of a hook in a session of its own, whose first word names the fault.
pub(super) async fn outcome(
    client: &EngineClient,
    hook: Hook,
    fault: &str,
    deadline: Duration,
) -> Outcome {
    let id = format!("{fault} {hook}");
    let call = Call::new(session(&id), request(hook, &id), deadline);
    match soon(client.call(call)).await {
        Err(error) => Outcome::Error(error.code()),
        Ok(served) => match (served.by, served.reason) {
            (ServedBy::Engine(_), None) => Outcome::Engine,
            (ServedBy::InProcess, Some(reason)) => Outcome::InProcess(reason.code()),
            other => panic!("{other:?}"),
        },
    }
}

/// All hooks at once under a fault: `streaming` and `unary` hooks end so, whatever the others do.
pub(super) async fn each(
    client: &EngineClient,
    fault: &str,
    deadline: Duration,
    (streaming, unary): (Gives, Gives),
) {
    let calls = hooks().map(|hook| async move {
        let gives = if hook.profile().streaming {
            streaming
        } else {
            unary
        };
        let outcome = outcome(client, hook, fault, deadline).await;
        assert_eq!(outcome, gives.of(hook), "{fault}, {hook}");
    });
    join_all(calls).await;
}

/// All hooks fail for this reason.
pub(super) async fn each_fails(
    client: &EngineClient,
    fault: &str,
    deadline: Duration,
    reason: &'static str,
) {
    let fails = Gives::Fails(reason);
    each(client, fault, deadline, (fails, fails)).await;
}

/// The same of an engine that nobody reached yet.
pub(super) async fn each_fails_unseen(
    client: &EngineClient,
    deadline: Duration,
    reason: &'static str,
) {
    let fails = Gives::Unseen(reason);
    each(client, "well", deadline, (fails, fails)).await;
}

/// All hooks are the engine's.
pub(super) async fn each_goes_well(client: &EngineClient) {
    each(client, "well", PATIENT, (Gives::Engine, Gives::Engine)).await;
}

/// A turn of another session.
pub(super) async fn turn(client: &EngineClient) -> Outcome {
    outcome(client, Hook::Assemble, "well", PATIENT).await
}

/// The next turn is the engine's; the one before it may still find a connection that broke.
pub(super) async fn recovers(client: &EngineClient) {
    if turn(client).await != Outcome::Engine {
        assert_eq!(turn(client).await, Outcome::Engine);
    }
    each_goes_well(client).await;
}
