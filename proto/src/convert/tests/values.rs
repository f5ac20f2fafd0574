//! Any message, list, setting, call.

use bytes::Bytes;
use contextwire_engine::{
    Header, HookId, LateHook, Message, Omitted, Order, ReasonCode, Reply, RuntimeContext,
    RuntimeMode, RuntimeSettings, Scope, Segment, SelectionSource, Session, SessionId,
    SessionTarget, TokenBudget, TranscriptState,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

use crate::call::CallContext;
use crate::sync::{List, Part, TranscriptUpdate, UpdateBody};

pub(super) fn text() -> impl Strategy<Value = String> + Clone {
    "\\PC{0,12}"
}

pub(super) fn maybe() -> impl Strategy<Value = Option<String>> + Clone {
    of(text())
}

pub(super) fn payload() -> impl Strategy<Value = Bytes> {
    let odd: [&[u8]; 7] = [
        b"",
        br#"{"role":"user","content":null}"#,
        br#"{"n":1e400,"m":9007199254740993,"role":"x","role":"y"}"#,
        br#"{"role":"user","content":"\ud800"}"#,
        b"[[[[[[[[[[[[[[[[[[[[",
        b"{\"role\":\"user\xff\"}",
        b"\x00\x01\x02",
    ];
    prop_oneof![
        select(odd.to_vec()).prop_map(Bytes::from_static),
        vec(any::<u8>(), 0..64).prop_map(Bytes::from)
    ]
}

pub(super) fn message() -> impl Strategy<Value = Message> {
    let header = (text(), of(any::<i64>()), vec(text(), 0..3), maybe()).prop_map(
        |(role, timestamp_ms, tool_call_ids, tool_result_for)| Header {
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
        },
    );
    let omitted =
        (any::<u64>(), any::<[u8; 32]>()).prop_map(|(bytes, sha256)| Omitted { bytes, sha256 });
    (
        payload(),
        header,
        text(),
        maybe(),
        of(any::<u64>()),
        any::<bool>(),
        of(omitted),
    )
        .prop_map(
            |(payload, header, entry, log_entry, tokens, synthetic, omitted)| {
                Message::with_header(payload, header)
                    .with_entry_id(entry)
                    .with_log_entry_id(log_entry.map(Into::into))
                    .with_estimated_tokens(tokens)
                    .with_synthetic(synthetic)
                    .with_omitted(omitted)
            },
        )
}

fn reason_code() -> impl Strategy<Value = ReasonCode> + Clone {
    select(vec![
        ReasonCode::ProviderTimeout,
        ReasonCode::ProviderUnavailable,
        ReasonCode::RateLimited,
        ReasonCode::ContextOverflow,
        ReasonCode::RuntimeUnavailable,
        ReasonCode::Unknown,
    ])
}

pub(super) fn settings() -> impl Strategy<Value = RuntimeSettings> {
    let modes = select(vec![
        RuntimeMode::Normal,
        RuntimeMode::Fallback,
        RuntimeMode::Degraded,
    ]);
    let sources = vec![
        SelectionSource::Configured,
        SelectionSource::Default,
        SelectionSource::Unknown,
    ];
    let texts = vec(maybe(), 9);
    let code = of(reason_code());
    let numbers = (of(1..u64::MAX), of(any::<u64>()), any::<u32>());
    (
        text(),
        modes,
        select(sources),
        texts,
        numbers,
        code.clone(),
        code,
    )
        .prop_map(
            |(
                host,
                mode,
                source,
                texts,
                (prompt, output, version),
                fallback_reason,
                degraded_reason,
            )| {
                let mut texts = texts.into_iter();
                let mut next = || texts.next().flatten();
                RuntimeSettings {
                    schema_version: version,
                    host,
                    mode,
                    harness_id: next(),
                    runtime_id: next(),
                    requested_model: next(),
                    resolved_model: next(),
                    provider: next(),
                    family: next(),
                    selected_engine_id: next(),
                    selection_source: source,
                    execution_host_id: next(),
                    execution_host_label: next(),
                    prompt_token_budget: prompt.and_then(TokenBudget::new),
                    max_output_tokens: output,
                    fallback_reason,
                    degraded_reason,
                }
            },
        )
}

pub(super) fn context() -> impl Strategy<Value = RuntimeContext> {
    let json = select(vec!["{}", r#"{"a":[1e400]}"#, "null"]).prop_map(Bytes::from);
    let numbers = vec(of(any::<u64>()), 3);
    let tries = (of(any::<u32>()), of(any::<u32>()));
    (
        vec(maybe(), 8),
        numbers,
        tries,
        of(any::<bool>()),
        of(json.clone()),
        btree_map(text(), json, 0..3),
    )
        .prop_map(
            |(texts, numbers, (attempt, max_attempts), deferred, prompt_cache, extra)| {
                let mut texts = texts.into_iter();
                let mut next = || texts.next().flatten();
                RuntimeContext {
                    cwd: next(),
                    allow_deferred_compaction_execution: deferred,
                    token_budget: numbers[0],
                    agent_harness_id: next(),
                    current_token_count: numbers[1],
                    provider: next(),
                    model_id: next(),
                    model_context_window: numbers[2],
                    prompt_cache,
                    transcript_storage: next(),
                    trigger: next(),
                    force_reason: next(),
                    preflight_trigger: next(),
                    attempt,
                    max_attempts,
                    extra,
                }
            },
        )
}

pub(super) fn target() -> impl Strategy<Value = SessionTarget> {
    (maybe(), maybe(), maybe(), maybe(), maybe()).prop_map(
        |(agent_id, session_id, session_key, store_path, thread_id)| SessionTarget {
            agent_id,
            session_id,
            session_key,
            store_path,
            thread_id,
        },
    )
}

pub(super) fn session_id() -> impl Strategy<Value = SessionId> {
    "\\PC{1,12}".prop_map(|id| SessionId::new(id).unwrap())
}

pub(super) fn state() -> impl Strategy<Value = TranscriptState> {
    prop_oneof![
        Just(TranscriptState::EMPTY),
        (1..u64::MAX, any::<[u8; 32]>())
            .prop_map(|(count, chain)| TranscriptState { count, chain }),
    ]
}

pub(super) fn hook_id() -> impl Strategy<Value = HookId> {
    any::<u128>().prop_map(|bits| HookId::parse(&format!("{bits:032x}")).unwrap())
}

fn session() -> impl Strategy<Value = Session> {
    (
        session_id(),
        of(session_id()),
        maybe(),
        maybe(),
        of(target()),
        maybe(),
    )
        .prop_map(
            |(id, previous_id, key, agent_id, target, locator)| Session {
                id,
                previous_id,
                key,
                agent_id,
                target,
                locator,
            },
        )
}

pub(super) fn call() -> impl Strategy<Value = CallContext> {
    let order = (1..u64::MAX, of(any::<u64>())).prop_map(|(host_epoch, session_seq)| Order {
        host_epoch,
        session_seq,
    });
    let scope = (maybe(), maybe()).prop_map(|(agent_dir, workspace_dir)| Scope {
        agent_dir,
        workspace_dir,
    });
    let budget = of((1u64..u64::MAX).prop_map(Duration::from_millis));
    let ids = (hook_id(), 1..u32::MAX, vec(hook_id(), 0..3));
    (
        ids,
        budget,
        session(),
        vec(text(), 0..3),
        scope,
        maybe(),
        of(order),
        of(state()),
    )
        .prop_map(
            |(
                (hook_id, attempt, abandoned),
                budget,
                session,
                paths,
                scope,
                operation,
                order,
                log_head,
            )| {
                CallContext {
                    hook_id,
                    attempt,
                    budget,
                    session,
                    must_understand: paths,
                    scope,
                    operation,
                    order,
                    abandoned_hooks: abandoned,
                    log_head,
                }
            },
        )
}

pub(super) fn segment() -> impl Strategy<Value = Segment> {
    prop_oneof![
        (0usize..1000, 1usize..1000).prop_map(|(start, len)| Segment::Keep(start..start + len)),
        message().prop_map(Segment::Insert),
    ]
}

pub(super) fn list() -> impl Strategy<Value = List> {
    select(vec![List::Log, List::View])
}

pub(super) fn update() -> impl Strategy<Value = TranscriptUpdate> {
    let part = (state(), vec(segment(), 0..4), state(), any::<bool>()).prop_map(
        |(base, segments, head, more)| {
            UpdateBody::Part(Part {
                base,
                segments,
                head,
                more,
            })
        },
    );
    let body = prop_oneof![4 => part, 1 => Just(UpdateBody::Unavailable)];
    (1..u32::MAX, list(), body).prop_map(|(seq, list, body)| TranscriptUpdate { seq, list, body })
}
pub(super) fn reply() -> impl Strategy<Value = Reply> {
    let late =
        (hook_id(), text(), of(target())).prop_map(|(hook_id, method, session_target)| LateHook {
            hook_id,
            method,
            session_target,
        });
    (vec(late, 0..2), of(state())).prop_map(|(late, log_state)| Reply { late, log_state })
}
