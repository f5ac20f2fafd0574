//! The durable outbox: calls that have to reach their engine whatever becomes of this process
//! (HOST-SEMANTICS 9, R7.11), in one SQLite file a host.
//!
//! A row is on the disk before its turn is answered. Rows of one lane (a session's key, or its id
//! without one) go one after the other, in the order of writing; lanes flow beside each other. A row
//! is delivered under the same key until the engine acknowledges it, and deleted then. What can never
//! be delivered is set aside: with an alert, never deleted, and holding nothing back.
//!
//! Two processes may have one file open. Whoever delivers a row claims it first; a claim ends with
//! its process or after 30 seconds, and what its holder does afterwards changes nothing.
//!
//! The same file keeps the spawns that are under way (R9.3) and the map from native entry ids to
//! those that engines know (R2.3).
//!
//! ```no_run
//! use contextwire_client::engine::{EndSubagent, Session, SessionId};
//! use contextwire_client::outbox::{Addressee, NewRow, Outbox, OutboxCall, OutboxOptions};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let outbox = Outbox::open("/var/lib/my-host/outbox.sqlite3", OutboxOptions::default())?;
//! let end = EndSubagent {
//!     child_session_key: "agent:main:child".to_owned(),
//!     reason: "completed".to_owned(),
//!     ..EndSubagent::default()
//! };
//! let row = NewRow {
//!     to: Addressee::new("lossless"),
//!     session: Session::new(SessionId::new("child")?),
//!     scope: <_>::default(),
//!     call: OutboxCall::EndSubagent(end),
//! };
//! outbox.append(row).await?; // on the disk now
//! # Ok(())
//! # }
//! ```

mod claim;
mod connection;
mod delivery;
mod drained;
mod error;
mod file;
mod instance;
mod lanes;
mod lineage;
mod options;
mod pass;
mod payload;
mod recipient;
mod row;
mod source;
mod spawn;
mod table;
mod turn;
mod verdict;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use contextwire_engine::{Hook, HookId};
use rusqlite::Connection;
use tokio::sync::{mpsc, watch};

pub use delivery::Drained;
pub(crate) use drained::DrainedSession;
pub use error::OutboxError;
pub use file::OutboxFile;
pub use lineage::SessionLineage;
pub use options::{OutboxEvent, OutboxObserver, OutboxOptions, WallClock};
pub use pass::{Passed, Selected, Slot};
pub use recipient::{Delivering, Recipient};
pub use row::{Addressee, NewRow, OutboxCall, Row, RowState, StoredCall};
pub use source::{ReadingTurn, StoredTurns, TurnSource};
pub use spawn::OpenSpawn;
pub use turn::AcceptedTurn;

use crate::status::OutboxStatus;
use instance::Instance;
use lanes::Lanes;
use writer::Writer;

/// A host's outbox. Cheap to clone; clones are one. All methods work from any thread and any runtime,
/// and none of the asynchronous ones blocks it.
///
/// The last clone that is dropped waits for the writes that are under way.
#[derive(Clone, Debug)]
pub struct Outbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    writer: Writer,
    reader: Mutex<OutboxFile>,
    instance: Instance,
    options: OutboxOptions,
    lanes: Lanes,
    claims: AtomicU64,
    /// Whether engines could not be reached lately.
    was_away: AtomicBool,
    /// Who offers maintenance to the sessions that were drained.
    drained: OnceLock<mpsc::UnboundedSender<DrainedSession>>,
    /// Something is to be delivered.
    due: watch::Sender<u64>,
    /// Something is written.
    written: watch::Sender<u64>,
}

impl Outbox {
    /// Opens the file, and makes it and its folder where they are missing, for their user alone. It
    /// reads and writes a few pages; for the start of a host.
    ///
    /// # Errors
    /// [`OutboxError::Open`], [`OutboxError::Foreign`], [`OutboxError::Newer`].
    pub fn open(path: impl Into<PathBuf>, options: OutboxOptions) -> Result<Self, OutboxError> {
        let path = path.into();
        let connection = connection::open(&path, options.max_bytes)?;
        let instance = Instance::begin(&path, &connection)?;
        let reader = OutboxFile::open(&path)?;
        Ok(Self(Arc::new(Inner {
            writer: Writer::start(&path, connection)?,
            reader: Mutex::new(reader),
            path,
            instance,
            options,
            lanes: Lanes::default(),
            claims: AtomicU64::new(0),
            was_away: AtomicBool::new(false),
            drained: OnceLock::new(),
            due: watch::Sender::new(0),
            written: watch::Sender::new(0),
        })))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes a row; it is on the disk when this returns. The very same row again changes nothing. A
    /// turn has to have its messages; one that is read later goes by [`Outbox::accept`].
    ///
    /// # Errors
    /// [`OutboxError::Collision`] where the key was written for something else;
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn append(&self, new: NewRow) -> Result<i64, OutboxError> {
        let now_ms = self.now_ms();
        let id = self
            .write(move |db| match &new.call {
                OutboxCall::CommitTurn(_) => turn::put(db, &new, RowState::Ready, now_ms),
                OutboxCall::ResolveSubagentSpawn { request, .. } => {
                    keyed(db, &new, &request.spawn_id, now_ms)
                }
                OutboxCall::EndSubagent(_) => {
                    let hook_id = HookId::mint();
                    let key = (&*hook_id.to_string(), RowState::Ready);
                    table::insert(db, &new, key, hook_id, now_ms)
                }
            })
            .await?;
        self.wake();
        Ok(id)
    }

    /// A session succeeds another (HOST-SEMANTICS 10.5): what waits under the old id goes before what
    /// comes under the new one, and the map of entry ids goes along. A session with a key keeps its
    /// lane anyway.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn succeed(
        &self,
        from: &contextwire_engine::SessionId,
        to: &contextwire_engine::SessionId,
    ) -> Result<(), OutboxError> {
        let (from, to) = (from.as_str().to_owned(), to.as_str().to_owned());
        self.write(move |db| {
            let lanes = [&from, &to].map(|id| format!("id {id}"));
            db.execute("UPDATE outbox SET lane = ?2 WHERE lane = ?1", lanes)?;
            let copy = "INSERT OR IGNORE INTO lineage (session, native, lineage)
                 SELECT ?2, native, lineage FROM lineage WHERE session = ?1";
            db.execute(copy, [from, to])?;
            Ok(())
        })
        .await
    }

    /// What the outbox holds, with this engine selected. Reads the file for a moment.
    ///
    /// # Errors
    /// [`OutboxError::Database`].
    pub fn status(&self, selected: &str) -> Result<OutboxStatus, OutboxError> {
        self.read(|file| file.status(selected))
    }

    /// All rows in order, without what they hold.
    ///
    /// # Errors
    /// [`OutboxError::Database`].
    pub fn rows(&self) -> Result<Vec<Row>, OutboxError> {
        self.read(OutboxFile::rows)
    }

    /// Tells of each write of this process.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.written.subscribe()
    }

    async fn write<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, OutboxError> + Send + 'static,
    ) -> Result<T, OutboxError> {
        let done = self.0.writer.run(act).await?;
        next(&self.0.written);
        Ok(done)
    }

    fn read<T>(
        &self,
        look: impl FnOnce(&OutboxFile) -> Result<T, OutboxError>,
    ) -> Result<T, OutboxError> {
        let file = self.0.reader.lock();
        look(&file.unwrap_or_else(PoisonError::into_inner))
    }

    fn now_ms(&self) -> u64 {
        self.0.options.clock.now_ms()
    }

    /// Whoever delivers looks again.
    pub(crate) fn wake(&self) {
        next(&self.0.due);
    }

    /// A name for a claim that nobody else ever has.
    fn next_claim(&self) -> String {
        let number = self.0.claims.fetch_add(1, Ordering::Relaxed);
        format!("{}/{number}", self.0.instance.id())
    }
}

fn next(of: &watch::Sender<u64>) {
    of.send_modify(|count| *count = count.wrapping_add(1));
}

/// A row of a call whose key is its own; the same call again is the same row.
fn keyed(db: &Connection, new: &NewRow, key: &str, now_ms: u64) -> Result<i64, OutboxError> {
    let hook: Hook = new.hook();
    let Some((row, bytes)) = table::by_key(db, hook.name(), key)? else {
        let key = (key, RowState::Ready);
        return table::insert(db, new, key, HookId::mint(), now_ms);
    };
    let same = payload::decode(hook.name(), &bytes).is_ok_and(|old| {
        let call = payload::context(old.hook_id, &new.session, &new.scope);
        payload::encode(call, &new.call) == bytes
    });
    if same && table::is_for(&row, &new.to) {
        return Ok(row.id);
    }
    Err(OutboxError::Collision {
        kind: hook.name(),
        key: key.to_owned(),
    })
}

#[cfg(test)]
mod tests;
