//! Any host call and any outcome.

use std::time::Duration;

use contextwire_engine::{
    HostCall, HostCallError, HostReply, LlmComplete, LlmCompleted, LlmUsage, ReadTranscript,
    RewriteEntries, Rewritten, TranscriptPage,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::requests::{compact, compacted};
use super::values::{maybe, message, state, text};
use crate::frame::{HostCallRequest, HostCallResult};

pub(super) fn host_call() -> impl Strategy<Value = HostCallRequest> {
    let replacements = vec((text().prop_map(Into::into), message()), 0..3);
    let suffix = of(vec(text().prop_map(Into::into), 0..3));
    let rewrite =
        (replacements, of(state()), suffix).prop_map(|(replacements, expected, allowed_suffix)| {
            HostCall::Rewrite(RewriteEntries {
                replacements,
                expected,
                allowed_suffix,
            })
        });
    let texts = (maybe(), maybe(), maybe());
    let numbers = (of(any::<u64>()), of(0.0..2.0));
    let complete = (vec((text(), text()), 0..3), texts, numbers).prop_map(
        |(messages, (system_prompt, model, purpose), (max_tokens, temperature))| {
            HostCall::Complete(LlmComplete {
                messages,
                system_prompt,
                model,
                max_tokens,
                temperature,
                purpose,
            })
        },
    );
    let read = (maybe(), any::<u64>()).prop_map(|(cursor, max_bytes)| {
        HostCall::ReadTranscript(ReadTranscript { cursor, max_bytes })
    });
    let delegate = compact().prop_map(HostCall::DelegateCompaction);
    let call = of(prop_oneof![rewrite, complete, read, delegate]);
    let timeout = (0u64..u64::MAX).prop_map(Duration::from_millis);
    (text(), timeout, call).prop_map(|(call_id, timeout, call)| HostCallRequest {
        call_id,
        timeout,
        call,
    })
}

pub(super) fn host_call_result() -> impl Strategy<Value = HostCallResult> {
    let error =
        (text(), text(), any::<bool>()).prop_map(|(reason, message, retryable)| HostCallError {
            reason,
            message,
            retryable,
        });
    let outcome = prop_oneof![
        rewritten().prop_map(Ok),
        completed().prop_map(Ok),
        page().prop_map(Ok),
        (compacted(), state())
            .prop_map(|(compacted, head)| Ok(HostReply::Compacted(compacted, head))),
        error.prop_map(Err),
    ];
    (text(), outcome).prop_map(|(call_id, outcome)| HostCallResult { call_id, outcome })
}

fn rewritten() -> impl Strategy<Value = HostReply> {
    (any::<bool>(), any::<[u64; 2]>(), maybe(), state()).prop_map(
        |(changed, numbers, reason, head)| {
            HostReply::Rewritten(Rewritten {
                changed,
                bytes_freed: numbers[0],
                rewritten_entries: numbers[1],
                reason,
                head,
            })
        },
    )
}

fn completed() -> impl Strategy<Value = HostReply> {
    (
        vec(text(), 3),
        vec(of(any::<u64>()), 5),
        of(0.0..9.0),
        maybe(),
    )
        .prop_map(|(texts, tokens, cost_usd, stop_reason)| {
            HostReply::Completed(LlmCompleted {
                text: texts[0].clone(),
                provider: texts[1].clone(),
                model: texts[2].clone(),
                usage: LlmUsage {
                    input_tokens: tokens[0],
                    output_tokens: tokens[1],
                    cache_read_tokens: tokens[2],
                    cache_write_tokens: tokens[3],
                    total_tokens: tokens[4],
                    cost_usd,
                },
                stop_reason,
            })
        })
}

fn page() -> impl Strategy<Value = HostReply> {
    (vec(message(), 0..3), maybe(), state()).prop_map(|(messages, next_cursor, head)| {
        HostReply::Page(TranscriptPage {
            messages,
            next_cursor,
            head,
        })
    })
}
