//! Any request and any answer of the optional hooks.

use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Bootstrap, Bootstrapped, CommitTurn, ContextMode, Dispose, EndSubagent, EntryAnchor,
    IngestBatch, IngestedBatch, Maintain, MaintainReason, Maintained, PrepareSubagentSpawn,
    ResolveSubagentSpawn, SpawnOutcome, SpawnPrepared, TokenBudget, Transcript, TurnAdmission,
    TurnCommitted,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{call, context, maybe, message, reply, settings, text, update};
use crate::call::CallContext;
use crate::convert::{
    AfterTurnStart, BootstrapResult, BootstrapStart, CommitTurnRequest, CommitTurnResponse,
    DisposeRequest, EndSubagentRequest, IngestBatchRequest, IngestBatchResponse, MaintainResult,
    MaintainStart, PrepareSubagentSpawnRequest, PrepareSubagentSpawnResponse,
    ResolveSubagentSpawnRequest,
};

/// A text that names something.
fn name() -> impl Strategy<Value = String> + Clone {
    "\\PC{1,12}"
}

pub(super) fn batch() -> impl Strategy<Value = (IngestBatchRequest, IngestBatchResponse)> {
    let request = (call(), vec(message(), 0..4), any::<bool>());
    (request, reply(), any::<u64>()).prop_map(
        |((call, messages, is_heartbeat), reply, ingested_count)| {
            let request = IngestBatch {
                messages,
                is_heartbeat,
            };
            let ingested = IngestedBatch { ingested_count };
            (
                IngestBatchRequest { call, request },
                IngestBatchResponse { reply, ingested },
            )
        },
    )
}

pub(super) fn bootstrap() -> impl Strategy<Value = (BootstrapStart, BootstrapResult)> {
    let facts = (call(), of(settings()), of(context()), update());
    let result = (reply(), any::<bool>(), of(any::<u64>()), maybe());
    (facts, any::<bool>(), result).prop_map(|(facts, background, result)| {
        let start = BootstrapStart {
            call: facts.0,
            request: Bootstrap {
                runtime_settings: facts.1,
                runtime_context: facts.2,
                transcript: Transcript::new(),
                background,
            },
            update: facts.3,
        };
        let bootstrapped = Bootstrapped {
            bootstrapped: result.1,
            imported_messages: result.2,
            reason: result.3,
        };
        let reply = result.0;
        (
            start,
            BootstrapResult {
                reply,
                bootstrapped,
            },
        )
    })
}

pub(super) fn after_turn() -> impl Strategy<Value = AfterTurnStart> {
    let facts = (call(), of(settings()), of(context()), update());
    let numbers = (any::<u64>(), of(1..u64::MAX));
    (facts, numbers, any::<[bool; 2]>(), maybe()).prop_map(|(facts, numbers, flags, summary)| {
        AfterTurnStart {
            call: facts.0,
            request: AfterTurn {
                runtime_settings: facts.1,
                runtime_context: facts.2,
                transcript: Transcript::new(),
                background: flags[0],
                pre_prompt_message_count: numbers.0,
                auto_compaction_summary: summary,
                is_heartbeat: flags[1],
                token_budget: numbers.1.and_then(TokenBudget::new),
            },
            update: facts.3,
        }
    })
}

fn anchor() -> impl Strategy<Value = EntryAnchor> {
    (vec(text(), 6), any::<[i64; 2]>(), maybe(), maybe()).prop_map(
        |(texts, numbers, parent, idempotency_key)| {
            let mut texts = texts.into_iter();
            let mut next = || texts.next().unwrap_or_default();
            EntryAnchor {
                agent_id: next(),
                session_id: next(),
                session_key: next(),
                store_path: next(),
                generation: next(),
                entry_id: next(),
                raw_seq: numbers[0],
                effective_parent_id: parent,
                active_message_position: numbers[1],
                idempotency_key,
            }
        },
    )
}

pub(super) fn commit() -> impl Strategy<Value = (CommitTurnRequest, CommitTurnResponse)> {
    let facts = (call(), of(settings()), of(context()));
    let turn = (name(), anchor(), text(), text(), anchor());
    let answers = select(vec![TurnCommitted::Committed, TurnCommitted::Duplicate]);
    let messages = (vec(message(), 0..3), any::<bool>());
    (facts, turn, messages, (reply(), answers)).prop_map(
        |(facts, turn, (messages, is_heartbeat), (reply, committed))| {
            let request = CommitTurn {
                runtime_settings: facts.1,
                runtime_context: facts.2,
                advancement_key: turn.0,
                admission: TurnAdmission {
                    anchor: turn.1,
                    logical_turn_id: turn.2,
                    role: turn.3,
                },
                terminal: turn.4,
                messages,
                is_heartbeat,
            };
            let call = facts.0;
            (
                CommitTurnRequest { call, request },
                CommitTurnResponse { reply, committed },
            )
        },
    )
}

pub(super) fn maintain() -> impl Strategy<Value = (MaintainStart, MaintainResult)> {
    let facts = (call(), of(settings()), of(context()));
    let reasons = select(vec![
        MaintainReason::Bootstrap,
        MaintainReason::Turn,
        MaintainReason::Compaction,
    ]);
    let result = (reply(), any::<bool>(), any::<[u64; 2]>(), maybe());
    (facts, reasons, any::<bool>(), result).prop_map(|(facts, reason, background, result)| {
        let start = MaintainStart {
            call: facts.0,
            request: Maintain {
                runtime_settings: facts.1,
                runtime_context: facts.2,
                reason,
                background,
            },
        };
        let maintained = Maintained {
            changed: result.1,
            bytes_freed: result.2[0],
            rewritten_entries: result.2[1],
            reason: result.3,
        };
        let reply = result.0;
        (start, MaintainResult { reply, maintained })
    })
}

pub(super) fn prepare()
-> impl Strategy<Value = (PrepareSubagentSpawnRequest, PrepareSubagentSpawnResponse)> {
    let modes = of(select(vec![ContextMode::Isolated, ContextMode::Fork]));
    let names = (name(), text(), name());
    let ttl = of((1u64..u64::MAX).prop_map(Duration::from_millis));
    let answer = (reply(), any::<bool>(), maybe());
    (call(), names, vec(maybe(), 4), modes, ttl, answer).prop_map(
        |(call, names, texts, context_mode, ttl, (reply, prepared, addition))| {
            let mut texts = texts.into_iter();
            let mut next = || texts.next().flatten();
            let request = PrepareSubagentSpawn {
                spawn_id: names.0,
                parent_session_key: names.1,
                child_session_key: names.2,
                context_mode,
                parent_session_id: next(),
                parent_locator: next(),
                child_session_id: next(),
                child_locator: next(),
                ttl,
            };
            let prepared = SpawnPrepared {
                prepared,
                system_prompt_addition: addition,
            };
            (
                PrepareSubagentSpawnRequest { call, request },
                PrepareSubagentSpawnResponse { reply, prepared },
            )
        },
    )
}

pub(super) fn resolve() -> impl Strategy<Value = ResolveSubagentSpawnRequest> {
    let outcomes = select(vec![SpawnOutcome::Started, SpawnOutcome::RolledBack]);
    (call(), name(), outcomes).prop_map(|(call, spawn_id, outcome)| {
        let request = ResolveSubagentSpawn { spawn_id, outcome };
        ResolveSubagentSpawnRequest { call, request }
    })
}

pub(super) fn end() -> impl Strategy<Value = EndSubagentRequest> {
    (call(), of(name()), name(), text()).prop_map(|(call, spawn_id, child_session_key, reason)| {
        let request = EndSubagent {
            spawn_id,
            child_session_key,
            reason,
        };
        EndSubagentRequest { call, request }
    })
}

pub(super) fn dispose() -> impl Strategy<Value = DisposeRequest> {
    (call(), name()).prop_map(|(call, host_instance)| {
        let of_host = CallContext::of_host(call.hook_id, &host_instance).unwrap();
        DisposeRequest {
            call: CallContext {
                session: of_host.session,
                ..call
            },
            request: Dispose { host_instance },
        }
    })
}
