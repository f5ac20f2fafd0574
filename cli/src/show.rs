//! Picks out of a session what is shown of it.

use std::collections::HashSet;
use std::sync::Arc;

use contextwire_engine::tokens::{ModelFamily, estimate_message};

use crate::report::{
    ShownEntries, ShownEntry, ShownMessage, ShownPiece, ShownTurn, ShownTurns, ShownWhole,
};
use crate::session::{ContextMessage, Entry, HistoryView, Piece, Session, Turn, View, pieces};

/// Bytes of the start of a text that a row can show.
const START: usize = 2_000;

/// The newest turns; all of them where the limit is 0.
pub fn turns(session: &Session, limit: usize) -> ShownTurns {
    let all = session.turns(HistoryView::Full);
    let recorded = session.turns(HistoryView::Recorded);
    let end = session.view(HistoryView::Full);
    let left_out = left_out(all.len(), limit);
    let shown = all.iter().zip(&recorded).enumerate().skip(left_out);
    let turns = shown.map(|(index, (turn, seen))| {
        let next = all.get(index + 1).map_or(&end, |next| &next.view);
        let said = messages_of(turn, next, index + 1 < all.len());
        let earlier = index.checked_sub(1);
        let before = earlier.and_then(|at| Some((all.get(at)?, recorded.get(at)?)));
        ShownTurn {
            turn: turn.number as u64,
            line: turn.user.line(),
            entry_id: turn.user.entry_id().map(str::to_owned),
            time_ms: turn.user.timestamp_ms(),
            messages: said.len() as u64,
            tokens: said.iter().map(|message| estimate(session, message)).sum(),
            answered: turn.answered,
            before: before.and_then(|(full, at_the_time)| {
                cut((&full.view, &turn.view), (&at_the_time.view, &seen.view))
            }),
            text: start(turn.user.payload()),
        }
    });
    ShownTurns {
        session: session.header().id.clone(),
        format: session.format().name().to_owned(),
        left_out: left_out as u64,
        turns: turns.collect(),
    }
}

/// One turn whole; `None` where the session has no such turn.
pub fn turn(session: &Session, number: usize, most_lines: usize) -> Option<ShownWhole> {
    let all = session.turns(HistoryView::Full);
    let end = session.view(HistoryView::Full);
    let index = number.checked_sub(1)?;
    let turn = all.get(index)?;
    let next = all.get(index + 1).map_or(&end, |next| &next.view);
    let said = messages_of(turn, next, index + 1 < all.len());
    Some(ShownWhole {
        session: session.header().id.clone(),
        turn: number as u64,
        messages: said.iter().map(|message| whole(session, message)).collect(),
        most_lines,
    })
}

/// The newest entries; all of them where the limit is 0.
pub fn entries(session: &Session, limit: usize) -> ShownEntries {
    let active: HashSet<*const Entry> = session.active_branch().map(std::ptr::from_ref).collect();
    let all: Vec<&Entry> = session.entries().collect();
    let left_out = left_out(all.len(), limit);
    let row = |entry: &&Entry| ShownEntry {
        line: entry.line(),
        entry_id: entry.id().map(str::to_owned),
        entry_type: entry.entry_type().to_owned(),
        role: entry.message().map(|message| message.role().to_owned()),
        active: active.contains(&std::ptr::from_ref(*entry)),
        time_ms: entry.timestamp_ms(),
        bytes: entry.size(),
        text: entry
            .message()
            .map_or_else(String::new, |message| start(message.payload())),
    };
    ShownEntries {
        session: session.header().id.clone(),
        format: session.format().name().to_owned(),
        left_out: left_out as u64,
        entries: all.iter().skip(left_out).map(row).collect(),
    }
}

fn left_out(all: usize, limit: usize) -> usize {
    match limit {
        0 => 0,
        limit => all.saturating_sub(limit),
    }
}

/// The user message of a turn and what followed it, up to the next one.
fn messages_of(turn: &Turn, next: &View, is_users: bool) -> Vec<Arc<ContextMessage>> {
    let mut said = vec![Arc::clone(&turn.user)];
    said.extend(turn.view.recorded_until(next).cloned());
    if is_users {
        said.pop();
    }
    said
}

/// What was cut off between two turns: with a reset the whole history does not go on, with a
/// compaction only what the host showed.
fn cut(full: (&View, &View), recorded: (&View, &View)) -> Option<String> {
    if full.1.added_since(full.0).is_none() {
        return Some("reset".to_owned());
    }
    let is_compacted = recorded.1.added_since(recorded.0).is_none();
    is_compacted.then(|| "compacted".to_owned())
}

fn estimate(session: &Session, message: &ContextMessage) -> u64 {
    let family = ModelFamily::of_model(session.model().map(|model| model.id).as_deref());
    u64::from(estimate_message(family, message.message()))
}

fn whole(session: &Session, message: &ContextMessage) -> ShownMessage {
    ShownMessage {
        line: message.line(),
        entry_id: message.entry_id().map(str::to_owned),
        role: message.role().to_owned(),
        time_ms: message.timestamp_ms(),
        bytes: message.payload().len() as u64,
        tokens: estimate(session, message),
        pieces: pieces(message.payload()).into_iter().map(shown).collect(),
    }
}

fn shown(piece: Piece) -> ShownPiece {
    let (kind, text) = match piece {
        Piece::Text(text) => ("text", text),
        Piece::Thinking(text) => ("thinking", text),
        Piece::Call { name, arguments } => ("call", format!("{name} {arguments}")),
        Piece::Image { bytes } => ("image", format!("{bytes} bytes")),
        Piece::Command(command) => ("command", command),
        Piece::Json(json) => ("json", json),
    };
    ShownPiece {
        kind: kind.to_owned(),
        text,
    }
}

/// The start of what a message says.
fn start(payload: &[u8]) -> String {
    let mut text = String::new();
    for piece in pieces(payload).into_iter().map(shown) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&piece.text);
        if text.len() > START {
            text.truncate(text.floor_char_boundary(START));
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::session::{Strictness, read};

    fn session(name: &str) -> Session {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/sessions")
            .join(name);
        read(&path, Strictness::Strict).unwrap()
    }

    fn rows(name: &str, limit: usize) -> Vec<(u64, u64, Option<String>, String)> {
        let shown = turns(&session(name), limit);
        let rows = shown.turns.into_iter();
        rows.map(|turn| (turn.turn, turn.messages, turn.before, turn.text))
            .collect()
    }

    #[test]
    fn turns_have_their_messages_and_what_happened_before_them() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows("tree-v4.jsonl", 0),
            [
                (1, 6, None, "draw a tide table".to_owned()),
                (2, 1, some("compacted"), "now in Japanese: 満潮".to_owned()),
                (3, 1, some("reset"), "afresh".to_owned()),
            ]
        );
        let last = rows("codex-rollout.jsonl", 1);
        assert_eq!(
            last,
            [(3, 2, some("compacted"), "Thanks. Tomorrow?".to_owned())]
        );
        assert_eq!(turns(&session("codex-rollout.jsonl"), 1).left_out, 2);
    }

    #[test]
    fn a_turn_is_shown_whole() {
        let session = session("codex-rollout.jsonl");
        let whole = turn(&session, 1, 0).unwrap();
        let kinds: Vec<Vec<&str>> = whole
            .messages
            .iter()
            .map(|message| message.pieces.iter().map(|piece| &*piece.kind).collect())
            .collect();
        assert_eq!(
            kinds,
            [
                vec!["text"],
                vec!["thinking", "text", "call", "call"],
                vec!["text"],
                vec!["text"],
                vec!["text"]
            ]
        );
        assert!(turn(&session, 0, 0).is_none() && turn(&session, 4, 0).is_none());
    }

    #[test]
    fn entries_beside_the_conversation_are_marked() {
        let shown = entries(&session("tree-v4.jsonl"), 0);
        let aside: Vec<_> = shown
            .entries
            .iter()
            .filter(|entry| !entry.active)
            .map(|entry| entry.entry_id.clone().unwrap())
            .collect();
        assert_eq!(aside, ["b1", "a10", "a13"]);
        assert_eq!(entries(&session("tree-v4.jsonl"), 2).left_out, 13);
    }
}
