//! One fixture of each format, found out by its content.

use std::fs;
use std::path::{Path, PathBuf};

use crate::session::{Format, HistoryView, Session, Strictness, read, read_chosen, read_from};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name)
}

fn roles(session: &Session, history: HistoryView) -> String {
    let view = session.view(history);
    let roles: Vec<_> = view.messages().map(|message| message.role()).collect();
    roles.join(" ")
}

#[test]
fn every_format_is_told_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, version) in [
        ("pi-v1.jsonl", Format::Lines, 1),
        ("tree-v2.jsonl", Format::Lines, 2),
        ("tree-v3.jsonl", Format::Lines, 3),
        ("tree-v4.jsonl", Format::Lines, 4),
        ("pages.json", Format::Pages, 0),
        ("codex-rollout.jsonl", Format::Codex, 0),
        ("codex-old.jsonl", Format::Codex, 0),
        ("codex-bare.jsonl", Format::Codex, 0),
    ] {
        let nameless = folder.path().join("session");
        fs::copy(fixture(name), &nameless).unwrap();
        let session = read(&nameless, Strictness::Strict).unwrap();
        assert_eq!(
            (session.format(), session.header().version),
            (format, version),
            "{name}"
        );
        assert!(!session.turns(HistoryView::Full).is_empty(), "{name}");
    }
}

#[test]
fn the_same_conversation_reads_the_same_in_every_version_of_the_tree() {
    let full = "user assistant toolResult assistant custom user";
    let cases = [
        (
            "tree-v2.jsonl",
            full,
            "compactionSummary assistant custom user",
        ),
        (
            "tree-v3.jsonl",
            "user assistant toolResult assistant custom branchSummary user",
            "compactionSummary assistant custom branchSummary user",
        ),
        ("tree-v4.jsonl", "user user", "user user"),
    ];
    for (name, full, recorded) in cases {
        let session = read(&fixture(name), Strictness::Strict).unwrap();
        assert_eq!(roles(&session, HistoryView::Full), full, "{name}");
        assert_eq!(roles(&session, HistoryView::Recorded), recorded, "{name}");
    }
    let session = read(&fixture("pi-v1.jsonl"), Strictness::Strict).unwrap();
    assert_eq!(
        roles(&session, HistoryView::Recorded),
        "compactionSummary user assistant user"
    );
}

#[test]
fn a_session_of_a_row_export_can_be_chosen() {
    let path = fixture("rows.jsonl");
    let first = read(&path, Strictness::Lenient).unwrap();
    assert_eq!(first.format(), Format::Rows);
    assert_eq!(first.header().id.as_deref(), Some("tree-v4"));
    assert_eq!(first.problems().len(), 2, "the rows of the child");
    let child = read_chosen(&path, Some("child"), Strictness::Strict).unwrap();
    assert_eq!(child.turns(HistoryView::Full).len(), 1);
    let error = read_chosen(&path, Some("x"), Strictness::Lenient).unwrap_err();
    assert!(
        error.to_string().starts_with("no session `x` in it"),
        "{error}"
    );
}

#[test]
fn pages_follow_one_another_and_keep_their_payloads() {
    let session = read(&fixture("pages.json"), Strictness::Strict).unwrap();
    assert_eq!(roles(&session, HistoryView::Full), "user assistant user");
    let view = session.view(HistoryView::Full);
    let first = view.messages().next().unwrap();
    assert_eq!((first.entry_id(), first.line()), (Some("p1"), 7));
    let text = fs::read_to_string(fixture("pages.json")).unwrap();
    let payload = std::str::from_utf8(first.payload()).unwrap();
    assert!(!payload.contains('\n'), "it can be stored in a line");
    assert!(text.replace('\n', " ").contains(payload));
    let cut = read_from(&text.as_bytes()[..text.len() - 40], Strictness::Lenient).unwrap();
    assert_eq!(roles(&cut, HistoryView::Full), "user assistant");
    assert!(cut.problems()[0].to_string().contains("ends in the middle"));
}

#[test]
fn a_packed_file_reads_as_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["pi-v1.jsonl", "codex-rollout.jsonl"] {
        let text = fs::read(fixture(name)).unwrap();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let packed = folder.path().join("packed");
        fs::write(&packed, ruzstd::encoding::compress_to_vec(&text[..], level)).unwrap();
        let packed = read(&packed, Strictness::Strict).unwrap();
        let plain = read(&fixture(name), Strictness::Strict).unwrap();
        assert_eq!(packed.size(), plain.size());
        assert_eq!(
            roles(&packed, HistoryView::Full),
            roles(&plain, HistoryView::Full)
        );
    }
}
