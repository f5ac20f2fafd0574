//! Single messages by identity: appended to the provisional tail, known, or a correction (R3.2).

use contextwire_engine::{EngineError, HookContext, Message, SessionId};

use super::rows::{LogRows, Marks, SessionRow, Stored, Unclaimed};
use super::{Arrangement, Slot, append, arrange, log_from, opened, state_at};

/// Stores the message. False where the log holds it already.
///
/// A known entry id with another payload replaces the body (R7.10). A message without an id is the
/// first equal one that no other Ingest meant and that came after the host's process did.
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
        let (digest, from) = (message.digest(), session.ingest_floor);
        rows.first_unclaimed(session.id, digest, from, Unclaimed::ByIngest)?
    } else {
        rows.by_entry_id(session.id, message.entry_id().as_str())?
    };
    let Some(known) = known else {
        let marks = Marks {
            ingested: true,
            heartbeat,
            turn: None,
        };
        append(rows, &mut session, [(message, marks)])?;
        return Ok(true);
    };
    if known.digest != message.digest() {
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
