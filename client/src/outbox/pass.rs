//! The background delivery: one pass over all lanes, again and again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use rusqlite::params;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Outbox;
use super::delivery::{LANE_LIMIT, Recipient, StoppedAt};
use super::error::OutboxError;
use super::row::Row;
use super::table::{self, WAITING, signed, unsigned};
use super::verdict::WEEK_MS;

/// Lanes that are delivered at the same time.
const LANES: usize = 16;
/// The longest pause: rows of other processes, and those that an operator put back, are seen then.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The pause after a failure of the file.
const FILE_PAUSE: Duration = Duration::from_secs(5);
/// How exactly it is kept when an engine was selected.
const SEEN_EVERY_MS: u64 = 3_600_000;

/// An engine by the id that slots name, and the way to it.
pub type Slot = (String, Arc<dyn Recipient>);

/// Which engine is in the slot at a moment, and how it is reached.
pub trait Selected: Send + Sync + 'static {
    /// What the slot comes to; `None`: only built-in ones, and every row waits. Gives `Err`
    /// once nobody will ask any more.
    ///
    /// # Errors
    /// [`OutboxError::Closed`].
    fn selected(&self) -> Result<Option<Slot>, OutboxError>;
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Rows that the engine acknowledged.
    pub delivered: usize,
    /// When the next row is due, in Unix milliseconds; 0: now.
    pub next_due_ms: Option<u64>,
}

impl Outbox {
    /// Delivers in the background until the guard is dropped; rows stay where they are then. Call it
    /// inside a tokio runtime.
    pub fn deliver_in_background(&self, route: impl Selected) -> DropGuard {
        let ends = CancellationToken::new();
        let stop = ends.clone();
        let outbox = self.clone();
        tokio::spawn(stop.run_until_cancelled_owned(async move {
            let mut changes = outbox.0.due.subscribe();
            let mut last_failed = false;
            loop {
                changes.mark_unchanged();
                let passed = match route.selected() {
                    Err(_) => return,
                    Ok(None) => outbox.tidy("").await.map(|()| Passed::default()),
                    Ok(Some((engine, to))) => outbox.pass(&engine, &*to).await,
                };
                if let Err(error) = &passed
                    && !last_failed
                {
                    tracing::error!(%error, "the outbox cannot be delivered");
                }
                last_failed = passed.is_err();
                let pause = outbox.pause(&passed);
                tokio::select! {
                    () = sleep(pause) => {}
                    changed = changes.changed(), if !last_failed => {
                        if changed.is_err() {
                            return;
                        }
                    }
                }
            }
        }));
        ends.drop_guard()
    }

    fn pause(&self, passed: &Result<Passed, OutboxError>) -> Duration {
        let Ok(passed) = passed else {
            return FILE_PAUSE;
        };
        let due = passed.next_due_ms.map(|due| {
            let wait = due.saturating_sub(self.now_ms());
            Duration::from_millis(wait.max(10))
        });
        due.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE)
    }

    /// One pass over the rows of an engine whose time has come: a lane goes on until one of its rows does not
    /// get there, and the other lanes go on beside it.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn pass(&self, engine: &str, to: &dyn Recipient) -> Result<Passed, OutboxError> {
        self.release_dead().await?;
        self.tidy(engine).await?;
        let now_ms = self.now_ms();
        let due = self.read(|file| file.due_lanes(engine, now_ms))?;
        let mut running = stream::iter(due)
            .map(|lane| async move {
                let asked = (engine, &*lane);
                self.lane(asked, to, (LANE_LIMIT, true)).await
            })
            .buffer_unordered(LANES);
        let (mut delivered, mut is_limited) = (0, false);
        let mut failure = None;
        while let Some(done) = running.next().await {
            match done {
                Ok((went, stopped_at)) => {
                    delivered += went;
                    is_limited |= stopped_at == StoppedAt::Limit;
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        let next = self.read(|file| file.next_due(engine))?;
        Ok(Passed {
            delivered,
            next_due_ms: if is_limited { Some(0) } else { next },
        })
    }

    /// Notes which engine is selected, and sets aside what waited for a week for one that no host
    /// selected.
    async fn tidy(&self, engine: &str) -> Result<(), OutboxError> {
        let now_ms = self.now_ms();
        let (seen, forgotten) = self.read(|file| {
            let seen = file.seen_ms(engine)?;
            Ok((seen, file.forgotten(engine, now_ms)?))
        })?;
        let is_recent = seen.is_some_and(|seen| now_ms.saturating_sub(seen) < SEEN_EVERY_MS);
        if !engine.is_empty() && !is_recent {
            let engine = engine.to_owned();
            self.write(move |db| {
                let sql = "INSERT INTO selected (engine, seen_ms) VALUES (?1, ?2)
                     ON CONFLICT (engine) DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms)";
                db.execute(sql, params![engine, signed(now_ms)])?;
                Ok(())
            })
            .await?;
        }
        for row in forgotten {
            let reason = "its engine was in no slot for 7 days".to_owned();
            let (id, kept) = (row.id, reason.clone());
            self.write(move |db| super::claim::set_aside(db, id, &kept, now_ms))
                .await?;
            self.alert(row, reason);
        }
        Ok(())
    }
}

impl super::OutboxFile {
    /// The lanes of an engine whose first row is due, longest due first.
    fn due_lanes(&self, engine: &str, now_ms: u64) -> Result<Vec<String>, OutboxError> {
        let condition = format!(
            "id IN (SELECT min(id) FROM outbox WHERE engine = ?1 AND {WAITING} GROUP BY lane)
             AND due_ms <= ?2 ORDER BY due_ms, id"
        );
        let rows = table::select(self.db(), &condition, params![engine, signed(now_ms)])?;
        let readable = |row: &Row| row.state != super::RowState::Unrecognised;
        Ok(rows
            .into_iter()
            .filter(readable)
            .map(|row| row.lane)
            .collect())
    }

    fn next_due(&self, engine: &str) -> Result<Option<u64>, OutboxError> {
        let sql = format!(
            "SELECT min(due_ms) FROM outbox WHERE state IN ('accepted', 'ready') AND id IN
             (SELECT min(id) FROM outbox WHERE engine = ?1 AND {WAITING} GROUP BY lane)"
        );
        let mut statement = self.db().prepare_cached(&sql)?;
        let due: Option<i64> = statement.query_row([engine], |row| row.get(0))?;
        Ok(due.map(unsigned))
    }

    fn seen_ms(&self, engine: &str) -> Result<Option<u64>, OutboxError> {
        let sql = "SELECT max(seen_ms) FROM selected WHERE engine = ?1";
        let mut statement = self.db().prepare_cached(sql)?;
        let seen: Option<i64> = statement.query_row([engine], |row| row.get(0))?;
        Ok(seen.map(unsigned))
    }

    /// Rows of engines that no host selected for a week, and that are as old.
    fn forgotten(&self, selected: &str, now_ms: u64) -> Result<Vec<Row>, OutboxError> {
        let Some(week_ago) = now_ms.checked_sub(WEEK_MS) else {
            return Ok(Vec::new());
        };
        let condition = format!(
            "{WAITING} AND engine <> ?1 AND created_ms < ?2 AND NOT EXISTS
             (SELECT 1 FROM selected WHERE selected.engine = outbox.engine AND seen_ms >= ?2)
             ORDER BY id"
        );
        table::select(self.db(), &condition, params![selected, signed(week_ago)])
    }
}
