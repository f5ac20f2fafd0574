//! What is in a session, counted.

use std::collections::{BTreeMap, HashSet};

use contextwire_engine::tokens::{ModelFamily, Precision, tally_message};

use crate::report::{EntriesOfType, MessagesOfRole, ReportedProblem, SessionStats, TextsOfKind};
use crate::session::{Entry, HistoryView, Outcome, Session};
use crate::tokens::by_kind;

/// Counts everything in a session.
pub fn stats(session: &Session) -> SessionStats {
    let turns = session.turns(HistoryView::Full);
    let boundaries = session.boundaries();
    let span = session.span_ms();
    let size = session.size();
    let header = session.header();
    SessionStats {
        format: session.format().name().to_owned(),
        version: header.version,
        id: header.id.clone(),
        model: session.model().map(|model| model.id),
        cwd: header.cwd.clone(),
        started_ms: span.map(|(first, _)| first),
        ended_ms: span.map(|(_, last)| last),
        duration_ms: span.map_or(0, |(first, last)| last.abs_diff(first)),
        lines: size.lines,
        bytes: size.bytes,
        turns: turns.len() as u64,
        answered: turns.iter().filter(|turn| turn.answered).count() as u64,
        compactions: boundaries.compactions,
        resets: boundaries.resets,
        branches: session.branches() as u64,
        entries: entries(session),
        messages: messages(session),
        texts: texts(session),
        problems: problems(session),
    }
}

/// The problems of a session in words.
pub fn problems(session: &Session) -> Vec<ReportedProblem> {
    let problems = session.problems().iter();
    problems
        .map(|problem| ReportedProblem {
            line: problem.line,
            message: problem.to_string(),
            skipped: problem.outcome == Outcome::Skipped,
        })
        .collect()
}

fn family(session: &Session) -> ModelFamily {
    ModelFamily::of_model(session.model().map(|model| model.id).as_deref())
}

fn entries(session: &Session) -> Vec<EntriesOfType> {
    let mut by_type: BTreeMap<&str, EntriesOfType> = BTreeMap::new();
    for entry in session.entries() {
        let row = by_type.entry(entry.entry_type()).or_default();
        row.entries += 1;
        row.bytes += entry.size();
    }
    let mut rows: Vec<_> = by_type
        .into_iter()
        .map(|(entry_type, row)| EntriesOfType {
            entry_type: entry_type.to_owned(),
            ..row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.entries));
    rows
}

fn messages(session: &Session) -> Vec<MessagesOfRole> {
    let family = family(session);
    let active: HashSet<u64> = session
        .conversation()
        .map(|said| said.message.key())
        .collect();
    let mut by_role: BTreeMap<&str, MessagesOfRole> = BTreeMap::new();
    for message in session.entries().filter_map(Entry::message) {
        let row = by_role.entry(message.role()).or_default();
        row.messages += 1;
        row.in_conversation += u64::from(active.contains(&message.key()));
        row.bytes += message.payload().len() as u64;
        let tally = tally_message(family, Precision::Estimate, message.message());
        row.tokens += u64::from(tally.total());
    }
    let mut rows: Vec<_> = by_role
        .into_iter()
        .map(|(role, row)| MessagesOfRole {
            role: role.to_owned(),
            ..row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.messages));
    rows
}

fn texts(session: &Session) -> Vec<TextsOfKind> {
    let family = family(session);
    let mut by_name: BTreeMap<&str, TextsOfKind> = BTreeMap::new();
    for said in session.conversation() {
        let message = said.message;
        let tally = tally_message(family, Precision::Estimate, message.message());
        for (kind, amount) in by_kind(message.role(), &tally) {
            let row = by_name.entry(kind).or_default();
            row.bytes += amount.bytes;
            row.tokens += u64::from(amount.tokens);
        }
    }
    let mut rows: Vec<_> = by_name
        .into_iter()
        .map(|(kind, row)| TextsOfKind {
            kind: kind.to_owned(),
            ..row
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    rows
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::session::{Strictness, read};

    fn of(name: &str) -> SessionStats {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/sessions")
            .join(name);
        stats(&read(&path, Strictness::Lenient).unwrap())
    }

    #[test]
    fn a_tree_is_counted_with_its_branches_and_boundaries() {
        let stats = of("tree-v4.jsonl");
        assert_eq!(
            (stats.format.as_str(), stats.version),
            ("openclaw-lines", 4)
        );
        assert_eq!((stats.turns, stats.answered), (3, 1));
        assert_eq!((stats.compactions, stats.resets, stats.branches), (1, 1, 2));
        assert_eq!((stats.lines, stats.duration_ms), (16, 15_000));
        let user = stats
            .messages
            .iter()
            .find(|row| row.role == "user")
            .unwrap();
        assert_eq!((user.messages, user.in_conversation), (5, 3));
        let entries: u64 = stats.entries.iter().map(|row| row.entries).sum();
        assert_eq!(entries, 15);
    }

    #[test]
    fn the_texts_of_a_conversation_are_all_of_its_tokens() {
        for name in ["codex-rollout.jsonl", "pi-v1.jsonl", "tree-v3.jsonl"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/sessions")
                .join(name);
            let session = read(&path, Strictness::Strict).unwrap();
            let estimate = |message: &contextwire_engine::Message| {
                contextwire_engine::tokens::estimate_message(family(&session), message)
            };
            let whole: u64 = session
                .conversation()
                .map(|said| u64::from(estimate(said.message.message())))
                .sum();
            let texts: u64 = stats(&session).texts.iter().map(|row| row.tokens).sum();
            assert_eq!(texts, whole, "{name}");
        }
    }

    #[test]
    fn a_rollout_is_counted_by_its_records() {
        let stats = of("codex-rollout.jsonl");
        let of = |entry_type: &str| {
            let row = stats
                .entries
                .iter()
                .find(|row| row.entry_type == entry_type);
            row.map_or(0, |row| row.entries)
        };
        assert_eq!(
            (
                of("response_item/answer"),
                of("compacted"),
                of("event_msg/token_count")
            ),
            (5, 1, 5)
        );
        assert_eq!((stats.turns, stats.compactions, stats.branches), (3, 1, 1));
    }
}
