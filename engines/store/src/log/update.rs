//! The LOG into the store: its order is the stored log's order, and what it names is moved (R3.2).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use contextwire_engine::durable::LogChange;
use contextwire_engine::{
    EngineError, HookContext, Message, SessionId, Transcript, TranscriptState,
};

use super::rows::{Heard, LogRows, Marks, SessionRow, Stored};
use super::{Arrangement, CHECK_EVERY, Slot, arrange, log_from, opened, state_at};

/// What became of a LOG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogUpdate {
    /// The stored log is this one now, the provisional tail apart.
    Applied {
        /// Bodies that were new.
        imported: u64,
    },
    /// The stored log goes on after this one, and the call may not shorten it.
    Ahead,
    /// The stored log is another one, and the call may not replace it.
    Differs,
}

/// Makes the stored log this one, as far as the call may.
///
/// What no LOG ever placed stays behind it as the provisional tail. Only a LOG that may replace
/// takes entries out of the tail: those that their host said were there before it made this LOG, and
/// behind whose beginning it has others.
///
/// # Errors
/// [`contextwire_engine::ErrorKind::Cancelled`], the store's.
pub fn update(
    rows: &mut (impl LogRows + ?Sized),
    cx: &HookContext,
    session: &SessionId,
    log: &Transcript,
    change: LogChange,
) -> Result<LogUpdate, EngineError> {
    let mut session = opened(rows, session)?;
    let change = allowed(rows, &session, cx, change)?;
    let common = common_prefix(rows, &session, log)?;
    if common.count < session.placed.count && change == LogChange::Extend {
        let is_prefix = common == log.state();
        return Ok(if is_prefix {
            LogUpdate::Ahead
        } else {
            LogUpdate::Differs
        });
    }
    let mut pool = Pool::new(log_from(rows, &session, common.count)?);
    let start = usize::try_from(common.count).unwrap_or(usize::MAX);
    let mut slots = Vec::with_capacity(log.len().saturating_sub(start));
    let mut imported = 0;
    // Up to where the LOG reaches in the tail as it was.
    let mut reach = if common.count < session.placed.count {
        u64::MAX
    } else {
        0
    };
    for (index, message) in (0u64..).zip(log.range(start..log.len())) {
        if index.is_multiple_of(CHECK_EVERY) {
            cx.check()?;
        }
        let (slot, place) = slot(rows, &session, &mut pool, message)?;
        imported += u64::from(matches!(slot, Slot::New(..)));
        reach = reach.max(place);
        slots.push(slot);
    }
    let is_gone = |stored: &Stored| {
        let hook = stored.marks.hook;
        change == LogChange::Replace
            && stored.place() < reach
            && hook.is_some_and(|hook| hook.was_minted_before(cx.hook_id))
    };
    let tail = pool.tail(session.placed.count);
    slots.extend(tail.filter(|stored| !is_gone(stored)).map(Slot::Stored));
    hear(rows, &session, cx)?;
    let arrangement = Arrangement {
        from: common,
        slots,
        placed: Some(log.state().count),
    };
    arrange(rows, cx, &mut session, &arrangement)?;
    Ok(LogUpdate::Applied { imported })
}

/// Notes that this call's LOG is the newest one.
fn hear(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionRow,
    cx: &HookContext,
) -> Result<(), EngineError> {
    if is_outdated(rows, session, cx)? {
        return Ok(());
    }
    let heard = Heard {
        log: Some(cx.hook_id),
        epoch: cx.order.map(|order| order.host_epoch),
        ..rows.heard(session.id)?
    };
    rows.put_heard(session.id, &heard)
}

/// Whether a host made this call before the LOG that became the stored one last: what that LOG lacks,
/// or has otherwise, this call does not bring back (R7.9). Calls of different processes are told
/// apart by their epochs, since their clocks may differ.
pub(super) fn is_outdated(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    cx: &HookContext,
) -> Result<bool, EngineError> {
    let Heard { log, epoch, .. } = rows.heard(session.id)?;
    let epochs = cx.order.map(|order| order.host_epoch).zip(epoch);
    Ok(match epochs {
        Some((call, last)) if call != last => call < last,
        Some(_) | None => log.is_some_and(|log| cx.hook_id.was_minted_before(log)),
    })
}

/// What the LOG of this call may do: a delayed one that is older than the stored one only extends it.
fn allowed(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    cx: &HookContext,
    change: LogChange,
) -> Result<LogChange, EngineError> {
    let is_delayed = change == LogChange::Replace && is_outdated(rows, session, cx)?;
    Ok(if is_delayed {
        LogChange::Extend
    } else {
        change
    })
}

/// Says that the host's process begins with the log as it is placed now, unless it has begun. A call
/// whose `epoch` is unknown counts as a new process.
///
/// # Errors
/// The store's.
pub fn begin_here(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionId,
    epoch: Option<u64>,
) -> Result<(), EngineError> {
    let session = opened(rows, session)?;
    let heard = rows.heard(session.id)?;
    if epoch.is_some() && heard.process >= epoch {
        return Ok(());
    }
    rows.claim(session.id, session.placed.count)?;
    let process = epoch.or(heard.process);
    rows.put_heard(session.id, &Heard { process, ..heard })
}

/// The body for a message of the LOG: the one in the log, one that left it, or a new one; with its
/// place in the log as it was, or a place behind everything.
fn slot(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    pool: &mut Pool,
    message: &Message,
) -> Result<(Slot, u64), EngineError> {
    if let Some(stored) = pool.take(message) {
        let place = stored.place();
        let slot = if stored.digest == message.digest() {
            Slot::Stored(stored)
        } else {
            Slot::New(message.clone(), stored.marks)
        };
        return Ok((slot, place));
    }
    let unused = pool.revive(rows, session, message)?;
    let slot = unused.map_or_else(
        || Slot::New(message.clone(), Marks::default()),
        Slot::Stored,
    );
    Ok((slot, u64::MAX))
}

/// How far the placed log and this one are equal, by a search over their chains.
fn common_prefix(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    log: &Transcript,
) -> Result<TranscriptState, EngineError> {
    if log.starts_with(&session.placed) {
        return Ok(session.placed);
    }
    let (mut low, mut high) = (0, session.placed.count.min(log.state().count));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if log.starts_with(&state_at(rows, session, middle)?) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    state_at(rows, session, low)
}

/// Entries of the stored log behind the common part, to be found by identity once each.
struct Pool {
    entries: Vec<Option<Stored>>,
    by_identity: HashMap<Identity, VecDeque<usize>>,
    /// Bodies of the history that are not in use again yet, looked up once an identity: of equal
    /// ones there may be as many as the log is long.
    history: HashMap<(String, [u8; 32]), VecDeque<Stored>>,
}

/// R2.3: the entry id, else the digest and which equal one it is.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Id(String),
    Equal([u8; 32]),
}

impl Identity {
    fn of(entry_id: &str, digest: [u8; 32]) -> Self {
        if entry_id.is_empty() {
            Self::Equal(digest)
        } else {
            Self::Id(entry_id.to_owned())
        }
    }
}

impl Pool {
    fn new(entries: Vec<Stored>) -> Self {
        let mut by_identity: HashMap<_, VecDeque<_>> = HashMap::new();
        for (index, stored) in entries.iter().enumerate() {
            let identity = Identity::of(&stored.entry_id, stored.digest.0);
            by_identity.entry(identity).or_default().push_back(index);
        }
        let entries = entries.into_iter().map(Some).collect();
        Self {
            entries,
            by_identity,
            history: HashMap::new(),
        }
    }

    fn take(&mut self, message: &Message) -> Option<Stored> {
        let identity = Identity::of(message.entry_id().as_str(), message.digest().0);
        let index = self.by_identity.get_mut(&identity)?.pop_front()?;
        self.entries.get_mut(index)?.take()
    }

    /// The newest body of the history for this message that no other message has yet.
    fn revive(
        &mut self,
        rows: &(impl LogRows + ?Sized),
        session: &SessionRow,
        message: &Message,
    ) -> Result<Option<Stored>, EngineError> {
        let (id, digest) = (message.entry_id().as_str(), message.digest());
        let history = match self.history.entry((id.to_owned(), digest.0)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(rows.retired(session.id, id, digest)?.into()),
        };
        Ok(history.pop_front())
    }

    /// What stays behind as the provisional tail: entries that no LOG ever placed.
    fn tail(self, placed: u64) -> impl Iterator<Item = Stored> {
        let left = self.entries.into_iter().flatten();
        left.filter(move |stored| stored.place() >= placed)
    }
}
