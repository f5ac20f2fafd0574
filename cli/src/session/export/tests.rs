use std::path::{Path, PathBuf};

use super::*;
use crate::session::{Strictness, generate, read, read_chosen, read_from};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name)
}

fn written(session: &Session, target: Target) -> (String, Exported) {
    let mut out = Vec::new();
    let done = session.export(target, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), done)
}

/// The session that a host reads from what was written.
fn reread(session: &Session, target: Target) -> Session {
    read_from(written(session, target).0.as_bytes(), Strictness::Strict).unwrap()
}

/// Each turn's view, its payloads and whether it has ids of its own.
fn views(session: &Session, history: HistoryView) -> Vec<Vec<Bytes>> {
    let turns = session.turns(history);
    let payloads = turns
        .iter()
        .map(|turn| turn.view.messages().map(|m| m.payload().clone()).collect());
    payloads.collect()
}

fn ids(session: &Session) -> Vec<String> {
    let view = session.view(HistoryView::Full);
    let ids = view
        .messages()
        .map(|m| m.entry_id().unwrap_or("-").to_owned());
    ids.collect()
}

#[test]
fn a_tree_of_openclaw_is_written_byte_for_byte() {
    for name in ["tree-v2.jsonl", "tree-v3.jsonl", "tree-v4.jsonl"] {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        let session = read(&fixture(name), Strictness::Strict).unwrap();
        assert_eq!(written(&session, Target::OpenClaw).0, text, "{name}");
    }
    let rows = read_chosen(&fixture("rows.jsonl"), Some("tree-v4"), Strictness::Strict).unwrap();
    let lines = std::fs::read_to_string(fixture("tree-v4.jsonl")).unwrap();
    assert_eq!(written(&rows, Target::OpenClaw).0, lines);
}

#[test]
fn a_list_becomes_a_tree_with_the_same_conversation() {
    let list = read(&fixture("pi-v1.jsonl"), Strictness::Strict).unwrap();
    let (text, done) = written(&list, Target::OpenClaw);
    assert_eq!((done.lines, done.messages, done.losses.len()), (6, 5, 0));
    let mut lines = text.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with(r#"{"version":2,"type":"session","id":"pi-v1""#)
    );
    assert!(lines.next().unwrap().starts_with(
        r#"{"id":"00000000","parentId":null,"type":"message","timestamp":"2026-01-05T08:00:01.000Z","message":{"role":"user","content":"one"}}"#
    ));
    for target in [Target::OpenClaw, Target::Pi] {
        let tree = reread(&list, target);
        for history in [HistoryView::Full, HistoryView::Recorded] {
            assert_eq!(views(&tree, history), views(&list, history));
        }
    }
}

#[test]
fn every_format_keeps_its_conversation_in_every_entry_file() {
    for name in [
        "tree-v2.jsonl",
        "tree-v3.jsonl",
        "tree-v4.jsonl",
        "codex-rollout.jsonl",
        "codex-fork.jsonl",
        "codex-old.jsonl",
        "codex-bare.jsonl",
    ] {
        let session = read(&fixture(name), Strictness::Strict).unwrap();
        let tree = reread(&session, Target::OpenClaw);
        let full = HistoryView::Full;
        assert_eq!(views(&tree, full), views(&session, full), "{name}");
        assert_eq!(tree.model(), session.model(), "{name}");
        if session.format() == Format::Codex {
            let made_up = |id: &String| id.len() == 8;
            for (written, own) in ids(&tree).iter().zip(ids(&session)) {
                assert!(
                    *written == own || (own == "-" && made_up(written)),
                    "{name}"
                );
            }
        } else {
            assert_eq!(ids(&tree), ids(&session), "{name}");
        }
    }
}

#[test]
fn pages_become_lines() {
    let pages = read(&fixture("pages.json"), Strictness::Strict).unwrap();
    let tree = reread(&pages, Target::OpenClaw);
    assert_eq!(ids(&tree), ["p1", "p2", "p3"]);
    assert_eq!(tree.turns(HistoryView::Full).len(), 2);
}

#[test]
fn a_branch_that_was_taken_back_stays_one() {
    let old = read(&fixture("codex-old.jsonl"), Strictness::Strict).unwrap();
    let tree = reread(&old, Target::OpenClaw);
    let messages = |session: &Session| session.entries().filter(|e| e.message().is_some()).count();
    // The compaction's summary is a message of the entry that it has become.
    assert_eq!(messages(&tree), messages(&old) + 1);
}

#[test]
fn what_a_target_has_no_equal_for_is_said() {
    let tree = read(&fixture("tree-v4.jsonl"), Strictness::Strict).unwrap();
    assert_eq!(written(&tree, Target::OpenClaw).1.losses, [] as [&str; 0]);
    assert_eq!(written(&tree, Target::Pi).1.losses, [RESET]);
    let codex = read(&fixture("codex-rollout.jsonl"), Strictness::Strict).unwrap();
    assert_eq!(written(&codex, Target::OpenClaw).1.losses, [REPLACEMENT]);
}

#[test]
fn for_pi_the_conversation_ends_at_the_end_of_the_file() {
    let head = r#"{"type":"session","version":4,"id":"s"}"#;
    let user = |id: &str, parent: &str, more: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user"}}{more}}}"#
        )
    };
    let side = r#","appendMode":"side""#;
    let text = [
        head.to_owned(),
        user("a", "null", ""),
        user("s", "\"a\"", side),
        user("b", "\"s\"", ""),
        user("t", "\"b\"", side),
    ]
    .join("\n");
    let session = read_from(text.as_bytes(), Strictness::Strict).unwrap();
    assert_eq!(ids(&session), ["a", "b"]);
    let (text, _) = written(&session, Target::Pi);
    // Read as pi does, which knows nothing of entries beside the conversation.
    let plain = text.replace(side, "");
    let pi = read_from(plain.as_bytes(), Strictness::Strict).unwrap();
    assert_eq!(ids(&pi), ["a", "b"]);
}

#[test]
fn damage_in_the_envelope_is_mended() {
    let text = concat!(
        r#"{"type":"session","version":3,"id":"s"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":"lost","message":{"role":"user"}}"#,
        "\n",
        r#"{"type":"message","parentId":"a","message":{"role":"user"}}"#,
        "\n",
        r#"{"type":"message","id":"c","parentId":7,"message":{"role":"user"}}"#,
        "\n",
    );
    let session = read_from(text.as_bytes(), Strictness::Lenient).unwrap();
    assert_eq!(session.problems().len(), 3);
    let tree = reread(&session, Target::OpenClaw);
    assert_eq!(
        views(&tree, HistoryView::Full),
        views(&session, HistoryView::Full)
    );
}

#[test]
fn bare_messages_are_the_payloads_of_the_conversation() {
    let session = read_from(generate(3, 5).as_bytes(), Strictness::Strict).unwrap();
    let (text, done) = written(&session, Target::Messages);
    let view = session.view(HistoryView::Full);
    let payloads: Vec<&[u8]> = view.messages().map(|m| m.payload().as_ref()).collect();
    let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    assert_eq!(lines, payloads);
    assert_eq!(
        (done.lines, done.messages),
        (lines.len() as u64, lines.len() as u64)
    );
}

#[test]
fn a_compaction_whose_first_kept_line_is_damaged_keeps_nothing_when_reread() {
    let text = std::fs::read_to_string(fixture("pi-v1.jsonl")).unwrap();
    for line in 1..text.lines().count() {
        let damage = |(at, text): (usize, &str)| {
            let keep = if at == line { 3 } else { 0 };
            format!(
                "{}{}\n",
                "   ".get(..keep).unwrap(),
                text.get(keep..).unwrap()
            )
        };
        let damaged: String = text.lines().enumerate().map(damage).collect();
        is_the_same_when_reread(damaged.as_bytes());
    }
}

/// Whatever a file says, what is written of it is whole and the same conversation.
fn is_the_same_when_reread(text: &[u8]) {
    let Ok(session) = read_from(text, Strictness::Lenient) else {
        return;
    };
    let written_text = written(&session, Target::OpenClaw).0;
    let tree = read_from(written_text.as_bytes(), Strictness::Lenient).unwrap();
    let mut problems = tree.problems().iter();
    assert!(
        problems.all(|problem| problem.outcome == crate::session::Outcome::Kept),
        "{:?}",
        tree.problems()
    );
    let full = HistoryView::Full;
    assert_eq!(views(&tree, full), views(&session, full));
    if session.format() != Format::Codex {
        let recorded = HistoryView::Recorded;
        assert_eq!(views(&tree, recorded), views(&session, recorded));
    }
    written(&session, Target::Pi);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_session_is_written_whole(
        at in proptest::prelude::any::<proptest::sample::Index>(),
        byte in proptest::prelude::any::<u8>(),
    ) {
        let names = ["codex-rollout.jsonl", "codex-old.jsonl", "tree-v4.jsonl", "pi-v1.jsonl"];
        for name in names {
            let mut text = std::fs::read(fixture(name)).unwrap();
            let at = at.index(text.len());
            text[at] = byte;
            is_the_same_when_reread(&text);
            is_the_same_when_reread(&text[..at]);
        }
    }
}
