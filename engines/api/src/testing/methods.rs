//! Which methods an engine really has.

use std::time::Duration;

use crate::commit_turn::CommitTurn;
use crate::context::HookContext;
use crate::dispose::Dispose;
use crate::engine::ContextEngine;
use crate::error::{EngineError, ErrorKind};
use crate::hook::Hook;
use crate::ids::{InvalidId, Session, SessionId};
use crate::ingest::{Ingest, IngestBatch};
use crate::message::Message;
use crate::subagent::{EndSubagent, ResolveSubagentSpawn, SpawnOutcome};

/// The methods that do not answer [`ErrorKind::Unsupported`], in the order of the contract: exactly
/// those that [`crate::EngineInfo::methods`] has to name (R1.1).
///
/// Every method is called once, for a session named `methods`: an engine that stores keeps what
/// these calls leave behind.
///
/// # Errors
/// Never in practice: when the session's name were no id.
pub async fn implemented(engine: &impl ContextEngine) -> Result<Vec<Hook>, InvalidId> {
    let session = Session::new(SessionId::new("methods")?);
    let cx = HookContext::new(session, Duration::from_secs(5));
    let mut present = Vec::new();
    for hook in Hook::ALL {
        if call(engine, &cx, hook).await {
            present.push(hook);
        }
    }
    Ok(present)
}

/// Whether the method is there; what it says otherwise does not matter.
async fn call(engine: &impl ContextEngine, cx: &HookContext, hook: Hook) -> bool {
    let message = Message::from_payload(r#"{"role":"user","content":"hello"}"#);
    match hook {
        Hook::Describe => true,
        Hook::Bootstrap => is_there(&engine.bootstrap(cx, <_>::default()).await),
        Hook::Ingest => {
            let request = Ingest {
                message,
                is_heartbeat: false,
            };
            is_there(&engine.ingest(cx, request).await)
        }
        Hook::IngestBatch => {
            let request = IngestBatch {
                messages: vec![message],
                is_heartbeat: false,
            };
            is_there(&engine.ingest_batch(cx, request).await)
        }
        Hook::Assemble => is_there(&engine.assemble(cx, <_>::default()).await),
        Hook::Compact => is_there(&engine.compact(cx, <_>::default()).await),
        Hook::AfterTurn => is_there(&engine.after_turn(cx, <_>::default()).await),
        Hook::CommitTurn => {
            let request = CommitTurn {
                advancement_key: "turn".to_owned(),
                ..CommitTurn::default()
            };
            is_there(&engine.commit_turn(cx, request).await)
        }
        Hook::Maintain => is_there(&engine.maintain(cx, <_>::default()).await),
        Hook::PrepareSubagentSpawn => {
            is_there(&engine.prepare_subagent_spawn(cx, <_>::default()).await)
        }
        Hook::ResolveSubagentSpawn => {
            let request = ResolveSubagentSpawn {
                spawn_id: "spawn".to_owned(),
                outcome: SpawnOutcome::RolledBack,
            };
            is_there(&engine.resolve_subagent_spawn(cx, request).await)
        }
        Hook::EndSubagent => is_there(&engine.end_subagent(cx, EndSubagent::default()).await),
        Hook::Dispose => is_there(&engine.dispose(cx, Dispose::default()).await),
    }
}

fn is_there<T>(outcome: &Result<T, EngineError>) -> bool {
    !matches!(outcome, Err(error) if error.kind() == ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RecordingEngine, ScriptedEngine};

    #[tokio::test]
    async fn r1_1_advertised_methods_are_those_that_do_not_answer_unsupported() {
        let scripted = ScriptedEngine::default();
        assert_eq!(
            implemented(&scripted).await.unwrap(),
            scripted.info().methods
        );
        let all = RecordingEngine::new();
        assert_eq!(implemented(&all).await.unwrap(), Hook::ALL);
        assert_eq!(all.info().methods, Hook::ALL);
        for hook in Hook::ALL {
            let some = RecordingEngine::new().with_methods([hook]);
            assert_eq!(
                implemented(&some).await.unwrap(),
                some.info().methods,
                "{hook}"
            );
        }
    }

    #[tokio::test]
    async fn an_engine_that_advertises_too_much_is_caught() {
        let boasting = RecordingEngine::new()
            .with_methods([])
            .advertising([Hook::Maintain]);
        assert!(boasting.info().methods.contains(&Hook::Maintain));
        assert_ne!(
            implemented(&boasting).await.unwrap(),
            boasting.info().methods
        );
    }
}
