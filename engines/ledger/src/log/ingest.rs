//! Single messages by identity: appended to the provisional tail, known, or a correction (R3.2).

use contextwire_engine::{EngineError, HookContext, Message, SessionId};
use rusqlite::params;

use super::{Arrangement, Marks, Slot, Stored};
use crate::store::{SessionRow, Tx, bounded};

impl Tx<'_> {
    /// Stores the message. False where the log holds it already.
    ///
    /// A known entry id with another payload replaces the body (R7.10). A message without an id is
    /// the first equal one that no other Ingest meant and that came after the host's process did.
    pub(crate) fn ingest(
        &self,
        cx: &HookContext,
        session: &SessionId,
        message: &Message,
    ) -> Result<bool, EngineError> {
        if message.omitted().is_some() {
            return Err(EngineError::rejected(
                "the body of this message did not travel",
            ));
        }
        let mut session = self.session_for_writing(session)?;
        let known = if message.entry_id().is_empty() {
            self.unclaimed(&session, message)?
        } else {
            self.by_entry_id(&session, message.entry_id().as_str())?
        };
        let Some(known) = known else {
            let marks = Marks {
                ingested: true,
                turn: None,
            };
            self.append(&mut session, [(message, marks)])?;
            return Ok(true);
        };
        if known.digest != message.digest() {
            self.correct(cx, &mut session, &known, message)?;
            return Ok(true);
        }
        if !known.marks.ingested {
            self.mark(
                known.id,
                &Marks {
                    ingested: true,
                    ..known.marks
                },
            )?;
        }
        Ok(false)
    }

    /// Puts another body at the place of a known entry; the old one stays as history.
    pub(super) fn correct(
        &self,
        cx: &HookContext,
        session: &mut SessionRow,
        known: &Stored,
        message: &Message,
    ) -> Result<(), EngineError> {
        let place = known.place();
        let from = self.state_at(session, place)?;
        let placed = session.placed.count;
        let mut slots = vec![Slot::New(message.clone(), known.marks.clone())];
        let rest = self.log_from(session, place.saturating_add(1))?;
        slots.extend(rest.into_iter().map(Slot::Stored));
        let placed = (place < placed).then_some(placed);
        self.arrange(
            cx,
            session,
            &Arrangement {
                from,
                slots,
                placed,
            },
        )
    }

    fn unclaimed(
        &self,
        session: &SessionRow,
        message: &Message,
    ) -> Result<Option<Stored>, EngineError> {
        self.one(
            "session = ?1 AND entry_id = '' AND digest = ?2 AND place >= ?3 AND ingested = 0
             ORDER BY place LIMIT 1",
            params![
                session.id,
                message.digest().0,
                bounded(session.ingest_floor)
            ],
        )
    }
}
