//! A closed turn by identity: what the log lacks of it joins the provisional tail, in its order.

use std::collections::HashSet;

use contextwire_engine::{CommitTurn, EngineError, HookContext, Message, SessionId};
use rusqlite::params;

use super::{Arrangement, Marks, Slot, Stored, Turn};
use crate::store::{SessionRow, Tx, bounded};

impl Tx<'_> {
    /// Stores the turn. Entries that the log holds already are not doubled, whoever brought them;
    /// the others stand together, behind the turns that began before this one.
    pub(crate) fn commit(
        &self,
        cx: &HookContext,
        session: &SessionId,
        request: &CommitTurn,
    ) -> Result<(), EngineError> {
        let mut session = self.session_for_writing(session)?;
        let anchor = &request.admission.anchor;
        let turn = Turn {
            key: request.advancement_key.clone(),
            generation: anchor.generation.clone(),
            raw_seq: anchor.raw_seq,
        };
        let entries = self.locate(cx, &mut session, &request.messages, &turn)?;
        let missing = entries.iter().filter(|entry| entry.known.is_none()).count();
        if missing == 0 {
            return Ok(());
        }
        if missing == entries.len() && !self.has_later_turn(&session, &turn)? {
            let new = entries
                .iter()
                .map(|entry| (entry.message, Marks::of(&turn)));
            return self.append(&mut session, new);
        }
        let tail = self.log_from(&session, session.placed.count)?;
        let arrangement = Arrangement {
            from: session.placed,
            slots: interleave(tail, &entries, &turn, session.placed.count),
            placed: None,
        };
        self.arrange(cx, &mut session, &arrangement)
    }

    /// Finds each message of the turn in the log, and marks what is found as part of it.
    fn locate<'m>(
        &self,
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
                self.uncommitted(session, message, after)?
            } else {
                self.by_entry_id(session, id)?
            };
            if let Some(stored) = &mut known {
                after = stored.place().saturating_add(1);
                if stored.marks.turn.is_none() {
                    stored.marks.turn = Some(turn.clone());
                    self.mark(stored.id, &stored.marks)?;
                }
                // The LOG's body is the newer one; what an Ingest brought before the turn closed is not.
                let is_tail = stored.place() >= session.placed.count;
                if is_tail && stored.digest != message.digest() {
                    self.correct(cx, session, stored, message)?;
                }
            }
            entries.push(Entry {
                message,
                known: known.map(|stored| stored.place()),
            });
        }
        Ok(entries)
    }

    /// The first equal entry without an id that no other turn holds.
    fn uncommitted(
        &self,
        session: &SessionRow,
        message: &Message,
        after: u64,
    ) -> Result<Option<Stored>, EngineError> {
        self.one(
            "session = ?1 AND entry_id = '' AND digest = ?2 AND place >= ?3 AND turn IS NULL
             ORDER BY place LIMIT 1",
            params![session.id, message.digest().0, bounded(after)],
        )
    }

    /// Whether the tail holds a turn that began after this one. Its turns stand in their order, so
    /// the last one tells.
    fn has_later_turn(&self, session: &SessionRow, turn: &Turn) -> Result<bool, EngineError> {
        if session.placed.count == session.total.count {
            return Ok(false);
        }
        let last = self.one(
            "session = ?1 AND place >= ?2 AND turn IS NOT NULL ORDER BY place DESC LIMIT 1",
            params![session.id, bounded(session.placed.count)],
        )?;
        Ok(last.is_some_and(|stored| began_later(&stored.marks, turn)))
    }
}

impl Marks {
    fn of(turn: &Turn) -> Self {
        Self {
            ingested: false,
            turn: Some(turn.clone()),
        }
    }
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
fn interleave(tail: Vec<Stored>, entries: &[Entry<'_>], turn: &Turn, placed: u64) -> Vec<Slot> {
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
                slots.insert(next, Slot::New(entry.message.clone(), Marks::of(turn)));
                next += 1;
            }
        }
    }
    slots
}
