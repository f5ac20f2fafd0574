//! Rows of a suffix that say what an earlier one said (HOST-SEMANTICS 8.1, rule 7); the numbers are
//! its test cases.

use super::*;

#[tokio::test]
async fn c216_an_identical_user_row_is_kept_once_and_another_time_twice() {
    each_store(async |store| {
        let other_time = r#"{"role":"user","content":"ok","timestamp":2}"#;
        let entries = vec![
            message("a", &assistant("long")),
            message("b", &user("ok")),
            message("c", &user("ok")),
            message("d", other_time),
            label("l", "c"),
            compaction("k", Some("c")),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("a", &assistant("l"))]).await;
        assert_eq!(branch(&store).await, ["a", "b", "d", "l", "k"]);
        // Who named the dropped row names its twin.
        let entries = store.entries().await.unwrap();
        let twin = Some(entries[1].id().as_str().to_owned());
        assert_eq!(field(&entries[3], "targetId"), twin);
        assert_eq!(field(&entries[4], "firstKeptEntryId"), twin);
    })
    .await;
}

#[tokio::test]
async fn rows_before_the_first_match_are_no_twins() {
    each_store(async |store| {
        let entries = vec![
            message("a", &user("ok")),
            message("b", &assistant("long")),
            message("c", &user("ok")),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("b", &assistant("l"))]).await;
        assert_eq!(branch(&store).await, ["a", "b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn c217_identical_assistant_rows_results_and_custom_entries_are_kept() {
    each_store(async |store| {
        let custom = || EntryBody::Custom {
            custom_type: "x".to_owned(),
            data: None,
        };
        let entries = vec![
            message("a", &user("long")),
            message("b", &assistant("same")),
            message("c", &assistant("same")),
            message("d", &tool_result("same")),
            message("e", &tool_result("same")),
            entry("f", custom()),
            entry("g", custom()),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("a", &user("l"))]).await;
        assert_eq!(branch(&store).await, ["a", "b", "c", "d", "e", "f", "g"]);
    })
    .await;
}

#[tokio::test]
async fn an_identical_compaction_is_kept_once() {
    each_store(async |store| {
        let mut hooked = compaction("n", Some("b"));
        if let EntryBody::Compaction(compaction) = &mut hooked.body {
            compaction.from_hook = true;
        }
        let entries = vec![
            message("a", &user("long")),
            message("b", &assistant("one")),
            compaction("k", Some("b")),
            compaction("m", Some("b")),
            hooked,
            compaction("o", Some("a")),
            compaction("p", None),
            compaction("q", None),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("a", &user("l"))]).await;
        assert_eq!(branch(&store).await, ["a", "b", "k", "n", "o", "p"]);
    })
    .await;
}

#[tokio::test]
async fn compactions_that_keep_from_twins_are_twins() {
    each_store(async |store| {
        let entries = vec![
            message("a", &assistant("long")),
            message("b", &user("ok")),
            message("c", &user("ok")),
            compaction("k", Some("b")),
            compaction("m", Some("c")),
        ];
        store.append(entries).await.unwrap();
        rewrite(&store, &[("a", &assistant("l"))]).await;
        assert_eq!(branch(&store).await, ["a", "b", "k"]);
    })
    .await;
}
