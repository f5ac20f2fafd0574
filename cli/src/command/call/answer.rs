//! Answers as people read them.

use contextwire_client::{Answer, EngineReply};
use contextwire_engine::{
    AssembleOutcome, Compacted, EntryId, Message, Segment, SessionId, Transcript, TranscriptState,
    TurnCommitted,
};
use serde_json::{Value, json};

/// The whole answer: who gave it, what it moved, what else was said.
pub(super) fn json(served: &Answer, view: &Transcript) -> Value {
    let late = served
        .said
        .late
        .iter()
        .map(|late| json!({ "hook_id": late.hook_id.to_string(), "method": late.method }));
    json!({
        "served_by": served.by.to_string(),
        "reason": served.reason.as_ref().map(|reason| reason.code()),
        "bytes_sent": served.traffic.bytes_sent(),
        "bytes_received": served.traffic.bytes_received(),
        "late": late.collect::<Vec<_>>(),
        "log_state": served.said.log_state.map(state),
        "result": result(&served.result, view),
    })
}

fn result(reply: &EngineReply, view: &Transcript) -> Value {
    match reply {
        EngineReply::Assembled(outcome) => assembled(outcome, view),
        EngineReply::Compacted(done) => compacted(done),
        EngineReply::Bootstrapped(done) => json!({
            "bootstrapped": done.bootstrapped,
            "imported_messages": done.imported_messages,
            "reason": done.reason,
        }),
        EngineReply::Ingested(done) => json!({ "ingested": done.ingested }),
        EngineReply::IngestedBatch(done) => json!({ "ingested_count": done.ingested_count }),
        EngineReply::TurnCommitted(done) => json!({
            "status": match done {
                TurnCommitted::Committed => "committed",
                TurnCommitted::Duplicate => "duplicate",
            },
        }),
        EngineReply::Maintained(done) => json!({
            "changed": done.changed,
            "bytes_freed": done.bytes_freed,
            "rewritten_entries": done.rewritten_entries,
            "reason": done.reason,
        }),
        EngineReply::SpawnPrepared(done) => json!({
            "prepared": done.prepared,
            "system_prompt_addition": done.system_prompt_addition,
        }),
        EngineReply::TurnNoted(())
        | EngineReply::SpawnResolved(())
        | EngineReply::SubagentEnded(())
        | EngineReply::Disposed(()) => json!({}),
    }
}

fn assembled(outcome: &AssembleOutcome, view: &Transcript) -> Value {
    match outcome {
        AssembleOutcome::Messages(reply) => json!({
            "messages": reply.messages.messages(view).map(payload).collect::<Vec<_>>(),
            "segments": reply.messages.segments().iter().map(segment).collect::<Vec<_>>(),
            "estimated_tokens": reply.estimated_tokens,
            "prompt_authority": reply.prompt_authority.map(|authority| format!("{authority:?}")),
            "system_prompt_addition": reply.system_prompt_addition,
            "reasons": reply.reasons,
        }),
        AssembleOutcome::Unchanged(unchanged) => json!({
            "unchanged": true,
            "estimated_tokens": unchanged.estimated_tokens,
        }),
    }
}

fn compacted(done: &Compacted) -> Value {
    let result = done.result.as_ref().map(|result| {
        json!({
            "summary": result.summary,
            "first_kept_entry_id": result.first_kept_entry_id.as_ref().map(EntryId::as_str),
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            "session_id": result.session_id.as_ref().map(SessionId::as_str),
        })
    });
    json!({
        "ok": done.ok,
        "compacted": done.compacted,
        "reason": done.reason,
        "result": result,
    })
}

/// A payload for people to read; what is no JSON is shown as text.
fn payload(message: &Message) -> Value {
    serde_json::from_slice(message.payload())
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(message.payload()).into_owned()))
}

fn segment(segment: &Segment) -> Value {
    match segment {
        Segment::Keep(range) => json!({ "keep": { "start": range.start, "count": range.len() } }),
        Segment::Insert(message) => json!({ "insert": { "synthetic": message.is_synthetic() } }),
    }
}

fn state(state: TranscriptState) -> Value {
    let chain = state
        .chain
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    json!({ "count": state.count, "chain": chain })
}
