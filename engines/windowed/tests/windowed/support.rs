//! Messages as hosts write them, and what every answer must satisfy.

use contextwire_engine::pairing::broken_pairs;
use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{
    AssembleReply, CurrentTurn, Message, PromptAuthority, Segment, TokenBudget, Transcript,
};
use contextwire_windowed::{Window, fit, is_blank};
use serde_json::{Value, json};

pub(crate) fn message(payload: &Value) -> Message {
    Message::from_payload(payload.to_string())
}

pub(crate) fn user(text: &str) -> Message {
    message(&json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}))
}

pub(crate) fn system(text: &str) -> Message {
    message(&json!({"role": "system", "content": text}))
}

pub(crate) fn assistant(blocks: &Value) -> Message {
    message(
        &json!({"role": "assistant", "content": blocks, "provider": "anthropic",
        "model": "claude-opus-4-5", "stopReason": "stop", "timestamp": 2}),
    )
}

pub(crate) fn answer(text: &str) -> Message {
    assistant(&json!([{"type": "text", "text": text}]))
}

pub(crate) fn call_block(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "src/main.rs"}})
}

pub(crate) fn calls(ids: &[&str]) -> Message {
    assistant(&ids.iter().map(|id| call_block(id)).collect())
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    message(
        &json!({"role": "toolResult", "toolCallId": id, "toolName": "read",
        "content": [{"type": "text", "text": text}], "isError": false, "timestamp": 3}),
    )
}

/// A text of `tokens` tokens.
pub(crate) fn words(tokens: usize) -> String {
    " word".repeat(tokens)
}

pub(crate) fn list(messages: impl IntoIterator<Item = Message>) -> Transcript {
    messages.into_iter().collect()
}

/// An agent's turn: a question, two rounds of tools, an answer (A01).
pub(crate) fn turn(n: usize) -> Vec<Message> {
    let (a, b) = (format!("c{n}a"), format!("c{n}b"));
    vec![
        user(&words(60)),
        calls(&[&a]),
        result(&a, &words(300)),
        calls(&[&b]),
        result(&b, &words(300)),
        answer(&words(90)),
    ]
}

pub(crate) fn window(budget: u64) -> Window<'static> {
    Window {
        budget: TokenBudget::new(budget),
        ..Window::default()
    }
}

pub(crate) fn included(budget: u64) -> Window<'static> {
    Window {
        current_turn: CurrentTurn::Included,
        ..window(budget)
    }
}

/// Fits and checks everything that holds for any input.
pub(crate) fn checked(transcript: &Transcript, window: &Window<'_>) -> AssembleReply {
    let reply = fit(transcript, window);
    assert_eq!(
        reply,
        fit(transcript, window),
        "equal input gives equal output"
    );
    assert_eq!(reply.messages.check(transcript.len()), Ok(()));
    assert_eq!(broken_pairs(transcript, &reply.messages), []);
    assert_eq!(reply.reasons.len(), reply.messages.segments().len());
    let out = shown(transcript, &reply);
    let family = ModelFamily::of_model(window.model);
    let sum: u64 = out
        .iter()
        .map(|m| u64::from(estimate_message(family, m)))
        .sum();
    assert_eq!(
        reply.estimated_tokens, sum,
        "the estimate is the honest sum"
    );
    if let Some(budget) = window.budget.filter(|budget| sum > budget.get()) {
        assert!(is_flagged(&reply), "{sum} tokens for {budget:?}");
    }
    check_pairs(&out);
    check_order(transcript, &reply);
    check_provider(&out);
    let newest = (0..transcript.len()).rev().find(|index| {
        transcript
            .get(*index)
            .is_some_and(|m| m.role() == "user" && !is_blank(m))
    });
    if let (Some(newest), CurrentTurn::Included) = (newest, window.current_turn) {
        assert!(
            kept(&reply).contains(&newest),
            "the newest user message is kept as it is"
        );
        assert!(
            out.last().is_none_or(|m| m.role() != "assistant"),
            "no prefill"
        );
    }
    reply
}

pub(crate) fn is_flagged(reply: &AssembleReply) -> bool {
    reply.prompt_authority == Some(PromptAuthority::PreassemblyMayOverflow)
}

pub(crate) fn shown(transcript: &Transcript, reply: &AssembleReply) -> Vec<Message> {
    reply.messages.messages(transcript).cloned().collect()
}

/// Indices of the kept messages, in the order of the result.
pub(crate) fn kept(reply: &AssembleReply) -> Vec<usize> {
    let range = |segment: &Segment| match segment {
        Segment::Keep(range) => range.clone(),
        Segment::Insert(_) => 0..0,
    };
    reply.messages.segments().iter().flat_map(range).collect()
}

pub(crate) fn inserts(reply: &AssembleReply) -> Vec<Message> {
    let insert = |segment: &Segment| match segment {
        Segment::Keep(_) => None,
        Segment::Insert(message) => Some(message.clone()),
    };
    reply
        .messages
        .segments()
        .iter()
        .filter_map(insert)
        .collect()
}

/// Each call is answered once, right behind its message, and nothing else answers.
fn check_pairs(out: &[Message]) {
    let mut due: Vec<&str> = Vec::new();
    for message in out {
        if let Some(id) = message.tool_result_for() {
            let at = due.iter().position(|open| *open == id);
            due.remove(at.unwrap_or_else(|| panic!("a stray result for {id}")));
        } else {
            assert!(due.is_empty(), "calls without result: {due:?}");
            due.extend(message.tool_call_ids().iter().map(String::as_str));
        }
    }
    assert!(due.is_empty(), "calls without result: {due:?}");
}

/// Messages that are no results stand in the transcript's order.
fn check_order(transcript: &Transcript, reply: &AssembleReply) {
    let mut kept = kept(reply);
    kept.retain(|index| transcript.get(*index).unwrap().tool_result_for().is_none());
    assert!(kept.is_sorted(), "{kept:?}");
}

/// What a strict provider rejects is not there.
fn check_provider(out: &[Message]) {
    let first = out
        .iter()
        .find(|m| !matches!(m.role(), "system" | "developer"));
    let leads = |m: &Message| m.role() != "assistant" && m.tool_result_for().is_none();
    assert!(first.is_none_or(leads), "starts with {first:?}");
    for message in out {
        assert!(!is_blank(message), "{:?}", message.payload());
    }
}

/// The texts of a message's content.
pub(crate) fn texts(message: &Message) -> String {
    let payload: Value = serde_json::from_slice(message.payload()).unwrap();
    let content = &payload["content"];
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.map(|block| &block["text"]).chain([content]);
    texts.filter_map(Value::as_str).collect()
}

/// The transcript of A01.
pub(crate) fn two_hundred_turns() -> Transcript {
    list((0..200).flat_map(turn))
}
