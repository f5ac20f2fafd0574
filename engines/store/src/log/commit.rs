//! A closed turn by identity: what the log lacks of it joins the provisional tail, in its order.

use contextwire_engine::{CommitTurn, EngineError, HookContext, SessionId};

use super::ingest::{correct, has_left};
use super::locate::{Located, locate};
use super::rows::{LogRows, Marks, SessionRow, Stored, Turn};
use super::update::is_outdated;
use super::{Arrangement, Slot, append, arrange, log_from, opened};

/// Stores the turn. Entries that the log holds already are not doubled, whoever brought them; the
/// others stand together, behind the turns that began before this one. What the LOG showed once and
/// then left out stays out: the outbox may bring a turn that its host has abandoned (R7.9).
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
        hook: Some(cx.hook_id),
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
    let mut entries = locate(rows, &session, &request.messages)?;
    take_up(rows, cx, &mut session, &entries, &turn)?;
    drop_abandoned(rows, cx, &session, &mut entries)?;
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

/// Marks what is found as part of the turn, and brings what is found in the tail up to the turn's
/// own words.
fn take_up(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &mut SessionRow,
    entries: &[Located<'_>],
    turn: &Turn,
) -> Result<(), EngineError> {
    for Located { message, known } in entries {
        let Some(stored) = known else { continue };
        let mut stored = stored.clone();
        if stored.marks.turn.is_none() {
            stored.marks.turn = Some(turn.clone());
            stored.marks.hook = Some(cx.hook_id);
            rows.mark(stored.id, &stored.marks)?;
        }
        // The LOG's body is the newer one; what an Ingest brought before the turn closed is not.
        let is_tail = stored.place() >= session.placed.count;
        if is_tail && stored.digest != message.digest() {
            correct(rows, cx, session, &stored, message)?;
        }
    }
    Ok(())
}

/// Leaves out what the LOG showed once and then left out: with the first message the whole turn.
///
/// An entry id says so for ever. Without ids an equal text may be a new message, unless the host
/// minted this call before its newest LOG.
fn drop_abandoned(
    rows: &(impl LogRows + ?Sized),
    cx: &HookContext,
    session: &SessionRow,
    entries: &mut Vec<Located<'_>>,
) -> Result<(), EngineError> {
    let is_outdated = is_outdated(rows, session, cx)?;
    let mut kept = Vec::with_capacity(entries.len());
    let mut whole = true;
    for (index, entry) in entries.drain(..).enumerate() {
        let is_judged =
            entry.known.is_none() && (is_outdated || !entry.message.entry_id().is_empty());
        if is_judged && has_left(rows, session, entry.message)? {
            whole &= index > 0;
        } else {
            kept.push(entry);
        }
    }
    kept.retain(|entry| whole || entry.known.is_some());
    *entries = kept;
    Ok(())
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
    entries: &[Located<'_>],
    (turn, marks): (&Turn, &Marks),
    placed: u64,
) -> Vec<Slot> {
    let mut slots: Vec<Slot> = tail.into_iter().map(Slot::Stored).collect();
    let at_place = |slots: &[Slot], place: u64| {
        slots
            .iter()
            .position(|slot| matches!(slot, Slot::Stored(stored) if stored.place() == place))
    };
    let first_known = entries.iter().find_map(Located::place);
    let later = slots
        .iter()
        .position(|slot| began_later(slot.marks(), turn));
    let mut next = match first_known {
        Some(place) if place < placed => 0,
        Some(place) => at_place(&slots, place).unwrap_or(slots.len()),
        None => later.unwrap_or(slots.len()),
    };
    for entry in entries {
        match entry.place() {
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
