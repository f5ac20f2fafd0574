//! Brings the rows of one lane to their engine, in order, until one does not get there.

use std::sync::atomic::Ordering;
use std::time::Duration;

use contextwire_engine::{Hook, Message, Session, TurnCommitted};
use rusqlite::params;
use tokio::time::{Instant, sleep};

use super::Outbox;
use super::claim::{self, Head, Wanted};
use super::drained::DrainedSession;
use super::error::OutboxError;
use super::instance;
use super::options::OutboxEvent;
use super::payload;
use super::recipient::{Recipient, acknowledged};
use super::row::{Addressee, Row, RowState, StoredCall, lane_of};
use super::table;
use super::turn;
use super::verdict::{self, Verdict};
use crate::error::{CallError, FailureClass};
use crate::store::{TurnRange, UnreadableTurn};

/// Rows of a lane in one go (HOST-SEMANTICS 9.2).
pub(super) const LANE_LIMIT: usize = 16;
/// How long a turn waits for another process to deliver a row of its session.
const ELSEWHERE: Duration = Duration::from_secs(5);
/// Between two looks at such a row.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What became of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Rows that the engine acknowledged.
    pub delivered: usize,
    /// Whether rows of the lane still wait.
    pub pending: bool,
}

/// What became of one row.
enum Step {
    /// The lane goes on with the next one.
    Next { delivered: bool },
    /// The engine has this turn; the lane goes on.
    Stored(Box<DrainedSession>),
    /// It does not get there now.
    Stop,
}

impl Outbox {
    /// Brings what waits of a session to its engine, in order, whether or not its time has come: before
    /// a run (HOST-SEMANTICS 9.4). At most `limit` rows; waits for a delivery that is under way.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`]; what failed to be delivered is no error.
    pub async fn drain(
        &self,
        to: &Addressee,
        session: &Session,
        recipient: &dyn Recipient,
        limit: usize,
    ) -> Result<Drained, OutboxError> {
        let lane = lane_of(session);
        let ends = Instant::now() + ELSEWHERE;
        let mut done = Drained::default();
        loop {
            let room = limit.saturating_sub(done.delivered);
            let asked = (&*to.engine, &*lane);
            let (went, stopped_at) = self.lane(asked, recipient, (room, false)).await?;
            done.delivered += went;
            done.pending = stopped_at != StoppedAt::Empty;
            if stopped_at != StoppedAt::Elsewhere || Instant::now() >= ends {
                return Ok(done);
            }
            self.release_dead().await?;
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Delivers in a lane; says how many rows went, and why there are no more. Only rows whose time has
    /// come: that is the background delivery, which tells of the session that it drained.
    pub(super) async fn lane(
        &self,
        asked: (&str, &str),
        recipient: &dyn Recipient,
        (limit, heeds_due): (usize, bool),
    ) -> Result<(usize, StoppedAt), OutboxError> {
        let mut newest = None;
        let terms = (limit, heeds_due);
        // Boxed: a turn waits for this, and its future is its caller's.
        let done = Box::pin(self.lane_rows(asked, recipient, terms, &mut newest)).await;
        self.tell_drained(newest.filter(|_| heeds_due));
        done
    }

    async fn lane_rows(
        &self,
        (engine, lane): (&str, &str),
        recipient: &dyn Recipient,
        (limit, heeds_due): (usize, bool),
        newest: &mut Option<DrainedSession>,
    ) -> Result<(usize, StoppedAt), OutboxError> {
        let _turn = self.0.lanes.enter(engine, lane).await;
        let mut delivered = 0;
        for _ in 0..limit {
            let wanted = Wanted {
                engine: engine.to_owned(),
                lane: lane.to_owned(),
                claim: self.next_claim(),
                now_ms: self.now_ms(),
                heeds_due,
            };
            let claim = wanted.claim.clone();
            let head = self.write(move |db| claim::head(db, &wanted)).await?;
            let (row, bytes) = match head {
                Head::Claimed(row, bytes) => (row, bytes),
                Head::Empty => return Ok((delivered, StoppedAt::Empty)),
                Head::Elsewhere => return Ok((delivered, StoppedAt::Elsewhere)),
                Head::NotDue | Head::Unrecognised => return Ok((delivered, StoppedAt::Row)),
            };
            match self.bring(*row, &bytes, &claim, recipient).await? {
                Step::Next { delivered: true } => delivered += 1,
                Step::Next { delivered: false } => {}
                Step::Stored(turn) => {
                    delivered += 1;
                    *newest = Some(*turn);
                }
                Step::Stop => return Ok((delivered, StoppedAt::Row)),
            }
        }
        let (engine, lane) = (engine.to_owned(), lane.to_owned());
        let left = self.read(move |file| file.waits(&engine, &lane))?;
        let stopped_at = if left {
            StoppedAt::Limit
        } else {
            StoppedAt::Empty
        };
        Ok((delivered, stopped_at))
    }

    /// One row: read where it has to be, sent, and written down what came of it.
    async fn bring(
        &self,
        row: Row,
        bytes: &[u8],
        claim: &str,
        recipient: &dyn Recipient,
    ) -> Result<Step, OutboxError> {
        let mut stored = match payload::decode(&row.hook, bytes) {
            Ok(stored) => stored,
            Err(error) => return self.put_off(row, claim, &error.to_string()).await,
        };
        if row.state == RowState::Accepted {
            match self.range(&stored).await? {
                TurnRange::Messages(messages) => {
                    let read = self.promote(row.id, claim, stored, messages).await?;
                    let Some(read) = read else {
                        return Ok(Step::Stop);
                    };
                    stored = read;
                }
                TurnRange::Unavailable(why) => {
                    return self.put_off(row, claim, &why).await;
                }
                TurnRange::Never(why) => return self.blocked(row, claim, why).await,
            }
        }
        let answer = recipient.deliver(stored.to_call()).await;
        match answer.and_then(|answer| acknowledged(&row, &answer.result)) {
            Ok(committed) => self.delivered(row, claim, stored, committed).await,
            Err(error) if verdict::is_moot(&stored, &error) => {
                tracing::warn!(
                    row = row.id,
                    spawn = row.key,
                    engine = row.engine,
                    "the preparation of a started child was over: the child runs as an isolated one"
                );
                self.delivered(row, claim, stored, None).await
            }
            Err(error) => self.refused(row, claim, &error, recipient.is_ready()).await,
        }
    }

    /// Keeps the messages of a turn with it, so that what was tried once is what is tried again. `None`:
    /// somebody else has the row by now.
    async fn promote(
        &self,
        id: i64,
        claim: &str,
        stored: StoredCall,
        messages: Vec<Message>,
    ) -> Result<Option<StoredCall>, OutboxError> {
        let claim = claim.to_owned();
        self.write(move |db| {
            if !claim::holds(db, id, &claim)? {
                return Ok(None);
            }
            let bytes = turn::promote(db, id, &stored, messages)?;
            payload::decode(Hook::CommitTurn.name(), &bytes).map(Some)
        })
        .await
    }

    async fn range(&self, stored: &StoredCall) -> Result<TurnRange, OutboxError> {
        let turn = payload::turn(stored)?;
        let Some(source) = &self.0.options.source else {
            let why = "this host gave the outbox no transcripts to read turns from";
            return Ok(TurnRange::Unavailable(why.to_owned()));
        };
        let reading = source
            .0
            .read(&stored.session, &turn.admission, &turn.terminal);
        Ok(reading.await)
    }

    async fn delivered(
        &self,
        row: Row,
        claim: &str,
        stored: StoredCall,
        committed: Option<TurnCommitted>,
    ) -> Result<Step, OutboxError> {
        let hurries = self.0.was_away.swap(false, Ordering::Relaxed);
        let (engine, now_ms) = (row.engine.clone(), self.now_ms());
        self.settle(row.id, claim, move |db, id| {
            if hurries {
                hurry(db, &engine, now_ms)?;
            }
            table::remove(db, id)
        })
        .await?;
        let Some(committed) = committed else {
            self.tell(OutboxEvent::Told { row });
            return Ok(Step::Next { delivered: true });
        };
        let engine = row.engine.clone();
        self.tell(OutboxEvent::TurnStored {
            row,
            session: Box::new(stored.session.clone()),
            committed,
        });
        let drained = DrainedSession::of(engine, stored);
        Ok(Step::Stored(Box::new(drained)))
    }

    async fn refused(
        &self,
        row: Row,
        claim: &str,
        error: &CallError,
        is_ready: bool,
    ) -> Result<Step, OutboxError> {
        if error.class() == FailureClass::Transient {
            self.0.was_away.store(true, Ordering::Relaxed);
        }
        let verdict = verdict::verdict(&row, error, is_ready, self.now_ms());
        self.judged(row, claim, verdict, verdict::text(error)).await
    }

    /// Nothing was sent: its time comes again.
    async fn put_off(&self, row: Row, claim: &str, why: &str) -> Result<Step, OutboxError> {
        let now_ms = self.now_ms();
        let due_ms = now_ms.saturating_add(verdict::wait_ms(&row));
        let later = Verdict::Later { due_ms };
        let verdict = verdict::overdue(&row, why, now_ms).unwrap_or(later);
        self.judged(row, claim, verdict, why.to_owned()).await
    }

    async fn judged(
        &self,
        row: Row,
        claim: &str,
        verdict: Verdict,
        said: String,
    ) -> Result<Step, OutboxError> {
        let now_ms = self.now_ms();
        match verdict {
            Verdict::Later { due_ms } => {
                tracing::warn!(
                    row = row.id,
                    hook = row.hook,
                    engine = row.engine,
                    error = said,
                    "a call stays in the outbox"
                );
                self.settle(row.id, claim, move |db, id| {
                    claim::failed(db, id, &said, (now_ms, due_ms))
                })
                .await?;
                Ok(Step::Stop)
            }
            Verdict::Aside { reason } => {
                let kept = reason.clone();
                let ours = self
                    .settle(row.id, claim, move |db, id| {
                        claim::set_aside(db, id, &kept, now_ms)
                    })
                    .await?;
                if ours {
                    self.alert(row, reason);
                }
                Ok(Step::Next { delivered: false })
            }
        }
    }

    async fn blocked(
        &self,
        row: Row,
        claim: &str,
        why: UnreadableTurn,
    ) -> Result<Step, OutboxError> {
        tracing::warn!(row = row.id, engine = row.engine, %why,
            "a turn can never be read: its row is kept as a record");
        self.settle(row.id, claim, move |db, id| turn::block(db, id, why))
            .await?;
        Ok(Step::Next { delivered: false })
    }

    /// Writes what came of a row, unless somebody else has it by now; says whether it did.
    async fn settle(
        &self,
        id: i64,
        claim: &str,
        act: impl FnOnce(&rusqlite::Connection, i64) -> Result<(), OutboxError> + Send + 'static,
    ) -> Result<bool, OutboxError> {
        let claim = claim.to_owned();
        self.write(move |db| {
            let ours = claim::holds(db, id, &claim)?;
            if ours {
                act(db, id)?;
            }
            Ok(ours)
        })
        .await
    }

    pub(super) fn alert(&self, row: Row, reason: String) {
        tracing::error!(
            row = row.id,
            hook = row.hook,
            engine = row.engine,
            reason,
            "a call was set aside: see `contextwire outbox show`"
        );
        self.tell(OutboxEvent::SetAside { row, reason });
    }

    fn tell(&self, event: OutboxEvent) {
        if let Some(observer) = &self.0.options.observer {
            observer.tell(event);
        }
    }

    /// Takes up what hosts that have ended held.
    pub(super) async fn release_dead(&self) -> Result<(), OutboxError> {
        let own = self.0.instance.id().to_owned();
        let others = self.read(move |file| file.others(&own))?;
        let dead = self.0.instance.dead_of(&self.0.path, &others);
        if dead.is_empty() {
            return Ok(());
        }
        self.write(move |db| instance::release(db, &dead)).await
    }
}

/// Why a lane went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoppedAt {
    /// Nothing waits any more.
    Empty,
    /// Its first row does not get there now.
    Row,
    /// Another process delivers its first row.
    Elsewhere,
    /// As many rows as were asked for.
    Limit,
}

/// The engine is back: what waited only for that goes now.
fn hurry(db: &rusqlite::Connection, engine: &str, now_ms: u64) -> Result<(), OutboxError> {
    db.prepare_cached(
        "UPDATE outbox SET due_ms = 0 WHERE engine = ?1 AND due_ms > ?2 AND aside_ms IS NULL AND
           (last_error LIKE 'UNREACHABLE:%' OR last_error LIKE 'BREAKER\\_OPEN:%' ESCAPE '\\'
            OR last_error LIKE 'DEADLINE\\_EXCEEDED:%' ESCAPE '\\' OR last_error LIKE 'SILENT:%')",
    )?
    .execute(params![engine, table::signed(now_ms)])?;
    Ok(())
}
