//! The log as rows: bodies that stay for ever, and places that say which of them are the log.
//!
//! [`update()`] takes a LOG, [`commit()`] a closed turn, [`ingest()`] a single message. All of them
//! work on one transaction's [`LogRows`], whatever stores them.

mod commit;
mod ingest;
mod locate;
mod rows;
mod update;

use contextwire_engine::{EngineError, HookContext, Message, SessionId, TranscriptState};

pub use commit::commit;
pub use ingest::ingest;
pub use rows::{Heard, LogRows, Marks, SessionRow, Stored, Turn, Unclaimed};
pub use update::{LogUpdate, begin_here, update};

/// How often long work looks whether anybody still waits for it, in entries.
const CHECK_EVERY: u64 = 256;

/// What stands at a place of the log that is to be.
enum Slot {
    /// A body that is there already.
    Stored(Stored),
    /// A new one.
    New(Message, Marks),
}

impl Slot {
    fn digest(&self) -> contextwire_engine::Digest {
        match self {
            Self::Stored(stored) => stored.digest,
            Self::New(message, _) => message.digest(),
        }
    }

    fn marks(&self) -> &Marks {
        match self {
            Self::Stored(Stored { marks, .. }) | Self::New(_, marks) => marks,
        }
    }
}

/// The log as it is to be from some state on.
struct Arrangement {
    /// The part before stays as it is.
    from: TranscriptState,
    slots: Vec<Slot>,
    /// Up to which place the LOG placed it; `None` where that end lies before `from` and stays.
    placed: Option<u64>,
}

/// A host whose log has the state of the stored one, tail included, has it in that order: the tail
/// is placed, as an update of the LOG without news would place it.
///
/// # Errors
/// The store's.
pub fn confirm(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionId,
    host: TranscriptState,
) -> Result<(), EngineError> {
    match rows.session(session)? {
        Some(row) if row.total == host && row.placed != host => rows.write_ends(&SessionRow {
            placed: row.total,
            ..row
        }),
        Some(_) | None => Ok(()),
    }
}

/// The stored log as a host is told it: up to what the LOG placed where the host's own log ends
/// there, with the provisional tail else.
///
/// # Errors
/// The store's.
pub fn state(
    rows: &(impl LogRows + ?Sized),
    session: &SessionId,
    host: Option<TranscriptState>,
) -> Result<TranscriptState, EngineError> {
    Ok(match rows.session(session)? {
        Some(row) if host == Some(row.placed) => row.placed,
        Some(row) => row.total,
        None => TranscriptState::EMPTY,
    })
}

/// Whether the host has another log than the stored one, tail or no tail (R3.3).
///
/// # Errors
/// The store's.
pub fn is_behind(rows: &(impl LogRows + ?Sized), cx: &HookContext) -> Result<bool, EngineError> {
    match cx.log_head {
        Some(head) => Ok(state(rows, &cx.session.id, Some(head))? != head),
        None => Ok(false),
    }
}

/// Says beside the answer how far the stored log is; `host` is the host's own log, where known.
///
/// # Errors
/// The store's.
pub fn tell(
    rows: &(impl LogRows + ?Sized),
    cx: &HookContext,
    host: Option<TranscriptState>,
) -> Result<(), EngineError> {
    let state = state(rows, &cx.session.id, host)?;
    cx.note(|reply| reply.log_state = Some(state));
    Ok(())
}

/// The row, made where there is none yet.
fn opened(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionId,
) -> Result<SessionRow, EngineError> {
    match rows.session(session)? {
        Some(known) => Ok(known),
        None => rows.add_session(session),
    }
}

/// Appends new entries at the end of the provisional tail.
fn append<'m>(
    rows: &mut (impl LogRows + ?Sized),
    session: &mut SessionRow,
    entries: impl IntoIterator<Item = (&'m Message, Marks)>,
) -> Result<(), EngineError> {
    for (message, marks) in entries {
        let place = session.total.count;
        session.total = session.total.then(message.digest());
        rows.insert(session.id, message, &marks, (place, session.total.chain))?;
    }
    rows.write_ends(session)
}

/// Makes the log so. Entries that already stand where they belong are not written.
fn arrange(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &mut SessionRow,
    arrangement: &Arrangement,
) -> Result<(), EngineError> {
    let Arrangement {
        from,
        slots,
        placed,
    } = arrangement;
    let (mut state, placed) = (*from, *placed);
    if placed == Some(from.count) {
        session.placed = *from;
    }
    let mut moving = false;
    for slot in slots {
        if state.count.is_multiple_of(CHECK_EVERY) {
            cx.check()?;
        }
        let place = state.count;
        state = state.then(slot.digest());
        let stands =
            matches!(slot, Slot::Stored(stored) if stored.place == Some((place, state.chain)));
        if !moving && !stands {
            moving = true;
            clear(rows, session, place)?;
        }
        match slot {
            Slot::Stored(stored) if moving => rows.put(stored.id, (place, state.chain))?,
            Slot::Stored(_) => {}
            Slot::New(message, marks) => {
                cx.check()?;
                rows.insert(session.id, message, marks, (place, state.chain))?;
            }
        }
        if placed == Some(state.count) {
            session.placed = state;
        }
    }
    if !moving {
        clear(rows, session, state.count)?;
    }
    session.total = state;
    rows.write_ends(session)
}

/// Takes the places from `place` on away from whatever stands there.
fn clear(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionRow,
    place: u64,
) -> Result<(), EngineError> {
    if place >= session.total.count {
        return Ok(());
    }
    rows.clear(session.id, place)
}

/// The log from this place on.
fn log_from(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    place: u64,
) -> Result<Vec<Stored>, EngineError> {
    if place >= session.total.count {
        return Ok(Vec::new());
    }
    rows.entries_from(session.id, place)
}

/// The state of the first `count` entries.
fn state_at(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    count: u64,
) -> Result<TranscriptState, EngineError> {
    let Some(last) = count.checked_sub(1) else {
        return Ok(TranscriptState::EMPTY);
    };
    let chain = rows.chain_at(session.id, last)?;
    Ok(TranscriptState { count, chain })
}
