use std::fs;
use std::path::{Path, PathBuf};

use crate::session::{
    Format, HistoryView, Session, Strictness, Turn, View, read, read_chosen, read_from,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name)
}

fn session(name: &str) -> Session {
    read(&fixture(name), Strictness::Strict).unwrap()
}

fn payload(message: &crate::session::ContextMessage) -> String {
    String::from_utf8(message.payload().to_vec()).unwrap()
}

/// The messages of a view: their roles and ids.
fn ids(view: &View) -> String {
    let name = |message: &std::sync::Arc<crate::session::ContextMessage>| {
        let id = message.entry_id().unwrap_or("-");
        format!("{}:{id}", message.role())
    };
    view.messages().map(name).collect::<Vec<_>>().join(" ")
}

fn turns(session: &Session) -> Vec<String> {
    let text = |turn: &Turn| {
        let payload: serde_json::Value = serde_json::from_slice(turn.user.payload()).unwrap();
        payload["content"][0]["text"].as_str().unwrap().to_owned()
    };
    session.turns(HistoryView::Full).iter().map(text).collect()
}

fn shown(session: &Session) -> Vec<String> {
    session.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn a_rollout_is_found_out_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no-name-at-all");
    fs::copy(fixture("codex-rollout.jsonl"), &path).unwrap();
    let session = read(&path, Strictness::Strict).unwrap();
    assert_eq!(session.format(), Format::Codex);
    let header = session.header();
    assert_eq!(
        (header.id.as_deref(), header.cwd.as_deref(), header.version),
        (
            Some("0195f000-0000-7000-8000-00000000aaaa"),
            Some("/srv/ada/tides"),
            0
        )
    );
    assert_eq!(header.timestamp_ms, Some(1_772_355_600_000));
    let model = session.model().unwrap();
    assert_eq!((&*model.provider, &*model.id), ("acme", "gpt-demo"));
}

#[test]
fn only_what_a_person_said_begins_a_turn() {
    let session = session("codex-rollout.jsonl");
    assert_eq!(
        turns(&session),
        [
            "When is high tide? 🌊 潮",
            "And low tide?",
            "Thanks. Tomorrow?"
        ]
    );
    let first = &session.turns(HistoryView::Full)[0];
    assert_eq!(
        ids(&first.view),
        "custom:msg_dev custom:msg_env user:msg_u1"
    );
}

#[test]
fn the_items_of_a_response_are_one_message_in_openclaws_form() {
    let session = session("codex-rollout.jsonl");
    let view = session.view(HistoryView::Full);
    let answer = view.messages().nth(3).unwrap();
    assert_eq!(answer.entry_id(), Some("rs_1"));
    assert_eq!(
        payload(answer),
        concat!(
            r#"{"role":"assistant","content":["#,
            r#"{"type":"thinking","thinking":"Look at the table first.","thinkingSignature":"gAAAAB=="},"#,
            r#"{"type":"text","text":"I read the table and the clock."},"#,
            r#"{"type":"toolCall","id":"call_1","name":"exec_command","arguments":{"cmd":"cat tides.txt"}},"#,
            r#"{"type":"toolCall","id":"call_2","name":"apply_patch","arguments":{"input":"*** Begin Patch\n*** End Patch"}}],"#,
            r#""api":"openai-responses","provider":"acme","model":"gpt-demo","#,
            r#""usage":{"input":200,"output":40,"cacheRead":1000,"cacheWrite":0,"totalTokens":1240,"#,
            r#""cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"#,
            r#""stopReason":"toolUse","timestamp":1772355607000}"#
        )
    );
    let header = answer.message().header().clone();
    assert_eq!(header.tool_call_ids, ["call_1", "call_2"]);
    let result = view.messages().nth(4).unwrap();
    assert_eq!(
        payload(result),
        concat!(
            r#"{"role":"toolResult","toolCallId":"call_1","toolName":"exec_command","#,
            r#""content":[{"type":"text","text":"06:10 high\n12:20 low\n"}],"isError":false,"timestamp":1772355613000}"#
        )
    );
    assert_eq!(
        result.message().tool_result_for(),
        Some("call_1"),
        "an engine can pair them"
    );
}

#[test]
fn a_compaction_replaces_what_a_recorded_view_shows_and_nothing_of_the_full_one() {
    let session = session("codex-rollout.jsonl");
    let last = |history| ids(&session.turns(history)[2].view);
    assert_eq!(
        last(HistoryView::Recorded),
        "user:msg_u1 custom:- user:msg_u2 custom:- user:msg_u3"
    );
    assert_eq!(
        last(HistoryView::Full),
        "custom:msg_dev custom:msg_env user:msg_u1 assistant:rs_1 toolResult:fo_1 toolResult:co_1 \
         assistant:msg_a2 user:msg_u2 assistant:msg_a3 assistant:msg_sum user:msg_u3"
    );
    // What the compaction only kept is the very message.
    let [full, recorded] = [HistoryView::Full, HistoryView::Recorded].map(|history| {
        let view = &session.turns(history)[2].view;
        let kept = view.messages().find(|m| m.entry_id() == Some("msg_u1"));
        kept.unwrap().message().clone()
    });
    assert!(full.is_same_object(&recorded));
    let views = session.turns(HistoryView::Recorded);
    assert_eq!(
        views[2]
            .view
            .added_since(&views[1].view)
            .map(Iterator::count),
        None
    );
}

#[test]
fn a_fork_goes_on_where_its_parent_was_cut() {
    let fork = session("codex-fork.jsonl");
    assert_eq!(
        fork.header().id.as_deref(),
        Some("0195f000-0000-7000-8000-00000000bbbb")
    );
    assert_eq!(
        fork.header().parent_session.as_deref(),
        Some("0195f000-0000-7000-8000-00000000aaaa")
    );
    assert_eq!(
        turns(&fork),
        [
            "When is high tide? 🌊 潮",
            "In the fork: where?",
            "Never in the fork of the fork"
        ]
    );
    assert_eq!(fork.model().unwrap().id, "gpt-demo-2");
    let keys: std::collections::HashSet<u64> = fork
        .view(HistoryView::Full)
        .messages()
        .map(|message| message.key())
        .collect();
    assert_eq!(keys.len(), fork.view(HistoryView::Full).messages().count());
}

#[test]
fn a_fork_of_a_fork_goes_on_through_both() {
    assert_eq!(
        turns(&session("codex-fork-of-fork.jsonl")),
        [
            "When is high tide? 🌊 潮",
            "In the fork: where?",
            "In the fork of the fork"
        ]
    );
}

#[test]
fn a_fork_alone_is_read_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fork.jsonl");
    fs::copy(fixture("codex-fork.jsonl"), &path).unwrap();
    let fork = read(&path, Strictness::Lenient).unwrap();
    assert_eq!(
        turns(&fork),
        ["In the fork: where?", "Never in the fork of the fork"]
    );
    let missing = "line 1: the session `0195f000-0000-7000-8000-00000000aaaa` that this one goes \
                   on is not beside it; only what came after is here";
    assert_eq!(shown(&fork), [missing]);
    assert!(read(&path, Strictness::Strict).is_err());
    let piped = read_from(&fs::read(&path).unwrap()[..], Strictness::Lenient).unwrap();
    assert_eq!(shown(&piped), [missing]);
}

#[test]
fn a_parent_is_found_by_its_name_in_its_hosts_folders_packed_or_not() {
    let home = tempfile::tempdir().unwrap();
    let day = |tree: &str, day: &str| {
        let folder = home.path().join(tree).join("2026/03").join(day);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    let parent = day("archived_sessions", "01")
        .join("rollout-2026-03-01T09-00-00-0195f000-0000-7000-8000-00000000aaaa.jsonl.zst");
    let text = fs::read(fixture("codex-rollout.jsonl")).unwrap();
    let packed =
        ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
    fs::write(parent, packed).unwrap();
    let fork = day("sessions", "02").join("rollout-x.jsonl");
    fs::copy(fixture("codex-fork.jsonl"), &fork).unwrap();
    let fork = read(&fork, Strictness::Strict).unwrap();
    assert_eq!(turns(&fork).len(), 3);
}

#[test]
fn a_parent_that_is_damaged_ambiguous_or_too_short_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::copy(fixture("codex-fork.jsonl"), path("fork.jsonl")).unwrap();
    let parent = fs::read_to_string(fixture("codex-rollout.jsonl")).unwrap();
    let lines: Vec<&str> = parent.lines().collect();
    let id = "0195f000-0000-7000-8000-00000000aaaa";
    fs::write(
        path(&format!("rollout-1-{id}.jsonl")),
        format!(
            "{}\nbroken\n{}\n",
            lines[..4].join("\n"),
            lines[5..9].join("\n")
        ),
    )
    .unwrap();
    fs::write(path(&format!("rollout-2-{id}.jsonl")), &parent).unwrap();
    let fork = read(&path("fork.jsonl"), Strictness::Lenient).unwrap();
    assert_eq!(
        shown(&fork),
        [
            format!(
                "line 1: several files hold the session `{id}` that this one goes on; \
                 `rollout-1-{id}.jsonl` was read"
            ),
            format!(
                "line 5 of `rollout-1-{id}.jsonl`: not JSON (expected value, column 1); skipped"
            ),
            format!(
                "line 6 of `rollout-1-{id}.jsonl`: record 5 where 4 was due; records are missing \
                 or out of order"
            ),
            "line 1: the parent ends before record 9, where this session begins".to_owned(),
        ]
    );
}

#[test]
fn a_fork_of_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let meta = |id: &str, base: &str| {
        format!(
            r#"{{"timestamp":"2026-03-01T09:00:00.000Z","ordinal":5,"type":"session_meta","payload":{{"id":"{id}","history_base":{{"thread_id":"{base}","end_ordinal_exclusive":9}}}}}}"#
        )
    };
    fs::write(folder.path().join("a.jsonl"), meta("a", "b")).unwrap();
    fs::write(folder.path().join("b.jsonl"), meta("b", "a")).unwrap();
    let session = read(&folder.path().join("a.jsonl"), Strictness::Lenient).unwrap();
    assert!(
        shown(&session)[0].contains("of `b.jsonl`: a fork of itself"),
        "{:?}",
        shown(&session)
    );
}

#[test]
fn an_old_rollout_has_no_numbers_and_takes_back_turns() {
    let session = session("codex-old.jsonl");
    assert_eq!(turns(&session), ["first", "second", "third"]);
    let everything: Vec<_> = session.entries().filter_map(|e| e.message()).collect();
    assert_eq!(
        everything.len(),
        12,
        "the turn taken back is an abandoned branch"
    );
    let recorded = session.turns(HistoryView::Recorded);
    let heads: Vec<String> = recorded[2]
        .view
        .messages()
        .map(|message| payload(message))
        .collect();
    let user = |text: &str, second: u32| {
        let ms = 1_762_077_600_000_u64 + u64::from(second) * 1000;
        format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":{ms}}}"#
        )
    };
    assert_eq!(
        heads,
        [
            user("first", 5),
            user("second", 13),
            r#"{"role":"compactionSummary","summary":"They counted.","timestamp":1762077615000}"#
                .to_owned(),
            user("third", 16),
        ]
    );
    let view = session.view(HistoryView::Full);
    let call = view.messages().find(|m| m.role() == "assistant").unwrap();
    assert!(
        payload(call).contains(r#""usage":{"input":90,"output":9,"#),
        "{}",
        payload(call)
    );
}

#[test]
fn the_oldest_rollouts_hold_items_without_records() {
    let session = session("codex-bare.jsonl");
    assert_eq!(session.format(), Format::Codex);
    assert_eq!(turns(&session), ["hello"]);
    let view = session.view(HistoryView::Full);
    let roles: Vec<_> = view.messages().map(|m| m.role()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    let payloads: Vec<_> = view.messages().map(|m| payload(m)).collect();
    assert!(
        payloads[1].contains(r#""thinking":"A\n\nB""#),
        "{}",
        payloads[1]
    );
    assert!(
        payloads[1].contains(r#""id":"s1","name":"local_shell""#),
        "{}",
        payloads[1]
    );
    assert!(payloads[2].contains(r#""isError":true"#), "{}", payloads[2]);
}

#[test]
fn damaged_records_are_reported_with_their_lines_and_the_rest_is_read() {
    let at = r#""timestamp":"2026-03-01T09:00:00.000Z""#;
    let text = [
        format!(r#"{{{at},"type":"session_meta","payload":{{"id":"s"}}}}"#),
        "oops".to_owned(),
        format!(r#"{{{at},"type":"response_item","payload":7}}"#),
        format!(r#"{{{at},"type":"response_item","payload":{{"type":"message","role":"user"}}}}"#),
        format!(r#"{{{at},"type":"response_item","payload":{{"role":"user","content":"x"}}}}"#),
        format!(r#"{{{at},"type":"response_item","payload":{{"type":"function_call","name":"f"}}}}"#),
        format!(r#"{{{at},"type":"response_item","payload":{{"type":"new_thing"}}}}"#),
        format!(r#"{{{at},"type":"new_record","payload":{{"n":1}}}}"#),
        "{}".to_owned(),
        format!(r#"{{{at},"type":"response_item","payload":{{"type":"message","role":"user","content":"hi"}}}}"#),
        format!(r#"{{{at},"type":"response_item","payl"#),
    ]
    .join("\n");
    let session = read_from(text.as_bytes(), Strictness::Lenient).unwrap();
    assert_eq!(turns(&session), ["hi"]);
    assert_eq!(
        shown(&session),
        [
            "line 2: not JSON (expected value, column 1); skipped",
            "line 3: `response_item` entry without a usable `payload`; skipped",
            "line 4: `response_item/message` entry without a usable `content`; skipped",
            "line 5: `response_item` entry without a usable `type`; skipped",
            "line 6: `response_item/function_call` entry without a usable `call_id`; skipped",
            "line 9: an object without a `type`; skipped",
            "line 11: the file ends in the middle of this line; skipped",
        ]
    );
    let refused = read_from(text.as_bytes(), Strictness::Strict).unwrap_err();
    assert!(
        refused.to_string().contains("line 2: not JSON"),
        "{refused}"
    );
}

#[test]
fn a_session_that_is_not_in_the_file_is_refused() {
    let path = fixture("codex-rollout.jsonl");
    let error = read_chosen(&path, Some("other"), Strictness::Lenient).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no session `other` in it, it holds 0195f000-0000-7000-8000-00000000aaaa"
    );
}
