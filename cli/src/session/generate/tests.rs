use std::collections::HashSet;
use std::path::Path;

use super::*;
use crate::session::{Entry, HistoryView, Session, Strictness, read_from};

fn read(text: &str) -> Session {
    read_from(text.as_bytes(), Strictness::Strict).unwrap()
}

/// `UPDATE_GOLDEN=1` writes the asset again.
#[test]
fn golden_sample_is_what_the_generator_writes() {
    let generated = generate(SAMPLE_SEED, SAMPLE_TURNS);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sample-session.jsonl");
        std::fs::write(path, &generated).unwrap();
    } else {
        assert!(
            generated == SAMPLE,
            "run with UPDATE_GOLDEN=1 to write the sample again"
        );
    }
}

#[test]
fn the_sample_is_small_and_of_forty_turns() {
    let session = read(SAMPLE);
    assert_eq!(session.turns(HistoryView::Full).len(), SAMPLE_TURNS);
    assert!(
        (100_000..=250_000).contains(&SAMPLE.len()),
        "{} bytes",
        SAMPLE.len()
    );
}

#[test]
fn the_sample_holds_every_kind_of_entry() {
    let session = read(SAMPLE);
    let types: HashSet<_> = session.entries().map(Entry::entry_type).collect();
    for entry_type in [
        "message",
        "model_change",
        "thinking_level_change",
        "session_info",
        "custom",
        "custom_message",
        "branch_summary",
        "compaction",
        "label",
    ] {
        assert!(types.contains(entry_type), "{entry_type}");
    }
    for text in [
        "bashExecution",
        "\"excludeFromContext\":true",
        "\"isError\":true",
        "満潮",
        "👩🏽‍🔬",
    ] {
        assert!(SAMPLE.contains(text), "{text}");
    }
    assert!(SAMPLE.contains("\"thinkingSignature\""));
    assert!(
        session.entries().count() > session.active_branch().count(),
        "an abandoned branch"
    );
}

#[test]
fn every_tool_call_of_the_active_branch_has_its_result() {
    let session = read(SAMPLE);
    let mut open = HashSet::new();
    let (mut calls, mut parallel) = (0, 0);
    for shown in session.view(HistoryView::Full).messages() {
        let message = shown.message();
        calls += message.tool_call_ids().len();
        parallel += usize::from(message.tool_call_ids().len() > 1);
        open.extend(message.tool_call_ids().iter().cloned());
        if let Some(id) = message.tool_result_for() {
            assert!(open.remove(id), "line {}", shown.line());
        }
    }
    assert!(
        open.is_empty() && calls > 50 && parallel > 5,
        "{calls} calls, {parallel} parallel"
    );
}

#[test]
fn the_compaction_keeps_three_turns() {
    let session = read(SAMPLE);
    let full = session.view(HistoryView::Full);
    let recorded = session.view(HistoryView::Recorded);
    let roles: Vec<_> = recorded
        .messages()
        .map(|message| message.role())
        .take(2)
        .collect();
    assert_eq!(roles, ["compactionSummary", "user"]);
    let users = |view: &crate::session::View| {
        view.messages()
            .filter(|message| message.role() == "user")
            .count()
    };
    // The compaction comes before turn 25 of 40.
    assert_eq!((users(&full), users(&recorded)), (40, 16 + 3));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    assert_eq!(generate(1, 5), generate(1, 5));
    assert_ne!(generate(1, 5), generate(2, 5));
}

#[test]
fn any_number_of_turns_reads_back_without_a_problem() {
    for turns in [0, 1, 2, 19, 20, 83] {
        let session = read(&generate(turns as u64, turns));
        assert_eq!(session.turns(HistoryView::Full).len(), turns);
        assert!(
            session
                .turns(HistoryView::Recorded)
                .iter()
                .all(|turn| turn.answered)
        );
    }
}
