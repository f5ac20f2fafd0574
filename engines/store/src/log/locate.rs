//! Where the messages of a closed turn stand in the log, with ids and without.

use std::collections::HashSet;

use contextwire_engine::{EngineError, Message};

use super::rows::{LogRows, SessionRow, Stored, Unclaimed};

/// How many equal entries are looked at for the first message of a turn without ids, the last ones.
const CANDIDATES: usize = 64;

/// A message of the turn, and its entry in the log where it has one.
pub(super) struct Located<'m> {
    pub(super) message: &'m Message,
    pub(super) known: Option<Stored>,
}

impl Located<'_> {
    /// Its place in the log.
    pub(super) fn place(&self) -> Option<u64> {
        self.known.as_ref().map(Stored::place)
    }
}

/// Finds each message of the turn in the log. An id that stands twice in the turn is one message.
///
/// Without ids a turn is the equal run of entries that no other turn has; where several begin alike,
/// the one that goes on as the turn does.
pub(super) fn locate<'m>(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    messages: &'m [Message],
) -> Result<Vec<Located<'m>>, EngineError> {
    let mut seen = HashSet::new();
    let messages: Vec<&Message> = messages
        .iter()
        .filter(|message| message.entry_id().is_empty() || seen.insert(message.entry_id()))
        .collect();
    let mut run = begin(rows, session, &messages)?.into_iter();
    let mut after = None;
    let mut entries = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let known = if let Some(stored) = run.next() {
            Some(stored)
        } else if !message.entry_id().is_empty() {
            rows.by_entry_id(session.id, message.entry_id().as_str())?
        } else if let Some(after) = after {
            next(rows, session, message, after)?
        } else {
            let rest = messages.get(index..).unwrap_or_default();
            start(rows, session, rest)?.map(|(_, stored)| stored)
        };
        if let Some(stored) = &known {
            after = Some(stored.place().saturating_add(1));
        }
        entries.push(Located { message, known });
    }
    Ok(entries)
}

/// The entries of a turn that begins without an id, as far as its beginning tells; the run in what
/// the LOG placed, or the first entry in the tail, whichever says more.
fn begin(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    turn: &[&Message],
) -> Result<Vec<Stored>, EngineError> {
    if turn
        .first()
        .is_none_or(|first| !first.entry_id().is_empty())
    {
        return Ok(Vec::new());
    }
    let placed = placed_run(rows, session, turn)?;
    Ok(match start(rows, session, turn)? {
        Some((run, stored)) if run >= placed.len() => vec![stored],
        Some(_) | None => placed,
    })
}

/// The run of what the LOG placed that is this turn, up to where that ends. It is complete there, so
/// all of the turn must follow; of its entries one at least is no other turn's, since an entry keeps
/// the turn that it was committed with when its host rewinds and says the same again.
fn placed_run(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    turn: &[&Message],
) -> Result<Vec<Stored>, EngineError> {
    for (index, message) in (0u64..).zip(turn) {
        if !message.entry_id().is_empty() {
            continue;
        }
        let candidates = rows.uncommitted(session.id, message.digest(), CANDIDATES)?;
        for candidate in candidates.iter().rev() {
            let Some(place) = candidate.place().checked_sub(index) else {
                continue;
            };
            let mut window = rows.window(session.id, place, turn.len())?;
            window.retain(|stored| stored.place() < session.placed.count);
            let is_turn = window.iter().zip(turn).all(|(stored, message)| {
                stored.digest == message.digest() && stored.entry_id == message.entry_id().as_str()
            });
            if is_turn && candidate.place() < session.placed.count {
                return Ok(window);
            }
        }
    }
    Ok(Vec::new())
}

/// The entry of a message that follows one that was found: the next one, or one further behind in
/// the tail, whose neighbours may not be there yet.
fn next(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    message: &Message,
    after: u64,
) -> Result<Option<Stored>, EngineError> {
    if let Some(stored) = rows.window(session.id, after, 1)?.pop()
        && is_free(&stored, message)
    {
        return Ok(Some(stored));
    }
    let from = after.max(session.placed.count);
    rows.first_unclaimed(session.id, message.digest(), from, Unclaimed::ByTurn)
}

/// The entry of the tail at which the turn begins: the one from which most of it follows, and how
/// much does.
fn start(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    turn: &[&Message],
) -> Result<Option<(usize, Stored)>, EngineError> {
    let Some(first) = turn.first() else {
        return Ok(None);
    };
    let mut best: Option<((usize, bool), Stored)> = None;
    for candidate in rows.uncommitted(session.id, first.digest(), CANDIDATES)? {
        if candidate.place() < session.placed.count {
            continue;
        }
        let window = rows.window(session.id, candidate.place(), turn.len())?;
        let run = window
            .iter()
            .zip(turn)
            .take_while(|(stored, message)| is_free(stored, message))
            .count();
        let rank = (run, window.get(run).is_none());
        if best.as_ref().is_none_or(|(highest, _)| *highest < rank) {
            best = Some((rank, candidate));
        }
    }
    Ok(best.map(|((run, _), stored)| (run, stored)))
}

/// Whether the entry is this message without an id, and no turn's yet.
fn is_free(stored: &Stored, message: &Message) -> bool {
    stored.entry_id.is_empty()
        && message.entry_id().is_empty()
        && stored.digest == message.digest()
        && stored.marks.turn.is_none()
}
