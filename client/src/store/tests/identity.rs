//! Identity over rewrites and restarts, after faults that users of such hosts reported.

use std::collections::HashSet;

use super::*;

#[tokio::test]
async fn br106_a_shortened_result_keeps_its_call_id_and_the_pointer_to_the_whole() {
    let result = |text: &str| {
        format!(
            r#"{{"role":"toolResult","toolCallId":"c1","content":"{text}","details":{{"fullOutputPath":"/x"}}}}"#
        )
    };
    each_store(async |store| {
        let entries = vec![
            message("a", &user("go")),
            message("b", &result("very long")),
            message("c", &assistant("done")),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("b", &result("cut"))]).await;
        // Appended again by a second rewrite: still byte for byte what was sent.
        rewrite(&store, &[("a", &user("g"))]).await;
        let log = store.log().await.unwrap();
        let stored = log.get(1).unwrap();
        assert_eq!(stored.payload(), result("cut").as_bytes());
        assert_eq!(stored.tool_result_for(), Some("c1"));
    })
    .await;
}

#[tokio::test]
async fn br107_a_restart_after_a_rewrite_finds_the_same_log() {
    let empty = r#"{"role":"assistant","content":[],"stopReason":"error"}"#;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let rows = (0..500).map(|n| message(&format!("e{n}"), empty)).collect();
    store.append(rows).await.unwrap();
    let before = store.log().await.unwrap();
    let done = rewrite(&store, &[("e250", r#"{"role":"assistant","content":[]}"#)]).await;
    let after = store.log().await.unwrap();
    drop(store);

    let again = open(&folder).await.log().await.unwrap();
    assert_eq!((again.state(), again.len()), (done.head, 500));
    assert_eq!(again, after);
    let changed = before
        .iter()
        .zip(again.iter())
        .filter(|(old, new)| old.digest() != new.digest());
    assert_eq!(changed.count(), 1);
    assert_eq!(ids(&again).into_iter().collect::<HashSet<_>>().len(), 500);
}

#[tokio::test]
async fn br108_the_same_rewrite_again_changes_nothing() {
    each_store(async |store| {
        let rows = (0..10).map(|n| message(&format!("e{n}"), &assistant(&format!("text {n}"))));
        store.append(rows.collect()).await.unwrap();
        let before = store.log().await.unwrap();
        let shorter = [("e3", &*assistant("t"))];
        assert!(rewrite(&store, &shorter).await.changed);
        let once = natives(&store).await;
        let again = rewrite(&store, &shorter).await;
        assert_eq!((again.changed, again.rewritten_entries), (false, 0));
        assert_eq!(
            again.reason.as_deref(),
            Some("replacements are already stored")
        );
        assert_eq!(natives(&store).await, once);
        let log = store.log().await.unwrap();
        assert_eq!(ids(&log), ids(&before));
        // Untouched entries are the very objects that they were, counted and hashed already.
        let untouched = (0..10).filter(|n| *n != 3);
        for n in untouched {
            assert!(
                log.get(n).unwrap().is_same_object(before.get(n).unwrap()),
                "{n}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_stored_replacement_beside_a_new_one_counts_for_nothing() {
    each_store(async |store| {
        let entries = vec![message("a", &user("one")), message("b", &user("two"))];
        store.append(entries).await.unwrap();
        let done = rewrite(&store, &[("a", &user("one")), ("b", &user("2"))]).await;
        assert_eq!((done.rewritten_entries, done.bytes_freed), (1, 2));
        assert_eq!(
            natives(&store).await[0],
            native("a"),
            "nothing before the change moves"
        );
    })
    .await;
}

#[tokio::test]
async fn br109_the_input_of_a_running_turn_keeps_its_identity_through_a_rewrite() {
    each_store(async |store| {
        let entries = vec![
            message("u1", &user("old and long")),
            message("a1", &assistant("answer")),
            message("u7", &user("running")),
        ];
        store.append(entries).await.unwrap();
        let input = store.log().await.unwrap().last().cloned().unwrap();
        let terms = RewriteTerms {
            pending_inputs: vec!["u7".into()],
            ..RewriteTerms::at(NOW)
        };
        let request = replace(&[("u1", &user("old"))]);
        assert!(store.rewrite(request, terms).await.unwrap().changed);
        // The turn goes on and closes: its range is found by the ids that it began with.
        let answer = store
            .append(vec![message("a7", &assistant("done"))])
            .await
            .unwrap();
        let log = store.log().await.unwrap();
        assert_eq!(ids(&log), ["u1", "a1", "u7", "a7"]);
        assert_eq!(log.get(2).map(Message::digest), Some(input.digest()));
        assert_eq!(answer, ["a7".into()]);
    })
    .await;
}

#[tokio::test]
async fn br110_a_file_of_another_session_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    store
        .append(vec![message("a", &user("private"))])
        .await
        .unwrap();
    drop(store);
    let path = folder.path().join("main.jsonl");
    let before = std::fs::read(&path).unwrap();
    let other = JsonlOptions::new(SessionId::new("other").unwrap(), NOW);
    let error = JsonlStore::open(&path, other).await.unwrap_err();
    assert!(matches!(error, StoreError::OtherSession { found } if found == "main"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_lineage_outlives_many_rewrites_and_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder).await;
    let rows = (0..4).map(|n| message(&format!("e{n}"), &assistant(&format!("{n}"))));
    store.append(rows.collect()).await.unwrap();
    for round in 0..5 {
        let target = format!("e{}", round % 4);
        rewrite(&store, &[(&target, &assistant(&format!("round {round}")))]).await;
        let before = store.log().await.unwrap();
        drop(store);
        store = open(&folder).await;
        assert_eq!(store.log().await.unwrap(), before);
        assert_eq!(branch(&store).await, ["e0", "e1", "e2", "e3"]);
    }
}

#[tokio::test]
async fn a_store_without_ids_sends_empty_ones_throughout() {
    let store = MemoryStore::new();
    let entries = vec![
        message("a", &user("one")),
        compaction("k", Some("a")),
        message("b", &user("two")),
    ];
    store.append(entries).await.unwrap();
    let context = store.context().await.unwrap();
    let log = store.log().await.unwrap();
    let mut all = log.iter().chain(context.iter());
    assert!(all.all(|message| message.entry_id().is_empty() && message.log_entry_id().is_none()));
    let done = rewrite(&store, &[("", "{}")]).await;
    assert_eq!(done.reason.as_deref(), Some("no replacements requested"));
}

#[tokio::test]
async fn minted_ids_are_unique() {
    each_store(async |store| {
        let rows = (0..50).map(|_| NewEntry::message(user("same"), NOW));
        let ids = store.append(rows.collect()).await.unwrap();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 50);
        assert_eq!(store.log().await.unwrap().len(), 50);
    })
    .await;
}

#[tokio::test]
async fn r2_3_a_host_without_ids_sends_none_and_still_names_its_entries_to_itself() {
    let store = MemoryStore::new();
    let row = |text: &str| NewEntry::message(user(text), 0);
    let ids = store.append(vec![row("a"), row("b")]).await.unwrap();
    let log = store.log().await.unwrap();
    assert!(
        log.iter()
            .all(|message| message.entry_id().as_str().is_empty())
    );
    assert_eq!(store.log_ids().await.unwrap(), ids);
    let compaction = Compaction {
        summary: "a".to_owned(),
        first_kept: Some(ids[1].clone()),
        ..Compaction::default()
    };
    let entry = NewEntry::new(EntryBody::Compaction(compaction), 0);
    store.append(vec![entry]).await.unwrap();
    assert_eq!(store.context().await.unwrap().len(), 2);
    assert_eq!(store.log_ids().await.unwrap(), ids);
}
