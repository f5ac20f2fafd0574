//! The LOG into the store: its order is the stored log's order, and what it names is moved (R3.2).

use std::collections::{HashMap, HashSet, VecDeque};

use contextwire_engine::durable::LogChange;
use contextwire_engine::{
    EngineError, HookContext, Message, SessionId, Transcript, TranscriptState,
};

use super::rows::{LogRows, Marks, SessionRow, Stored};
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
    for (index, message) in (0u64..).zip(log.range(start..log.len())) {
        if index.is_multiple_of(CHECK_EVERY) {
            cx.check()?;
        }
        let slot = slot(rows, &session, &mut pool, message)?;
        imported += u64::from(matches!(slot, Slot::New(..)));
        slots.push(slot);
    }
    slots.extend(pool.tail(session.placed.count).map(Slot::Stored));
    let arrangement = Arrangement {
        from: common,
        slots,
        placed: Some(log.state().count),
    };
    arrange(rows, cx, &mut session, &arrangement)?;
    Ok(LogUpdate::Applied { imported })
}

/// Says that the host's process begins with the log as it is placed now.
///
/// # Errors
/// The store's.
pub fn begin_here(
    rows: &mut (impl LogRows + ?Sized),
    session: &SessionId,
) -> Result<(), EngineError> {
    let mut session = opened(rows, session)?;
    session.ingest_floor = session.placed.count;
    rows.write_ends(&session)
}

/// The body for a message of the LOG: the one in the log, one that left it, or a new one.
fn slot(
    rows: &(impl LogRows + ?Sized),
    session: &SessionRow,
    pool: &mut Pool,
    message: &Message,
) -> Result<Slot, EngineError> {
    if let Some(stored) = pool.take(message) {
        return Ok(if stored.digest == message.digest() {
            Slot::Stored(stored)
        } else {
            Slot::New(message.clone(), stored.marks)
        });
    }
    let history = rows.retired(session.id, message.entry_id().as_str(), message.digest())?;
    let unused = history
        .into_iter()
        .find(|stored| pool.revived.insert(stored.id));
    Ok(unused.map_or_else(
        || Slot::New(message.clone(), Marks::default()),
        Slot::Stored,
    ))
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
    /// Bodies from the history that are in use again.
    revived: HashSet<i64>,
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
            revived: HashSet::new(),
        }
    }

    fn take(&mut self, message: &Message) -> Option<Stored> {
        let identity = Identity::of(message.entry_id().as_str(), message.digest().0);
        let index = self.by_identity.get_mut(&identity)?.pop_front()?;
        self.entries.get_mut(index)?.take()
    }

    /// What stays behind as the provisional tail: entries that no LOG ever placed.
    fn tail(self, placed: u64) -> impl Iterator<Item = Stored> {
        let left = self.entries.into_iter().flatten();
        left.filter(move |stored| stored.place() >= placed)
    }
}
