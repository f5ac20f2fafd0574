use std::fmt::Write;

use crate::session::{HistoryView, Session, Strictness, Turn, View, read_from};

/// A tree of one branch, written in short: `u1` a user message, `a1` an assistant message, `x1` one
/// that is excluded from the context, `c1:u1` a compaction that keeps from `u1` on, `r1:u1` a reset.
fn session(script: &str) -> Session {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let mut parent = "null".to_owned();
    for word in script.split_whitespace() {
        let (id, kept) = word.split_once(':').unwrap_or((word, ""));
        let kept = match kept {
            "" => String::new(),
            kept => format!(",\"firstKeptEntryId\":\"{kept}\""),
        };
        let rest = match id.chars().next().unwrap() {
            'u' => r#""type":"message","message":{"role":"user"}"#.to_owned(),
            'a' => r#""type":"message","message":{"role":"assistant"}"#.to_owned(),
            'x' => {
                r#""type":"message","message":{"role":"bashExecution","excludeFromContext":true}"#
                    .to_owned()
            }
            'c' => format!(r#""type":"compaction","summary":"s","tokensBefore":1{kept}"#),
            'r' => format!(r#""type":"reset","reason":"new"{kept}"#),
            other => panic!("{other}"),
        };
        writeln!(text, "{{\"id\":\"{id}\",\"parentId\":{parent},{rest}}}").unwrap();
        parent = format!("\"{id}\"");
    }
    read_from(text.as_bytes(), Strictness::Lenient).unwrap()
}

fn ids(view: &View) -> String {
    let ids: Vec<_> = view
        .messages()
        .map(|message| message.entry_id().unwrap())
        .collect();
    ids.join(" ")
}

fn views(turns: &[Turn]) -> Vec<String> {
    turns.iter().map(|turn| ids(&turn.view)).collect()
}

#[test]
fn a_turn_sees_everything_up_to_its_user_message_and_nothing_later() {
    let session = session("u1 a1 u2 a2 u3 a3");
    let turns = session.turns(HistoryView::Full);
    assert_eq!(views(&turns), ["u1", "u1 a1 u2", "u1 a1 u2 a2 u3"]);
    assert_eq!(
        turns.iter().map(|turn| turn.number).collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

#[test]
fn a_recorded_view_starts_with_the_newest_summary_so_far() {
    let session = session("u1 a1 u2 a2 c1:u2 u3 a3 c2:u3 u4");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "u1 a1 u2", "c1 u2 a2 u3", "c2 u3 a3 u4"]
    );
    assert_eq!(
        views(&session.turns(HistoryView::Full)),
        ["u1", "u1 a1 u2", "u1 a1 u2 a2 u3", "u1 a1 u2 a2 u3 a3 u4"]
    );
}

#[test]
fn a_compaction_in_the_middle_of_a_turn_counts_from_the_next_turn_on() {
    let session = session("u1 a1 c1:a1 a2 u2");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "c1 a1 a2 u2"]
    );
}

#[test]
fn c351_an_unknown_first_kept_entry_keeps_nothing() {
    let session = session("u1 a1 c1:nowhere u2 a2");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "c1 u2"]
    );
    assert_eq!(
        session.problems()[0].to_string(),
        "line 4: first kept entry `nowhere` is not before this line; keeps nothing"
    );
}

#[test]
fn a_first_kept_entry_after_the_boundary_keeps_nothing() {
    let session = session("u1 c1:u2 u2");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "c1 u2"]
    );
    assert_eq!(session.problems().len(), 1);
}

#[test]
fn a_compaction_that_names_itself_or_nothing_keeps_nothing() {
    let session = session("u1 c1:c1 u2 c2 u3");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "c1 u2", "c2 u3"]
    );
    assert_eq!(session.problems(), []);
}

#[test]
fn a_reset_leaves_no_summary_in_either_view() {
    let session = session("u1 a1 r1 u2 a2 r2:u2 u3");
    let expected = ["u1", "u2", "u2 a2 u3"];
    assert_eq!(views(&session.turns(HistoryView::Recorded)), expected);
    assert_eq!(views(&session.turns(HistoryView::Full)), expected);
}

#[test]
fn a_reset_drops_the_summary_of_an_earlier_compaction() {
    let session = session("u1 a1 c1:a1 u2 r1:u2 u3");
    assert_eq!(
        views(&session.turns(HistoryView::Recorded)),
        ["u1", "c1 a1 u2", "u2 u3"]
    );
}

#[test]
fn c352_an_excluded_message_is_seen_only_where_a_reset_retained_it() {
    let session = session("u1 x1 u2 x2 r1:x1 x3 u3");
    assert_eq!(
        views(&session.turns(HistoryView::Full)),
        ["u1", "u1 u2", "x1 u2 x2 u3"]
    );
}

#[test]
fn an_unanswered_last_message_is_a_turn() {
    let session = session("u1 a1 u2");
    let answered: Vec<_> = session
        .turns(HistoryView::Full)
        .iter()
        .map(|turn| turn.answered)
        .collect();
    assert_eq!(answered, [true, false]);
}

#[test]
fn two_user_messages_in_a_row_are_two_turns() {
    let session = session("u1 u2 a2");
    let turns = session.turns(HistoryView::Full);
    assert_eq!(views(&turns), ["u1", "u1 u2"]);
    assert!(!turns[0].answered && turns[1].answered);
}

#[test]
fn messages_before_the_first_user_message_are_its_history() {
    let session = session("a0 x0 a1 u1");
    assert_eq!(views(&session.turns(HistoryView::Full)), ["a0 a1 u1"]);
}

#[test]
fn a_session_without_a_user_message_has_no_turn_and_still_a_view() {
    let session = session("a0 a1");
    assert!(session.turns(HistoryView::Full).is_empty());
    assert_eq!(ids(&session.view(HistoryView::Full)), "a0 a1");
}

#[test]
fn a_view_names_what_it_has_more_than_an_earlier_one() {
    let session = session("u1 a1 u2 c1:u2 a2 u3 a3 u4");
    let added = |history, earlier: usize, later: usize| {
        let turns = session.turns(history);
        let (earlier, later) = (&turns[earlier].view, &turns[later].view);
        let added = later.added_since(earlier)?;
        Some(
            added
                .map(|message| message.entry_id().unwrap())
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    assert_eq!(added(HistoryView::Full, 0, 1).as_deref(), Some("a1 u2"));
    assert_eq!(
        added(HistoryView::Full, 1, 3).as_deref(),
        Some("a2 u3 a3 u4")
    );
    assert_eq!(added(HistoryView::Full, 2, 2).as_deref(), Some(""));
    assert_eq!(added(HistoryView::Full, 2, 1), None);
    assert_eq!(added(HistoryView::Recorded, 1, 2), None);
    assert_eq!(added(HistoryView::Recorded, 2, 3).as_deref(), Some("a3 u4"));
}

#[test]
fn views_share_their_messages() {
    let session = session("u1 a1 u2");
    let turns = session.turns(HistoryView::Full);
    let first = turns[0].view.messages().next().unwrap();
    let again = turns[1].view.messages().next().unwrap();
    assert!(std::sync::Arc::ptr_eq(first, again));
    assert!(first.message().is_same_object(again.message()));
}

#[test]
fn what_was_recorded_between_two_views_is_known_across_a_reset() {
    let session = session("u1 a1 x1 r1 a2 u2 c1:u2 a3");
    let turns = session.turns(HistoryView::Recorded);
    let recorded = |earlier: &View, later: &View| {
        let recorded = earlier.recorded_until(later);
        let recorded: Vec<_> = recorded
            .map(|message| message.entry_id().unwrap())
            .collect();
        recorded.join(" ")
    };
    assert!(turns[1].view.added_since(&turns[0].view).is_none());
    assert_eq!(recorded(&turns[0].view, &turns[1].view), "a1 a2 u2");
    let end = session.view(HistoryView::Recorded);
    assert_eq!(recorded(&turns[1].view, &end), "a3");
}
