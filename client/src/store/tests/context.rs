//! The log and a model's context (HOST-SEMANTICS 1.8); the numbers are its test cases.

use super::*;

const SUMMARY: &str =
    r#"{"role":"compactionSummary","summary":"so far","tokensBefore":7,"timestamp":1796047450469}"#;

async fn context(store: &AnyStore) -> Vec<(String, String)> {
    pairs(&store.context().await.unwrap())
}

fn pair(id: &str, payload: &str) -> (String, String) {
    (id.to_owned(), payload.to_owned())
}

fn three() -> Vec<NewEntry> {
    vec![
        message("a", &user("1")),
        message("b", &assistant("2")),
        message("c", &user("3")),
    ]
}

#[tokio::test]
async fn c350_a_model_sees_the_summary_then_what_was_kept_then_what_came_later() {
    each_store(async |store| {
        store.append(three()).await.unwrap();
        store
            .append(vec![compaction("k", Some("c"))])
            .await
            .unwrap();
        let first = vec![pair("k", SUMMARY), pair("c", &user("3"))];
        assert_eq!(context(&store).await, first);
        store
            .append(vec![message("d", &assistant("4"))])
            .await
            .unwrap();
        let expected = [first, vec![pair("d", &assistant("4"))]].concat();
        assert_eq!(context(&store).await, expected);
        // The log has everything and no summary: it is an engine's business what to leave out.
        assert_eq!(ids(&store.log().await.unwrap()), ["a", "b", "c", "d"]);
    })
    .await;
}

#[tokio::test]
async fn c351_an_unknown_first_kept_entry_keeps_nothing() {
    let line = |rest: &str| format!(r#"{{"parentId":null,"timestamp":"",{rest}}}"#);
    let file = [
        r#"{"type":"session","version":3,"id":"main"}"#.to_owned(),
        line(r#""type":"message","id":"a","message":{"role":"user"}"#),
        line(r#""type":"compaction","id":"k","summary":"s","firstKeptEntryId":"gone""#)
            .replace("null", "\"a\""),
        line(r#""type":"message","id":"b","message":{"role":"user"}"#).replace("null", "\"k\""),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    std::fs::write(&path, file.join("\n")).unwrap();
    let store = AnyStore::new(JsonlStore::open(path, options()).await.unwrap());
    let summary = r#"{"role":"compactionSummary","summary":"s","timestamp":0}"#;
    assert_eq!(
        context(&store).await,
        [pair("k", summary), pair("b", r#"{"role":"user"}"#)]
    );
}

#[tokio::test]
async fn c352_what_is_excluded_and_what_is_custom_is_not_in_the_context() {
    let hidden = r#"{"role":"bashExecution","command":"ls","excludeFromContext":true}"#;
    each_store(async |store| {
        let custom = EntryBody::Custom {
            custom_type: "x".to_owned(),
            data: Some("1".into()),
        };
        let shown = EntryBody::CustomMessage {
            custom_type: "x".to_owned(),
            content: r#""hi""#.into(),
            details: Some("[1]".into()),
            display: false,
        };
        let entries = vec![message("a", hidden), entry("b", custom), entry("c", shown)];
        store.append(entries).await.unwrap();
        let shown = r#"{"role":"custom","customType":"x","content":"hi","display":false,"details":[1],"timestamp":1796047450469}"#;
        assert_eq!(context(&store).await, [pair("c", shown)]);
        assert_eq!(log(&store).await, [pair("a", hidden), pair("c", shown)]);
    })
    .await;
}

#[tokio::test]
async fn a_reset_shows_no_summary_and_what_it_kept_even_where_that_is_excluded() {
    let hidden = r#"{"role":"bashExecution","command":"ls","excludeFromContext":true}"#;
    each_store(async |store| {
        let entries = vec![
            message("a", &user("1")),
            message("b", hidden),
            message("c", &user("3")),
            reset("r", Some("b")),
            message("d", hidden),
            message("e", &user("5")),
        ];
        store.append(entries).await.unwrap();
        assert_eq!(ids(&store.context().await.unwrap()), ["b", "c", "e"]);
        // The log starts anew as well, or an engine would bring back what the user put away.
        assert_eq!(ids(&store.log().await.unwrap()), ["b", "c", "d", "e"]);
        store.append(vec![reset("s", None)]).await.unwrap();
        assert!(store.context().await.unwrap().is_empty());
        assert!(store.log().await.unwrap().is_empty());
        store.append(vec![message("f", &user("6"))]).await.unwrap();
        assert_eq!(ids(&store.log().await.unwrap()), ["f"]);
    })
    .await;
}

#[tokio::test]
async fn the_last_boundary_counts_and_an_older_one_comes_to_light_on_an_older_branch() {
    each_store(async |store| {
        store.append(three()).await.unwrap();
        store
            .append(vec![reset("r", Some("c")), message("d", &user("4"))])
            .await
            .unwrap();
        store
            .append(vec![compaction("k", Some("d"))])
            .await
            .unwrap();
        assert_eq!(ids(&store.context().await.unwrap()), ["k", "d"]);
        assert_eq!(ids(&store.log().await.unwrap()), ["c", "d"]);
        store.branch(Some(native("d")), NOW).await.unwrap();
        assert_eq!(ids(&store.context().await.unwrap()), ["c", "d"]);
        store.branch(Some(native("b")), NOW).await.unwrap();
        assert_eq!(ids(&store.context().await.unwrap()), ["a", "b"]);
        assert_eq!(ids(&store.log().await.unwrap()), ["a", "b"]);
        store.branch(None, NOW).await.unwrap();
        assert!(store.log().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_branch_summary_is_a_message_unless_it_is_empty() {
    each_store(async |store| {
        let summary = |id, text: &str| {
            let summary = text.to_owned();
            let body = BranchSummary {
                summary,
                ..BranchSummary::default()
            };
            entry(id, EntryBody::BranchSummary(body))
        };
        store.append(vec![summary("r", "root")]).await.unwrap();
        store.append(vec![message("a", &user("1")), summary("s", "left")]).await.unwrap();
        store.append(vec![summary("t", "")]).await.unwrap();
        let payload = |text: &str, from: &str| {
            format!(r#"{{"role":"branchSummary","summary":"{text}","fromId":"{from}","timestamp":{NOW}}}"#)
        };
        let expected = [
            pair("r", &payload("root", "root")),
            pair("a", &user("1")),
            pair("s", &payload("left", "a")),
        ];
        assert_eq!(context(&store).await, expected);
    })
    .await;
}

#[tokio::test]
async fn entries_beside_the_conversation_are_part_of_neither_list() {
    each_store(async |store| {
        store.append(vec![message("a", &user("1"))]).await.unwrap();
        store
            .append(vec![message("x", &user("beside")).aside()])
            .await
            .unwrap();
        store.append(vec![message("b", &user("2"))]).await.unwrap();
        let changes = store.changes();
        store.append(vec![reset("r", None).aside()]).await.unwrap();
        assert!(!changes.has_changed().unwrap());
        assert_eq!(branch(&store).await, ["a", "b"]);
        assert_eq!(ids(&store.log().await.unwrap()), ["a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn items_of_a_view_name_their_log_entries_and_those_of_the_log_do_not() {
    each_store(async |store| {
        store.append(three()).await.unwrap();
        store
            .append(vec![compaction("k", Some("c"))])
            .await
            .unwrap();
        let context = store.context().await.unwrap();
        let named: Vec<_> = context
            .iter()
            .map(|item| item.log_entry_id().cloned())
            .collect();
        assert_eq!(named, [None, Some("c".into())]);
        let log = store.log().await.unwrap();
        assert!(log.iter().all(|message| message.log_entry_id().is_none()));
        assert_eq!(
            context.get(1).map(Message::digest),
            log.get(2).map(Message::digest)
        );
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_entry_is_stored_as_hosts_write_it() {
    let bodies = [
        (
            EntryBody::ThinkingLevelChange {
                level: "off".to_owned(),
            },
            r#""type":"thinking_level_change""#,
            r#","thinkingLevel":"off"}"#,
        ),
        (
            EntryBody::ModelChange {
                provider: "p".to_owned(),
                model_id: "m".to_owned(),
            },
            r#""type":"model_change""#,
            r#","provider":"p","modelId":"m"}"#,
        ),
        (
            EntryBody::Label {
                target: "a".into(),
                label: None,
            },
            r#""type":"label""#,
            r#","targetId":"a"}"#,
        ),
        (
            EntryBody::SessionInfo {
                name: Some("n\"".to_owned()),
            },
            r#""type":"session_info""#,
            r#","name":"n\""}"#,
        ),
        (
            EntryBody::Reset {
                reason: ResetReason::CronStale,
                first_kept: None,
            },
            r#""type":"reset""#,
            r#","reason":"cron-stale"}"#,
        ),
    ];
    each_store(async |store| {
        store.append(vec![message("a", &user("1"))]).await.unwrap();
        for (body, start, end) in &bodies {
            store
                .append(vec![NewEntry::new(body.clone(), NOW)])
                .await
                .unwrap();
            let entries = store.entries().await.unwrap();
            let line = String::from_utf8(entries.last().unwrap().json().to_vec()).unwrap();
            assert!(line.starts_with(&format!("{{{start}")), "{line}");
            assert!(line.ends_with(end), "{line}");
        }
    })
    .await;
}
