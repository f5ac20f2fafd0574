//! Laws that hold for any file.

use proptest::prelude::*;

use super::HEADER;
use crate::session::{Header, HistoryView, Outcome, Strictness, generate, read_from};

fn non_blank_lines(text: &[u8]) -> usize {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .count()
}

/// Either the file is another kind, or each line is the header, an entry, or reported as skipped.
fn check(text: &[u8]) {
    let Ok(session) = read_from(text, Strictness::Lenient) else {
        return;
    };
    let skipped = session
        .problems()
        .iter()
        .filter(|problem| problem.outcome == Outcome::Skipped);
    let has_header = usize::from(*session.header() != Header::default());
    assert_eq!(
        non_blank_lines(text),
        has_header + session.entries().count() + skipped.count()
    );
    for history in [HistoryView::Full, HistoryView::Recorded] {
        let turns = session.turns(history);
        assert!(turns.iter().all(|turn| {
            turn.view
                .messages()
                .last()
                .is_some_and(|last| last.line() == turn.user.line())
        }));
    }
}

fn some_id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "null", "\"a\"", "\"b\"", "\"c\"", "\"d\"", "7", "\"\"", "\"é\"",
    ])
}

fn some_line() -> impl Strategy<Value = Vec<u8>> {
    let types = prop::sample::select(vec![
        "message",
        "compaction",
        "reset",
        "leaf",
        "branch_summary",
        "custom_message",
        "custom",
        "session",
        "other",
    ]);
    let entry = (types, some_id(), some_id(), some_id(), any::<bool>()).prop_map(
        |(entry_type, id, parent, other, side)| {
            let side = if side { r#","appendMode":"side""# } else { "" };
            format!(
                r#"{{"type":"{entry_type}","id":{id},"parentId":{parent},"targetId":{other},"firstKeptEntryId":{other},"summary":"s","message":{{"role":"user"}}{side}}}"#
            )
            .into_bytes()
        },
    );
    prop_oneof![
        8 => entry,
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"{\"type\":\"message\",\"mess".to_vec()),
        1 => Just(Vec::new()),
    ]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn every_skipped_line_is_reported(lines in prop::collection::vec(some_line(), 0..40)) {
        let mut text = HEADER.as_bytes().to_vec();
        for line in lines {
            text.push(b'\n');
            text.extend_from_slice(&line);
        }
        check(&text);
    }

    #[test]
    fn a_damaged_sample_still_reads(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = generate(3, 4).into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        check(&text);
    }
}
