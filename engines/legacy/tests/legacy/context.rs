//! What a model sees after a compaction, and which entry its answer names.

use contextwire_engine::Transcript;
use contextwire_legacy::{CompactedLog, Compaction};
use serde_json::{Value, json};

use crate::support::*;

fn shown(done: &CompactedLog, list: &Transcript) -> Vec<String> {
    let context = done.context(list, 7);
    let ids = context
        .iter()
        .map(|message| message.entry_id().as_str().to_owned());
    ids.collect()
}

#[tokio::test]
async fn c350_the_model_sees_the_summary_what_was_kept_and_what_came_later() {
    let done = compacted(&turns(60), &forced(), &Script::default()).await;
    let later = turns(61);
    let expected: Vec<_> = std::iter::once(String::new())
        .chain((80..122).map(|n| format!("e{n}")))
        .collect();
    assert_eq!(shown(&done, &later), expected);
    let head = done.context(&later, 7);
    let head = head.get(0).unwrap();
    assert!(head.is_synthetic());
    let payload: Value = serde_json::from_slice(head.payload()).unwrap();
    assert_eq!(payload["role"], "compactionSummary");
    assert_eq!(payload["summary"], "summary 1");
    assert_eq!(payload["firstKeptEntryId"], "e80");
    assert_eq!(
        (&payload["timestamp"], &payload["details"]["calls"]),
        (&json!(7), &json!(1))
    );
}

#[tokio::test]
async fn c351_where_the_first_kept_entry_is_gone_only_what_came_later_is_shown() {
    let mut done = compacted(&turns(60), &forced(), &Script::default()).await;
    done.first_kept_entry_id = Some("gone".into());
    assert_eq!(shown(&done, &turns(61)), ["", "e120", "e121"]);
}

#[tokio::test]
async fn a_list_without_ids_is_cut_by_place_and_gives_a_wire_no_answer() {
    let bare: Transcript = turns(60)
        .iter()
        .map(|m| m.clone().with_entry_id(""))
        .collect();
    let done = compacted(&bare, &forced(), &Script::default()).await;
    assert_eq!((done.first_kept, &done.first_kept_entry_id), (80, &None));
    assert_eq!(done.context(&bare, 0).len(), 1 + 40);
    let error = Compaction::Done(Box::new(done)).into_answer().unwrap_err();
    assert_eq!(error.code(), "invalid_session");
}

#[tokio::test]
async fn of_a_view_the_stored_entry_is_named_and_not_the_item_that_shows_it() {
    let view: Transcript = turns(60)
        .iter()
        .enumerate()
        .map(|(n, m)| m.clone().with_log_entry_id(Some(format!("log{n}").into())))
        .collect();
    let done = compacted(&view, &forced(), &Script::default()).await;
    assert_eq!(done.first_kept_entry_id, Some("log80".into()));
    assert_eq!(done.context(&view, 0).len(), 1 + 40);
}

#[tokio::test]
async fn an_id_that_two_messages_have_names_neither() {
    let same = turns(60)
        .iter()
        .map(|m| m.clone().with_entry_id("same"))
        .collect();
    let done = compacted(&same, &forced(), &Script::default()).await;
    assert_eq!(done.first_kept_entry_id, None);
}
