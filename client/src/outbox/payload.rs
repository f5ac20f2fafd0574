//! What a row holds: the call in its wire form, so that every release reads what any other wrote.

use contextwire_engine::{
    CommitTurn, Hook, HookId, PrepareSubagentSpawn, RuntimeContext, Scope, Session,
};
use contextwire_proto::call::CallContext;
use contextwire_proto::convert;
use contextwire_proto::v1;
use prost::Message as _;

use super::error::OutboxError;
use super::row::{OutboxCall, StoredCall};
use crate::request::EngineRequest;

/// The call of a row about a session.
pub(super) fn context(hook_id: HookId, session: &Session, scope: &Scope) -> CallContext {
    CallContext {
        scope: scope.clone(),
        ..CallContext::new(hook_id, session.clone())
    }
}

/// The bytes of a call.
pub(super) fn encode(call: CallContext, request: &OutboxCall) -> Vec<u8> {
    match request {
        OutboxCall::CommitTurn(request) => {
            let request = replayable((**request).clone());
            let wire = convert::CommitTurnRequest { call, request };
            v1::CommitTurnRequest::from(wire).encode_to_vec()
        }
        OutboxCall::ResolveSubagentSpawn { request, .. } => {
            let request = request.clone();
            let wire = convert::ResolveSubagentSpawnRequest { call, request };
            v1::ResolveSubagentSpawnRequest::from(wire).encode_to_vec()
        }
        OutboxCall::EndSubagent(request) => {
            let request = request.clone();
            let wire = convert::EndSubagentRequest { call, request };
            v1::EndSubagentRequest::from(wire).encode_to_vec()
        }
    }
}

/// The call of these bytes.
pub(super) fn decode(hook: &str, bytes: &[u8]) -> Result<StoredCall, OutboxError> {
    let (call, request) = if hook == Hook::CommitTurn.name() {
        let wire = v1::CommitTurnRequest::decode(bytes).map_err(unreadable)?;
        let convert::CommitTurnRequest { call, request } = wire.try_into()?;
        (call, request.into())
    } else if hook == Hook::ResolveSubagentSpawn.name() {
        let wire = v1::ResolveSubagentSpawnRequest::decode(bytes).map_err(unreadable)?;
        let convert::ResolveSubagentSpawnRequest { call, request } = wire.try_into()?;
        (call, request.into())
    } else if hook == Hook::EndSubagent.name() {
        let wire = v1::EndSubagentRequest::decode(bytes).map_err(unreadable)?;
        let convert::EndSubagentRequest { call, request } = wire.try_into()?;
        (call, request.into())
    } else {
        return Err(OutboxError::Unreadable(format!("`{hook}` never waits")));
    };
    Ok(stored(call, request))
}

fn stored(call: CallContext, request: EngineRequest) -> StoredCall {
    StoredCall {
        hook_id: call.hook_id,
        session: call.session,
        scope: call.scope,
        request,
    }
}

/// The turn of a row.
pub(super) fn turn(call: &StoredCall) -> Result<&CommitTurn, OutboxError> {
    if let EngineRequest::CommitTurn(turn) = &call.request {
        return Ok(turn);
    }
    Err(OutboxError::Unreadable("not a turn".to_owned()))
}

/// The bytes of a spawn that is about to be prepared.
pub(super) fn encode_spawn(call: CallContext, request: PrepareSubagentSpawn) -> Vec<u8> {
    let wire = convert::PrepareSubagentSpawnRequest { call, request };
    v1::PrepareSubagentSpawnRequest::from(wire).encode_to_vec()
}

/// The spawn of these bytes.
pub(super) fn decode_spawn(
    bytes: &[u8],
) -> Result<(CallContext, PrepareSubagentSpawn), OutboxError> {
    let wire = v1::PrepareSubagentSpawnRequest::decode(bytes).map_err(unreadable)?;
    let convert::PrepareSubagentSpawnRequest { call, request } = wire.try_into()?;
    Ok((call, request))
}

/// The turn as it may be told later: of the runtime only the model's facts (HOST-SEMANTICS 1.5).
fn replayable(turn: CommitTurn) -> CommitTurn {
    let facts = turn.runtime_context.map(|context| RuntimeContext {
        provider: context.provider,
        model_id: context.model_id,
        model_context_window: context.model_context_window,
        token_budget: context.token_budget,
        ..RuntimeContext::default()
    });
    CommitTurn {
        runtime_context: facts.filter(|facts| *facts != RuntimeContext::default()),
        ..turn
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the form that `map_err` takes"
)]
fn unreadable(error: prost::DecodeError) -> OutboxError {
    OutboxError::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{EndSubagent, Message, ResolveSubagentSpawn, SpawnOutcome};

    use super::*;
    use crate::script::session;

    fn call() -> CallContext {
        let scope = Scope {
            workspace_dir: Some("/work".to_owned()),
            ..Scope::default()
        };
        context(HookId::mint(), &session("s"), &scope)
    }

    #[test]
    fn c196_of_the_runtime_only_the_models_facts_are_kept() {
        let turn = CommitTurn {
            advancement_key: "t1".to_owned(),
            runtime_context: Some(RuntimeContext {
                cwd: Some("/home".to_owned()),
                provider: Some("p".to_owned()),
                model_id: Some("m".to_owned()),
                model_context_window: Some(9),
                token_budget: Some(8),
                prompt_cache: Some("{}".into()),
                extra: [("k".to_owned(), "1".into())].into(),
                ..RuntimeContext::default()
            }),
            ..CommitTurn::default()
        };
        let bytes = encode(call(), &OutboxCall::CommitTurn(Box::new(turn)));
        let stored = decode("CommitTurn", &bytes).unwrap();
        let facts = RuntimeContext {
            provider: Some("p".to_owned()),
            model_id: Some("m".to_owned()),
            model_context_window: Some(9),
            token_budget: Some(8),
            ..RuntimeContext::default()
        };
        let kept = super::turn(&stored).unwrap();
        assert_eq!(kept.runtime_context, Some(facts));
    }

    #[test]
    fn r2_1_a_call_comes_back_as_it_was_written_with_its_bytes_and_its_place() {
        let call = call();
        let payload = r#"{"role":"user","content":"\ud800 1e400","b":null , "a":0}"#;
        let turn = CommitTurn {
            advancement_key: "t1".to_owned(),
            messages: vec![Message::from_payload(payload).with_entry_id("e1")],
            is_heartbeat: true,
            ..CommitTurn::default()
        };
        let resolve = ResolveSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            outcome: SpawnOutcome::Started,
        };
        let end = EndSubagent {
            spawn_id: None,
            child_session_key: "child".to_owned(),
            reason: "swept".to_owned(),
        };
        for (hook, written) in [
            ("CommitTurn", OutboxCall::CommitTurn(Box::new(turn.clone()))),
            (
                "ResolveSubagentSpawn",
                OutboxCall::ResolveSubagentSpawn {
                    child_session_key: "child".to_owned(),
                    request: resolve.clone(),
                },
            ),
            ("EndSubagent", OutboxCall::EndSubagent(end.clone())),
        ] {
            let read = decode(hook, &encode(call.clone(), &written)).unwrap();
            assert_eq!(read.hook_id, call.hook_id);
            assert_eq!((&read.session, &read.scope), (&call.session, &call.scope));
            assert_eq!(read.request.hook().name(), hook);
            match (read.request, hook) {
                (EngineRequest::CommitTurn(read), _) => assert_eq!(*read, turn),
                (EngineRequest::ResolveSubagentSpawn(read), _) => assert_eq!(read, resolve),
                (EngineRequest::EndSubagent(read), _) => assert_eq!(read, end),
                (other, _) => panic!("{}", other.hook()),
            }
        }
    }

    #[test]
    fn c175_an_empty_payload_is_no_call() {
        assert!(decode("CommitTurn", b"").is_err());
        assert!(decode("CommitTurn", b"{}").is_err());
        assert!(decode("Compact", b"").is_err());
    }
}
