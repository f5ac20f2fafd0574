//! Single messages by identity: appended to the provisional tail, known, or a correction (R3.2).

use contextwire_engine::{EngineError, HookContext, Message, SessionId};

use super::rows::{LogRows, Marks, SessionRow, Stored, Unclaimed};
use super::update::is_outdated;
use super::{Arrangement, Slot, append, arrange, log_from, opened, state_at};

/// Stores the message. False where the log holds it already.
///
/// A known entry id with another payload replaces the body (R7.10). A message without an id is the
/// first equal one that no other Ingest meant and that came after the host's process did. A call that
/// is older than the newest LOG brings back nothing that left the log, and corrects nothing in it.
///
/// # Errors
/// [`contextwire_engine::ErrorKind::Rejected`] for a message whose body did not travel; the store's.
pub fn ingest(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &SessionId,
    message: &Message,
    heartbeat: bool,
) -> Result<bool, EngineError> {
    if message.omitted().is_some() {
        return Err(EngineError::rejected(
            "the body of this message did not travel",
        ));
    }
    let mut session = opened(rows, session)?;
    let known = if message.entry_id().is_empty() {
        rows.first_unclaimed(session.id, message.digest(), 0, Unclaimed::ByIngest)?
    } else {
        rows.by_entry_id(session.id, message.entry_id().as_str())?
    };
    let Some(known) = known else {
        if has_left(rows, &session, message)? && is_outdated(rows, &session, cx)? {
            return Ok(false);
        }
        let marks = Marks {
            ingested: true,
            heartbeat,
            turn: None,
            hook: Some(cx.hook_id),
        };
        append(rows, &mut session, [(message, marks)])?;
        return Ok(true);
    };
    if known.digest != message.digest() {
        if known.place() < session.placed.count && is_outdated(rows, &session, cx)? {
            return Ok(false);
        }
        correct(rows, cx, &mut session, &known, message)?;
        return Ok(true);
    }
    if !known.marks.ingested {
        let marks = Marks {
            ingested: true,
            ..known.marks
        };
        rows.mark(known.id, &marks)?;
    }
    Ok(false)
}

/// Whether a body of this message was stored once and left the log.
pub(super) fn has_left(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    message: &Message,
) -> Result<bool, EngineError> {
    let id = message.entry_id().as_str();
    if id.is_empty() {
        let left = rows.retired(session.id, id, message.digest())?;
        return Ok(!left.is_empty());
    }
    rows.has_left(session.id, id)
}

/// Puts another body at the place of a known entry; the old one stays as history.
pub(super) fn correct(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &mut SessionRow,
    known: &Stored,
    message: &Message,
) -> Result<(), EngineError> {
    let place = known.place();
    let from = state_at(rows, session, place)?;
    let placed = session.placed.count;
    let mut slots = vec![Slot::New(message.clone(), known.marks.clone())];
    let rest = log_from(rows, session, place.saturating_add(1))?;
    slots.extend(rest.into_iter().map(Slot::Stored));
    let arrangement = Arrangement {
        from,
        slots,
        placed: (place < placed).then_some(placed),
    };
    arrange(rows, cx, session, &arrangement)
}
