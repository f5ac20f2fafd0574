//! What holds for any conversation and any window.

use contextwire_engine::pairing::broken_pairs;
use contextwire_engine::{Assembled, Message, Transcript};
use contextwire_legacy::{CompactOptions, Compaction, Extract, compact_log};
use proptest::prelude::*;
use serde_json::json;

use crate::support::*;

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "c", "d"]);
    let len = prop_oneof![4 => 0usize..80, 1 => 300usize..2_000];
    prop_oneof![
        4 => len.clone().prop_map(|n| user(&words(n))),
        3 => len.clone().prop_map(|n| answer(&words(n))),
        4 => id.clone().prop_map(|id| call(id, "src/main.rs")),
        5 => (id, len.clone()).prop_map(|(id, n)| result(id, &words(n))),
        1 => len.prop_map(|n| message(&json!({"role": "bashExecution", "command": "ls", "output": words(n)}))),
        1 => Just(message(&json!({"role": "custom", "content": "x", "excludeFromContext": true}))),
        1 => Just(Message::from_payload(r#"{"role":"novel","x":1e400}"#)),
        1 => Just(Message::from_payload("no json at all")),
    ]
}

/// A list that shows itself when a property fails.
#[derive(Clone)]
struct Shown(Transcript);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let payloads = self.0.iter().map(|m| {
            String::from_utf8_lossy(m.payload())
                .chars()
                .take(90)
                .collect::<String>()
        });
        f.debug_list().entries(payloads).finish()
    }
}

fn any_list() -> impl Strategy<Value = Shown> {
    prop::collection::vec(any_message(), 0..60).prop_map(|messages| Shown(list(messages)))
}

fn compact(log: &Transcript, options: &CompactOptions) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let done = runtime
        .unwrap()
        .block_on(compact_log(&cx(), log, options, &Extract));
    done.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_compaction_splits_no_pair_names_what_stays_and_saves_something(Shown(log) in any_list(), window in 500u64..9_000) {
        let options = forced_within(window);
        let compaction = compact(&log, &options);
        prop_assert_eq!(&compaction, &compact(&log, &options), "equal input gives equal output");
        let Compaction::Done(done) = compaction else { return Ok(()) };
        prop_assert!(done.tokens_after < done.tokens_before);
        prop_assert!(!done.summary.trim().is_empty() && done.summary.chars().count() <= 16_000);
        prop_assert!(done.first_kept > 0 && done.first_kept < log.len());
        let kept = log.get(done.first_kept).unwrap();
        prop_assert_eq!(Some(kept.entry_id()), done.first_kept_entry_id.as_ref());
        prop_assert!(kept.tool_result_for().is_none());
        let shown = Assembled::keep(done.first_kept..log.len());
        prop_assert_eq!(broken_pairs(&log, &shown), []);
    }
}
