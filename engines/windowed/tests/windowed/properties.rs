//! What holds for any conversation and any budget.

use contextwire_engine::{CurrentTurn, Message, TokenBudget, Transcript};
use contextwire_windowed::Window;
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "c", "d"]);
    let len = prop_oneof![4 => 0usize..60, 1 => 200usize..3_000];
    let reason = prop::sample::select(vec!["stop", "toolUse", "aborted", "error"]);
    prop_oneof![
        4 => len.clone().prop_map(|n| user(&words(n))),
        3 => len.clone().prop_map(|n| answer(&words(n))),
        4 => (prop::collection::vec(id.clone(), 1..4), reason, 0usize..30).prop_map(|(ids, reason, n)| {
            let mut blocks: Vec<_> = ids.iter().map(|id| call_block(id)).collect();
            blocks.insert(0, json!({"type": "text", "text": words(n)}));
            blocks.insert(0, json!({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}));
            message(&json!({"role": "assistant", "content": blocks, "stopReason": reason, "model": "m"}))
        }),
        6 => (id.clone(), len.clone()).prop_map(|(id, n)| result(id, &words(n))),
        1 => (id, 0usize..3).prop_map(|(id, n)| message(&json!({"role": "toolResult", "toolCallId": id,
            "toolName": "shot", "content": vec![json!({"type": "image", "data": "QUJD"}); n]}))),
        1 => len.prop_map(|n| message(&json!({"role": "bashExecution", "command": "ls", "output": words(n)}))),
        1 => Just(system("be brief")),
        1 => Just(message(&json!({"role": "compactionSummary", "summary": "what was said"}))),
        1 => Just(message(&json!({"role": "custom", "content": []}))),
        1 => Just(Message::from_payload(r#"{"role":"novel","x":1e400}"#)),
        1 => Just(Message::from_payload("no json at all")),
    ]
}

/// A transcript that shows itself when a property fails.
#[derive(Clone)]
struct Shown(Transcript);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let payloads = self.0.iter().map(|m| String::from_utf8_lossy(m.payload()));
        f.debug_list().entries(payloads).finish()
    }
}

fn any_list() -> impl Strategy<Value = Shown> {
    prop::collection::vec(any_message(), 0..40).prop_map(|messages| Shown(list(messages)))
}

fn any_window() -> impl Strategy<Value = Window<'static>> {
    let budget = prop_oneof![1 => Just(0u64), 3 => 1u64..400, 4 => 400u64..6_000];
    let model = prop::sample::select(vec![None, Some("m"), Some("gpt-4")]);
    (budget, model, any::<bool>()).prop_map(|(budget, model, included)| Window {
        budget: TokenBudget::new(budget),
        model,
        provider: None,
        current_turn: if included {
            CurrentTurn::Included
        } else {
            CurrentTurn::Excluded
        },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_answer_is_valid_within_budget_and_repeatable(Shown(transcript) in any_list(), window in any_window()) {
        checked(&transcript, &window);
    }

    #[test]
    fn without_a_budget_every_user_message_stays(Shown(transcript) in any_list()) {
        let reply = checked(&transcript, &included(0));
        let out = shown(&transcript, &reply);
        for own in transcript.iter().filter(|m| m.role() == "user" && !contextwire_windowed::is_blank(m)) {
            prop_assert!(out.iter().any(|m| m.is_same_object(own)));
        }
    }
}
