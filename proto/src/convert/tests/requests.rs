//! Any request and any answer.

use bytes::Bytes;
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, CompactionTarget,
    ContextProjection, CurrentTurn, KnownProjection, ProjectionMode, PromptAuthority, Segment,
    Site, TokenBudget, Transcript, Unchanged,
};
use proptest::collection::{btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::{
    call, context, maybe, reply, segment, session_id, settings, target, text, update,
};
use crate::convert::{AssembleResult, AssembleStart, CompactResult, CompactStart};

pub(super) fn assemble_start() -> impl Strategy<Value = AssembleStart> {
    let turn = select(vec![CurrentTurn::Excluded, CurrentTurn::Included]);
    let site = select(vec![Site::BeforePrompt, Site::ToolLoop, Site::Sync]);
    let known = ("[a-z]{1,4}", maybe())
        .prop_map(|(epoch, fingerprint)| KnownProjection { epoch, fingerprint });
    let tools = of(btree_set(text(), 0..4));
    let texts = (maybe(), maybe(), maybe(), maybe());
    let more = (
        of(settings()),
        of(context()),
        of(1..u64::MAX),
        tools,
        of(known),
    );
    (call(), update(), turn, site, texts, more).prop_map(
        |(call, update, turn, site, texts, more)| {
            let request = Assemble {
                runtime_settings: more.0,
                runtime_context: more.1,
                transcript: Transcript::new(),
                current_turn: turn,
                token_budget: more.2.and_then(TokenBudget::new),
                available_tools: more.3,
                citations_mode: texts.0,
                model: texts.1,
                prompt: texts.2,
                memory_prompt: texts.3,
                site,
                known_projection: more.4,
            };
            AssembleStart {
                call,
                request,
                update,
            }
        },
    )
}
pub(super) fn assemble_result() -> impl Strategy<Value = AssembleResult> {
    let authority = of(select(vec![
        PromptAuthority::Assembled,
        PromptAuthority::PreassemblyMayOverflow,
    ]));
    let mode = select(vec![
        ProjectionMode::PerTurn,
        ProjectionMode::ThreadBootstrap,
    ]);
    let projection =
        (mode, maybe(), maybe()).prop_map(|(mode, epoch, fingerprint)| ContextProjection {
            mode,
            epoch,
            fingerprint,
        });
    let messages = (
        vec(segment(), 0..5),
        any::<u64>(),
        authority.clone(),
        maybe(),
        of(projection),
        any::<bool>(),
    )
        .prop_map(
            |(segments, tokens, authority, addition, projection, explained)| {
                let mut messages = Assembled::new();
                for segment in segments {
                    match segment {
                        Segment::Keep(range) => messages.push_keep(range),
                        Segment::Insert(message) => messages.push_insert(message),
                    }
                }
                let reasons = messages.segments().iter().enumerate().filter(|_| explained);
                AssembleOutcome::Messages(AssembleReply {
                    reasons: reasons.map(|(n, _)| format!("because {n}")).collect(),
                    messages,
                    estimated_tokens: tokens,
                    prompt_authority: authority,
                    system_prompt_addition: addition,
                    context_projection: projection,
                })
            },
        );
    let unchanged = (any::<u64>(), authority, maybe()).prop_map(|(tokens, authority, addition)| {
        AssembleOutcome::Unchanged(Unchanged {
            estimated_tokens: tokens,
            prompt_authority: authority,
            system_prompt_addition: addition,
        })
    });
    (reply(), prop_oneof![messages, unchanged])
        .prop_map(|(reply, outcome)| AssembleResult { reply, outcome })
}

pub(super) fn compact_start() -> impl Strategy<Value = CompactStart> {
    let facts = (call(), of(settings()), of(context()));
    (facts, compact()).prop_map(|((call, settings, context), request)| {
        let request = Compact {
            runtime_settings: settings,
            runtime_context: context,
            ..request
        };
        CompactStart { call, request }
    })
}

/// What a compaction is asked for, without settings and context.
pub(super) fn compact() -> impl Strategy<Value = Compact> {
    let target = select(vec![CompactionTarget::Budget, CompactionTarget::Threshold]);
    let numbers = (of(1..u64::MAX), of(any::<u64>()));
    (numbers, any::<bool>(), target, maybe()).prop_map(
        |((budget, count), force, target, instructions)| Compact {
            runtime_settings: None,
            runtime_context: None,
            token_budget: budget.and_then(TokenBudget::new),
            force,
            current_token_count: count,
            target,
            custom_instructions: instructions,
        },
    )
}

pub(super) fn compact_result() -> impl Strategy<Value = CompactResult> {
    (reply(), compacted()).prop_map(|(reply, compacted)| CompactResult { reply, compacted })
}

pub(super) fn compacted() -> impl Strategy<Value = Compacted> {
    let details = select(vec!["{}", "[1]"]).prop_map(Bytes::from);
    let result = (
        maybe(),
        maybe(),
        any::<u64>(),
        of(any::<u64>()),
        of(details),
        of(session_id()),
        of(target()),
    )
        .prop_map(
            |(summary, first_kept, before, after, details, session_id, session_target)| {
                contextwire_engine::CompactResult {
                    summary,
                    first_kept_entry_id: first_kept.map(Into::into),
                    tokens_before: before,
                    tokens_after: after,
                    details,
                    session_id,
                    session_target,
                }
            },
        );
    (any::<bool>(), any::<bool>(), maybe(), of(result)).prop_map(
        |(ok, compacted, reason, result)| Compacted {
            ok,
            compacted,
            reason,
            result,
        },
    )
}
