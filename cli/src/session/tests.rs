use std::fs;

use super::*;

mod formats;
mod property;
mod recorded;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#;

fn read_text(text: &str) -> Session {
    read_from(text.as_bytes(), Strictness::Lenient).unwrap()
}

/// A tree of user messages, one a line: `id<parent`, `-` for no parent, `!` for a `leaf` entry
/// whose target follows, `~` for an entry beside the conversation.
fn tree(script: &str) -> Session {
    let mut text = format!("{HEADER}\n");
    let reference = |id: &str| match id {
        "-" => "null".to_owned(),
        id => format!("\"{id}\""),
    };
    for word in script.split_whitespace() {
        let (id, rest) = word.split_once('<').unwrap();
        let line = match rest.split_once(['!', '~']) {
            Some((parent, target)) if rest.contains('!') => {
                let (target, append) = target.split_once(',').unwrap_or((target, target));
                format!(
                    r#"{{"type":"leaf","id":"{id}","parentId":{},"targetId":{},"appendParentId":{}}}"#,
                    reference(parent),
                    reference(target),
                    reference(append)
                )
            }
            beside => {
                let side = if beside.is_some() {
                    r#","appendMode":"side""#
                } else {
                    ""
                };
                let parent = reference(rest.trim_end_matches('~'));
                format!(
                    r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user"}}{side}}}"#
                )
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    read_text(&text)
}

fn branch(session: &Session) -> String {
    session
        .active_branch()
        .map(|entry| entry.id().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

fn shown(session: &Session) -> Vec<String> {
    session.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn the_last_entry_of_the_file_ends_the_active_branch() {
    assert_eq!(branch(&tree("a<- b<a c<b")), "a b c");
    assert_eq!(branch(&tree("a<- b<a c<a d<c")), "a c d");
}

#[test]
fn turns_of_an_abandoned_branch_are_not_replayed() {
    let session = tree("a<- b<a c<a");
    let users: Vec<_> = session
        .turns(HistoryView::Full)
        .iter()
        .map(|turn| turn.user.line())
        .collect();
    assert_eq!(users, [2, 4]);
    assert_eq!(session.entries().count(), 3);
}

#[test]
fn a_leaf_entry_moves_the_end_of_the_branch() {
    assert_eq!(branch(&tree("a<- b<a l<b!a")), "a");
    assert_eq!(branch(&tree("a<- b<a l<b!a c<a")), "a c");
    assert_eq!(branch(&tree("a<- b<a l<b!a c<l")), "a c");
    assert_eq!(branch(&tree("a<- b<a l<b!-")), "");
}

#[test]
fn an_append_cursor_apart_from_the_leaf_continues_the_leaf() {
    assert_eq!(branch(&tree("a<- b<a l<b!a,b c<b")), "a c");
}

#[test]
fn entries_beside_the_conversation_are_not_part_of_it() {
    let session = tree("a<- s<a~ b<s");
    assert_eq!(branch(&session), "a b");
    assert_eq!(shown(&session), [] as [&str; 0]);
}

#[test]
fn a_leaf_that_points_nowhere_is_reported_and_ignored() {
    let session = tree("a<- b<a l<b!nowhere c<l");
    assert_eq!(branch(&session), "a b c");
    assert_eq!(
        shown(&session),
        ["line 4: `leaf` points to no earlier entry; ignored"]
    );
}

#[test]
fn an_unknown_parent_is_reported_and_the_conversation_goes_on() {
    let session = tree("a<- b<a c<lost d<c");
    assert_eq!(branch(&session), "a b c d");
    assert_eq!(
        shown(&session),
        ["line 4: parent `lost` is not in the file; read as a continuation"]
    );
}

#[test]
fn cycles_are_reported_and_end() {
    let session = tree("a<- b<b c<d d<c");
    assert_eq!(branch(&session), "a b c d");
    assert_eq!(
        shown(&session),
        [
            "line 3: parent `b` is not before this line; read as a continuation",
            "line 4: parent `d` is not before this line; read as a continuation"
        ]
    );
}

#[test]
fn the_first_of_two_entries_with_one_id_counts() {
    let session = tree("a<- b<a b<b c<b");
    assert_eq!(branch(&session), "a b c");
    assert_eq!(
        shown(&session),
        ["line 4: entry id `b` is already on line 3; skipped"]
    );
}

#[test]
fn a_foreign_entry_in_the_chain_breaks_nothing() {
    let text = format!(
        "{HEADER}\n{}\n{}\n{}\n",
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
        r#"{"type":"new_thing","id":"n","parentId":"a"}"#,
        r#"{"type":"message","id":"b","parentId":"n","message":{"role":"user"}}"#,
    );
    let session = read_text(&text);
    assert_eq!(branch(&session), "a b");
    assert_eq!(shown(&session), [] as [&str; 0]);
}

#[test]
fn damaged_lines_are_reported_with_their_numbers_and_the_rest_is_read() {
    let mut text = format!("{HEADER}\n\n").into_bytes();
    for line in [
        &br#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#[..],
        b"{\"type\":\"message\",\"id\":\"b\", oops",
        b"[1,2,3]",
        b"{\"no\":\"type\"}",
        b"{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"message\":null}",
        b"{\"type\":\"custom\",\"x\":\"\xff\"}",
        br#"{"type":"message","id":"d","parentId":"c","message":{"role":"user"}}"#,
        br#"{"type":"session","id":"again"}"#,
    ] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(br#"{"type":"message","id":"e","parentId":"d","mess"#);
    let session = read_from(&text[..], Strictness::Lenient).unwrap();
    assert_eq!(branch(&session), "a d");
    assert_eq!(
        shown(&session),
        [
            "line 4: not JSON (key must be a string, column 29); skipped",
            "line 5: JSON, but not an object; skipped",
            "line 6: an object without a `type`; skipped",
            "line 7: `message` entry without a usable `message`; skipped",
            "line 7: parent `b` is not in the file; read as a continuation",
            "line 8: not UTF-8 (after 22 bytes); skipped",
            "line 10: a second `session` line; skipped",
            "line 11: the file ends in the middle of this line; skipped",
        ]
    );
    let refused = read_from(&text[..], Strictness::Strict).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("session file has 8 problem(s): line 4: not JSON")
    );
}

#[test]
fn a_version_1_session_counts_its_lines_from_the_header() {
    // The header is line 0 of `firstKeptEntryIndex`; damaged lines do not count, other JSON does.
    let text = [
        r#"{"type":"session","id":"s"}"#,
        r#"{"type":"message","message":{"role":"user","n":1}}"#,
        r"broken",
        r"17",
        r#"{"type":"message","message":{"role":"user","n":3}}"#,
        r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":3,"tokensBefore":1}"#,
        r#"{"type":"message","message":{"role":"user","n":5}}"#,
    ]
    .join("\n");
    let session = read_text(&text);
    let lines: Vec<_> = session
        .view(HistoryView::Recorded)
        .messages()
        .map(|message| message.line())
        .collect();
    assert_eq!(lines, [6, 5, 7]);
    assert!(session.entries().all(|entry| entry.id().is_none()));
}

#[test]
fn a_version_1_index_of_the_header_or_beyond_the_file_keeps_nothing() {
    for index in [0, 2, 99] {
        let text = format!(
            "{HEADER}\n{}\n{{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":{index}}}\n",
            r#"{"type":"message","message":{"role":"user"}}"#
        );
        let session = read_text(&text);
        assert_eq!(session.view(HistoryView::Recorded).messages().count(), 1);
        assert_eq!(
            shown(&session),
            [format!(
                "line 3: first kept entry `{index}` is not before this line; keeps nothing"
            )]
        );
    }
}

#[test]
fn a_session_without_a_header_is_read_and_reported() {
    let session = read_text(r#"{"type":"message","message":{"role":"user"}}"#);
    assert_eq!(session.header(), &Header::default());
    assert_eq!(session.turns(HistoryView::Full).len(), 1);
    assert_eq!(
        shown(&session),
        ["line 1: no `session` line before this one"]
    );
}

#[test]
fn a_header_alone_is_a_session_without_turns() {
    let session = read_text(HEADER);
    assert!(session.turns(HistoryView::Full).is_empty());
    assert_eq!(session.view(HistoryView::Recorded).messages().count(), 0);
    assert_eq!(session.header().cwd.as_deref(), Some("/w"));
    assert_eq!(session.model(), None);
}

#[test]
fn a_newer_version_is_reported() {
    let session = read_text(r#"{"type":"session","version":9,"id":"s"}"#);
    assert_eq!(
        shown(&session),
        ["line 1: format version 9 is newer than this reader"]
    );
}

#[test]
fn the_model_is_the_newest_one_of_the_branch() {
    let change = r#"{"type":"model_change","provider":"p","modelId":"m1"}"#;
    let answer = r#"{"type":"message","message":{"role":"assistant","provider":"p","model":"m2"}}"#;
    let model = |lines: &[&str]| {
        let model = read_text(&format!("{HEADER}\n{}", lines.join("\n"))).model();
        model.map(|model| model.id)
    };
    assert_eq!(model(&[change, answer]).as_deref(), Some("m2"));
    assert_eq!(model(&[answer, change]).as_deref(), Some("m1"));
}

#[test]
fn files_of_other_kinds_are_told_what_they_look_like() {
    let folder = tempfile::tempdir().unwrap();
    let told = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        read(&path, Strictness::Lenient).unwrap_err().to_string()
    };
    assert_eq!(
        told("empty", b""),
        "not a session file of OpenClaw, pi or Codex, it looks like an empty file; pick a file that \
         holds a conversation"
    );
    assert!(told("db", b"SQLite format 3\0rest").starts_with("database is damaged"));
    let piped = read_from(&b"SQLite format 3\0rest"[..], Strictness::Lenient).unwrap_err();
    assert!(
        piped
            .to_string()
            .contains("an SQLite database; a database is read from its file")
    );
    assert!(told("gz", b"\x1f\x8b\x08rest").contains("a gzip archive; unpack it with `gunzip`"));
    assert!(told("txt", &b"dear diary\n".repeat(100_000)).contains("looks like plain text"));
    assert!(told("bin", &vec![0; 200_000]).contains("looks like a binary file"));
    let directory = read(folder.path(), Strictness::Lenient)
        .unwrap_err()
        .to_string();
    assert!(
        directory.contains("looks like a directory; name one `.jsonl` file"),
        "{directory}"
    );
    let missing = read(&folder.path().join("missing"), Strictness::Lenient).unwrap_err();
    assert!(matches!(missing, ReadError::Io(_)));
}

#[test]
fn garbage_before_the_first_entry_does_not_hide_a_session() {
    let session = read_text(&format!("garbage\n{HEADER}\n"));
    assert_eq!(session.header().id.as_deref(), Some("s"));
    assert_eq!(
        shown(&session),
        ["line 1: not JSON (expected value, column 1); skipped"]
    );
}

#[test]
fn rows_of_one_session_are_read_and_those_of_others_reported() {
    let row = |session: &str, event: &str| {
        format!("{{\"session_id\":\"{session}\",\"event\":{event}}}\n")
    };
    let user = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user"}}}}"#
        )
    };
    let text = row("s1", r#"{"type":"session","version":4,"id":"s1"}"#)
        + &row("s1", &user("a", "null"))
        + &row("s2", r#"{"type":"session","version":4,"id":"s2"}"#)
        + &row("s1", &user("b", "\"a\""));
    let session = read_text(&text);
    assert_eq!(branch(&session), "a b");
    assert_eq!(shown(&session), ["line 3: a row of session `s2`; skipped"]);
}
