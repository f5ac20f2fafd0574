//! A closed turn by identity: what the log lacks of it joins the provisional tail, in its order.

use std::collections::HashSet;

use contextwire_engine::{CommitTurn, EngineError, HookContext, Message, SessionId};

use super::ingest::correct;
use super::rows::{LogRows, Marks, SessionRow, Stored, Turn, Unclaimed};
use super::{Arrangement, Slot, append, arrange, log_from, opened};

/// Stores the turn. Entries that the log holds already are not doubled, whoever brought them; the
/// others stand together, behind the turns that began before this one.
///
/// # Errors
/// [`contextwire_engine::ErrorKind::Cancelled`], the store's.
pub fn commit(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &SessionId,
    request: &CommitTurn,
) -> Result<(), EngineError> {
    let mut session = opened(rows, session)?;
    let anchor = &request.admission.anchor;
    let marks = Marks {
        ingested: false,
        heartbeat: request.is_heartbeat,
        turn: None,
    };
    let turn = Turn {
        key: request.advancement_key.clone(),
        generation: anchor.generation.clone(),
        raw_seq: anchor.raw_seq,
    };
    let new = Marks {
        turn: Some(turn.clone()),
        ..marks
    };
    let entries = locate(rows, cx, &mut session, &request.messages, &turn)?;
    let missing = entries.iter().filter(|entry| entry.known.is_none()).count();
    if missing == 0 {
        return Ok(());
    }
    if missing == entries.len() && !has_later_turn(rows, &session, &turn)? {
        let entries = entries.iter().map(|entry| (entry.message, new.clone()));
        return append(rows, &mut session, entries);
    }
    let tail = log_from(rows, &session, session.placed.count)?;
    let arrangement = Arrangement {
        from: session.placed,
        slots: interleave(tail, &entries, (&turn, &new), session.placed.count),
        placed: None,
    };
    arrange(rows, cx, &mut session, &arrangement)
}

/// Finds each message of the turn in the log, and marks what is found as part of it.
fn locate<'m>(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &mut SessionRow,
    messages: &'m [Message],
    turn: &Turn,
) -> Result<Vec<Entry<'m>>, EngineError> {
    let mut entries: Vec<Entry<'m>> = Vec::with_capacity(messages.len());
    let mut seen = HashSet::new();
    let mut after = 0;
    for message in messages {
        let id = message.entry_id().as_str();
        if !id.is_empty() && !seen.insert(id) {
            continue;
        }
        let mut known = if id.is_empty() {
            let digest = message.digest();
            rows.first_unclaimed(session.id, digest, after, Unclaimed::ByTurn)?
        } else {
            rows.by_entry_id(session.id, id)?
        };
        if let Some(stored) = &mut known {
            after = stored.place().saturating_add(1);
            if stored.marks.turn.is_none() {
                stored.marks.turn = Some(turn.clone());
                rows.mark(stored.id, &stored.marks)?;
            }
            // The LOG's body is the newer one; what an Ingest brought before the turn closed is not.
            let is_tail = stored.place() >= session.placed.count;
            if is_tail && stored.digest != message.digest() {
                correct(rows, cx, session, stored, message)?;
            }
        }
        entries.push(Entry {
            message,
            known: known.map(|stored| stored.place()),
        });
    }
    Ok(entries)
}

/// Whether the tail holds a turn that began after this one. Its turns stand in their order, so the
/// last one tells.
fn has_later_turn(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    turn: &Turn,
) -> Result<bool, EngineError> {
    if session.placed.count == session.total.count {
        return Ok(false);
    }
    let last = rows.last_of_turn(session.id, session.placed.count)?;
    Ok(last.is_some_and(|stored| began_later(&stored.marks, turn)))
}

/// A message of the turn, and its place in the log where it has one.
struct Entry<'m> {
    message: &'m Message,
    known: Option<u64>,
}

fn began_later(marks: &Marks, turn: &Turn) -> bool {
    marks
        .turn
        .as_ref()
        .is_some_and(|other| other.generation == turn.generation && other.raw_seq > turn.raw_seq)
}

/// The tail with the turn's missing messages: each behind the one before it, the first ones before
/// the first known one, or before the turns that began later.
fn interleave(
    tail: Vec<Stored>,
    entries: &[Entry<'_>],
    (turn, marks): (&Turn, &Marks),
    placed: u64,
) -> Vec<Slot> {
    let mut slots: Vec<Slot> = tail.into_iter().map(Slot::Stored).collect();
    let at_place = |slots: &[Slot], place: u64| {
        slots
            .iter()
            .position(|slot| matches!(slot, Slot::Stored(stored) if stored.place() == place))
    };
    let first_known = entries.iter().find_map(|entry| entry.known);
    let later = slots
        .iter()
        .position(|slot| began_later(slot.marks(), turn));
    let mut next = match first_known {
        Some(place) if place < placed => 0,
        Some(place) => at_place(&slots, place).unwrap_or(slots.len()),
        None => later.unwrap_or(slots.len()),
    };
    for entry in entries {
        match entry.known {
            Some(place) if place < placed => next = 0,
            Some(place) => next = at_place(&slots, place).map_or(next, |at| at + 1),
            None => {
                slots.insert(next, Slot::New(entry.message.clone(), marks.clone()));
                next += 1;
            }
        }
    }
    slots
}
