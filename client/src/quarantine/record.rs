//! Which engines are barred in this process, and why (HOST-SEMANTICS 3.7).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use contextwire_engine::SessionId;
use tokio::time::Instant;

/// How long a barred engine rests between two probes, where probes may release it.
pub(super) const PROBE_EVERY: Duration = Duration::from_mins(1);

/// Why an engine is barred. The first failure is kept; later ones change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRecord {
    /// The id that the host selects it by.
    pub engine_id: String,
    /// Who registered it, where somebody did.
    pub owner: Option<String>,
    /// What failed: a hook by its name in the in-process interface, `resolve` or
    /// `contract-validation`.
    pub operation: String,
    /// The engine's own text, or what is wrong with its description.
    pub reason: String,
    /// When, in Unix milliseconds.
    pub failed_at: u64,
    /// The only session that it is barred for; absent: for all.
    pub session: Option<SessionId>,
}

impl QuarantineRecord {
    /// A record of now.
    pub(crate) fn new(engine_id: &str, operation: &str, reason: &str) -> Self {
        Self {
            engine_id: engine_id.to_owned(),
            owner: None,
            operation: operation.to_owned(),
            reason: reason.to_owned(),
            failed_at: unix_millis(),
            session: None,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a time for people to read; nothing is decided by it"
)]
fn unix_millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX)
}

/// The barred engines; clones are one list. Nothing releases an engine but a registration, an
/// operator, or a probe where the host allows probes; it does not survive the process.
#[derive(Clone, Debug, Default)]
pub struct Quarantines(Arc<Mutex<BTreeMap<Key, Barred>>>);

/// An engine, and the session for which it is barred.
type Key = (String, Option<SessionId>);

#[derive(Debug)]
struct Barred {
    record: QuarantineRecord,
    /// When a call may try it.
    probe_at: Instant,
}

/// What a call may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Go on.
    Free,
    /// Go on; its success releases the engine, for this session or for all.
    Probe(Option<SessionId>),
    /// Stop.
    Barred(QuarantineRecord),
}

impl Quarantines {
    /// An empty list of its own.
    pub fn new() -> Self {
        Self::default()
    }

    /// The list that all clients of this process share, unless they are given another.
    pub fn process_wide() -> Self {
        static SHARED: LazyLock<Quarantines> = LazyLock::new(Quarantines::new);
        SHARED.clone()
    }

    /// All records, by engine id.
    pub fn records(&self) -> Vec<QuarantineRecord> {
        let barred = self.lock();
        barred
            .values()
            .map(|barred| barred.record.clone())
            .collect()
    }

    /// The record that bars an engine for every session.
    pub fn record(&self, engine_id: &str) -> Option<QuarantineRecord> {
        let barred = self.lock();
        let barred = barred.get(&(engine_id.to_owned(), None));
        barred.map(|barred| barred.record.clone())
    }

    /// Releases an engine, for every session; says whether it was barred.
    pub fn release(&self, engine_id: &str) -> bool {
        let mut barred = self.lock();
        let before = barred.len();
        barred.retain(|(id, _), _| id != engine_id);
        barred.len() < before
    }

    /// Releases an engine for what it was barred for.
    pub(super) fn lift(&self, engine_id: &str, session: Option<SessionId>) {
        self.lock().remove(&(engine_id.to_owned(), session));
    }

    /// Bars an engine; the first failure wins, and is returned.
    pub(crate) fn bar(&self, record: QuarantineRecord) -> QuarantineRecord {
        let key = (record.engine_id.clone(), record.session.clone());
        let mut barred = self.lock();
        if let Some(first) = barred.get(&key) {
            return first.record.clone();
        }
        tracing::error!(
            engine = %Plain(&record.engine_id),
            owner = %Plain(record.owner.as_deref().unwrap_or_default()),
            operation = record.operation,
            reason = %Plain(&record.reason),
            "the engine failed and is barred: `legacy` serves until it is registered anew"
        );
        let entry = Barred {
            record: record.clone(),
            probe_at: Instant::now() + PROBE_EVERY,
        };
        barred.insert(key, entry);
        record
    }

    /// Whether a call may go to an engine. One that may probe it counts as the probe of this time.
    pub(super) fn admit(&self, engine_id: &str, session: &SessionId, probes: bool) -> Admission {
        let mut barred = self.lock();
        if barred.is_empty() {
            return Admission::Free;
        }
        let id = engine_id.to_owned();
        let keys = [(id.clone(), None), (id, Some(session.clone()))];
        let key = keys.into_iter().find(|key| barred.contains_key(key));
        let Some((key, entry)) = key.and_then(|key| {
            let entry = barred.get_mut(&key)?;
            Some((key, entry))
        }) else {
            return Admission::Free;
        };
        let now = Instant::now();
        if probes && now >= entry.probe_at {
            entry.probe_at = now + PROBE_EVERY;
            return Admission::Probe(key.1);
        }
        Admission::Barred(entry.record.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Barred>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for Quarantines {
    /// Whether both are one list.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Quarantines {}

/// A text without control characters, for lines that people read.
pub(super) struct Plain<'a>(pub(super) &'a str);

impl std::fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        self.0.chars().try_for_each(|letter| {
            if letter.is_control() {
                write!(f, "{}", letter.escape_default())
            } else {
                f.write_char(letter)
            }
        })
    }
}
