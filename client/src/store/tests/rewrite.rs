//! Rewrites, rule by rule (HOST-SEMANTICS 8.1); the numbers are its test cases.

use super::*;

fn unchanged(done: &Rewritten) -> Option<&str> {
    assert_eq!(
        (done.changed, done.rewritten_entries, done.bytes_freed),
        (false, 0, 0)
    );
    done.reason.as_deref()
}

#[tokio::test]
async fn blank_ids_are_ignored_and_nothing_is_left() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        for request in [&[][..], &[("", "{}"), (" ", "{}")]] {
            let done = rewrite(&store, request).await;
            assert_eq!(unchanged(&done), Some("no replacements requested"));
            assert_eq!(done.head, store.log().await.unwrap().state());
        }
    })
    .await;
}

#[tokio::test]
async fn c210_an_empty_branch_and_an_unknown_id_say_so() {
    each_store(async |store| {
        let done = rewrite(&store, &[("a", "{}")]).await;
        assert_eq!(unchanged(&done), Some("empty session"));
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let done = rewrite(&store, &[("b", "{}")]).await;
        assert_eq!(unchanged(&done), Some("no matching message entries"));
    })
    .await;
}

#[tokio::test]
async fn only_message_entries_of_the_active_branch_match() {
    each_store(async |store| {
        let custom = EntryBody::CustomMessage {
            custom_type: "x".to_owned(),
            content: r#""hi""#.into(),
            details: None,
            display: true,
        };
        let entries = vec![
            message("a", &user("one")),
            message("b", &user("two")),
            entry("c", custom),
        ];
        store.append(entries).await.unwrap();
        store.branch(Some(native("a")), NOW).await.unwrap();
        store.append(vec![label("d", "a")]).await.unwrap();
        for id in ["b", "c", "d"] {
            let done = rewrite(&store, &[(id, "{}")]).await;
            assert_eq!(
                unchanged(&done),
                Some("no matching message entries"),
                "{id}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn c211_a_shorter_result_in_the_middle_appends_what_follows_again() {
    each_store(async |store| {
        let entries = vec![
            message("a", &user("one")),
            message("b", &tool_result("a very long text")),
            message("c", &assistant("two")),
            message("d", &user("three")),
        ];
        store.append(entries).await.unwrap();
        let before = natives(&store).await;
        let done = rewrite(&store, &[("b", &tool_result("short"))]).await;
        assert_eq!((done.changed, done.rewritten_entries), (true, 1));
        assert_eq!(done.bytes_freed, 11);
        assert_eq!(done.head, store.log().await.unwrap().state());
        let expected = [
            ("a".to_owned(), user("one")),
            ("b".to_owned(), tool_result("short")),
            ("c".to_owned(), assistant("two")),
            ("d".to_owned(), user("three")),
        ];
        assert_eq!(log(&store).await, expected);
        let after = natives(&store).await;
        assert_eq!(after[0], before[0]);
        assert!(
            after[1..].iter().all(|id| !before.contains(id)),
            "{after:?}"
        );
        let parents: Vec<_> = store.entries().await.unwrap();
        let parents = parents.iter().map(|entry| entry.parent().cloned());
        assert!(parents.skip(1).eq(after.iter().take(3).cloned().map(Some)));
    })
    .await;
}

#[tokio::test]
async fn c212_a_larger_message_frees_nothing() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let done = rewrite(&store, &[("a", &user("one and more"))]).await;
        assert_eq!((done.changed, done.bytes_freed), (true, 0));
    })
    .await;
}

#[tokio::test]
async fn growth_of_one_entry_takes_nothing_from_what_another_freed() {
    each_store(async |store| {
        let entries = vec![
            message("a", &user("123456789")),
            message("b", &user("é2345")),
            message("c", &user("1")),
        ];
        store.append(entries).await.unwrap();
        let shorter = [
            ("a", &*user("1")),
            ("b", &user("2345")),
            ("c", &user("123456789")),
        ];
        let done = rewrite(&store, &shorter).await;
        assert_eq!((done.rewritten_entries, done.bytes_freed), (3, 8 + 2));
    })
    .await;
}

#[tokio::test]
async fn c213_a_rewrite_of_the_first_entry_makes_a_new_root_chain() {
    each_store(async |store| {
        let entries = vec![message("a", &user("one")), message("b", &assistant("two"))];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("a", &user("1"))]).await;
        let entries = store.entries().await.unwrap();
        assert_eq!(branch(&store).await, ["a", "b"]);
        assert_eq!(entries[0].parent(), None);
        assert_eq!(entries[1].parent(), Some(entries[0].id()));
        assert_ne!(entries[0].id().as_str(), "a");
        store
            .append(vec![message("c", &user("three"))])
            .await
            .unwrap();
        let newest = store.entries().await.unwrap();
        assert_eq!(newest[2].parent(), Some(entries[1].id()));
    })
    .await;
}

#[tokio::test]
async fn c214_a_label_points_to_the_new_id_of_its_target() {
    each_store(async |store| {
        let entries = vec![
            message("a", &user("one")),
            message("b", &assistant("two")),
            label("l", "b"),
            label("m", "a"),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("b", &assistant("2"))]).await;
        let entries = store.entries().await.unwrap();
        assert_eq!(
            field(&entries[2], "targetId").as_deref(),
            Some(entries[1].id().as_str())
        );
        assert_eq!(field(&entries[3], "targetId").as_deref(), Some("a"));
    })
    .await;
}

#[tokio::test]
async fn boundaries_and_branch_summaries_follow_the_entries_that_they_name() {
    each_store(async |store| {
        let summary = EntryBody::BranchSummary(BranchSummary {
            summary: "left".to_owned(),
            ..BranchSummary::default()
        });
        let entries = vec![
            message("a", &user("one")),
            message("b", &assistant("two")),
            entry("s", summary),
            reset("r", Some("b")),
            compaction("k", Some("a")),
            compaction("n", None),
        ];
        store.append(entries).await.unwrap();
        let before = store.log().await.unwrap();
        rewrite(&store, &[("b", &assistant("2"))]).await;
        let entries = store.entries().await.unwrap();
        let id = |place: usize| entries[place].id().as_str();
        let named = |place: usize, key| field(&entries[place], key).unwrap();
        assert_eq!(named(2, "fromId"), id(1));
        assert_eq!(named(3, "firstKeptEntryId"), id(1));
        assert_eq!(named(4, "firstKeptEntryId"), "a");
        assert_eq!(named(5, "firstKeptEntryId"), id(5), "keeps nothing");
        // The payload that stands for the summary names a lineage, so that it did not change.
        let after = store.log().await.unwrap();
        assert_eq!(before.get(1), after.get(1));
        assert!(
            String::from_utf8_lossy(after.get(1).unwrap().payload()).contains(r#""fromId":"b""#)
        );
    })
    .await;
}

#[tokio::test]
async fn c218_an_entry_that_the_guard_does_not_allow_stops_everything() {
    each_store(async |store| {
        let entries = vec![
            message("a", &user("one")),
            message("b", &user("two")),
            label("l", "b"),
            message("c", &user("three")),
        ];
        store.append(entries).await.unwrap();
        let before = natives(&store).await;
        let guarded = async |allowed: &[&str]| {
            let request = RewriteEntries {
                allowed_suffix: Some(allowed.iter().copied().map(EntryId::from).collect()),
                ..replace(&[("b", &user("2"))])
            };
            store.rewrite(request, RewriteTerms::at(NOW)).await.unwrap()
        };
        for allowed in [&["b"][..], &["c"], &[]] {
            let done = guarded(allowed).await;
            assert_eq!(
                unchanged(&done),
                Some("rewrite suffix guard failed"),
                "{allowed:?}"
            );
            assert_eq!(natives(&store).await, before);
        }
        // A label's id is nothing that an engine could have listed.
        assert!(guarded(&["c", "b"]).await.changed);
    })
    .await;
}

#[tokio::test]
async fn entries_are_copied_byte_for_byte() {
    let odd = r#"{"role":"x","n":1e400,"s":"\ud83d","a":1,"a":{ "deep" : [ null ] },"é":NaN}"#;
    each_store(async |store| {
        let custom = EntryBody::Custom {
            custom_type: "x".to_owned(),
            data: Some(r#"{ "id":"c", "n":1E+2 }"#.into()),
        };
        let entries = vec![
            message("a", &user("one")),
            message("b", odd),
            entry("c", custom),
        ];
        store.append(entries).await.unwrap();
        let first = store.entries().await.unwrap();
        rewrite(&store, &[("a", odd)]).await;
        let again = store.entries().await.unwrap();
        assert_eq!(log(&store).await[0].1, odd);
        assert_eq!(log(&store).await[1].1, odd);
        assert_eq!(again[2].timestamp_ms(), Some(NOW));
        let data = |entry: &Entry| {
            let fields = fields::Fields::scan(entry.json()).unwrap();
            fields.raw("data").map(<[u8]>::to_vec)
        };
        assert_eq!(data(&again[2]), data(&first[2]));
    })
    .await;
}

#[tokio::test]
async fn a_changed_branch_is_published_and_an_unchanged_one_is_not() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let mut changes = store.changes();
        let before = *changes.borrow_and_update();
        rewrite(&store, &[("b", "{}")]).await;
        assert!(!changes.has_changed().unwrap());
        let done = rewrite(&store, &[("a", &user("1"))]).await;
        let after = *changes.borrow_and_update();
        assert_eq!(after.head, done.head);
        assert_ne!(after.generation, before.generation);
        store
            .append(vec![message("c", &user("two"))])
            .await
            .unwrap();
        let appended = *changes.borrow_and_update();
        assert_eq!(
            (appended.head.count, appended.generation),
            (2, after.generation)
        );
    })
    .await;
}

#[tokio::test]
async fn a_rewrite_is_undone_by_going_back_to_the_old_leaf() {
    each_store(async |store| {
        let entries = vec![message("a", &user("one")), message("b", &assistant("two"))];
        store.append(entries).await.unwrap();
        let before = store.log().await.unwrap();
        rewrite(&store, &[("a", &user("1"))]).await;
        store.branch(Some(native("b")), NOW).await.unwrap();
        assert_eq!(store.log().await.unwrap(), before);
        assert_eq!(natives(&store).await, [native("a"), native("b")]);
    })
    .await;
}
