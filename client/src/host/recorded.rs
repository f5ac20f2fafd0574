//! Recorded turns go to their engine by way of the outbox (HOST-SEMANTICS 9.2 and 9.4).

use contextwire_engine::{
    EntryAnchor, Message, RuntimeContext, RuntimeSettings, Session, TurnAdmission,
};

use super::Host;
use super::selection::Route;
use super::turn::{Admission, Turn, durability};
use crate::client::EngineClient;
use crate::lifecycle::TurnOutcome;
use crate::options::Policy;
use crate::outbox::{AcceptedTurn, Addressee, NewRow, Outbox, OutboxCall, OutboxError, Row};

/// Rows that a turn waits for before it begins.
const LIMIT: usize = 16;
const PENDING: &str =
    "pending durable turn advancement could not be completed before the next turn";

/// What the outbox keeps of a turn, and for whom.
#[derive(Debug)]
pub(super) struct Journal {
    outbox: Outbox,
    to: Addressee,
    admission: TurnAdmission,
}

/// The end of a recorded turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedEnd {
    /// Its last message.
    pub terminal: EntryAnchor,
    /// The messages from the admission through the terminal entry, with the ids and the bytes that the
    /// log has; absent: they are read from the outbox's source when the turn is delivered.
    pub messages: Option<Vec<Message>>,
    /// Whether it was a heartbeat poll.
    pub is_heartbeat: bool,
    /// Facts of the run; only those of the model are kept.
    pub runtime_context: Option<RuntimeContext>,
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
}

/// What became of a recorded turn. Nothing of it fails the turn.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// It is on the disk, and reaches its engine whatever becomes of this process.
    Queued {
        /// The number of its row.
        row: i64,
    },
    /// It did not complete: nobody is told.
    Discarded,
    /// The host has no outbox, the turn no recorder, or its engine stores no closed turns: it is told
    /// like any other ([`lifecycle::finish`](crate::lifecycle::finish)).
    NotJournaled,
    /// The anchors are not of one session: nothing is told.
    Mismatch,
    /// It could not be written down. The next sync makes up for it.
    Failed(OutboxError),
}

impl Turn {
    /// Whether the outbox tells the engine of this turn, so that no other hook has to:
    /// [`TurnDelta::is_recorded`](crate::lifecycle::TurnDelta::is_recorded).
    pub fn is_journaled(&self) -> bool {
        self.held.journal.is_some()
    }

    /// Writes down how the turn ended, before it is answered; the outbox tells the engine in the
    /// background. Also for a turn that the engine failed: what is stored is still stored (R7.4).
    pub async fn record(&self, outcome: TurnOutcome, end: RecordedEnd) -> Recorded {
        let Some(journal) = &self.held.journal else {
            self.warn_of_half_a_promise();
            return Recorded::NotJournaled;
        };
        let recorded = if outcome != TurnOutcome::Completed {
            journal.discard().await
        } else if !is_of_one_session(&journal.admission.anchor, &end.terminal) {
            Ok(Recorded::Mismatch)
        } else {
            let row = journal.write(&self.held.session, end).await;
            row.map(|row| Recorded::Queued { row })
        };
        let recorded = recorded.unwrap_or_else(Recorded::Failed);
        match &recorded {
            Recorded::Failed(error) => {
                tracing::warn!(engine = journal.to.engine, %error, "the turn was not recorded");
            }
            Recorded::Mismatch => tracing::warn!(
                engine = journal.to.engine,
                "the accepted turn is not of the session that it was admitted to"
            ),
            Recorded::Queued { .. } | Recorded::Discarded | Recorded::NotJournaled => {}
        }
        recorded
    }

    /// An engine that says that it stores turns, and has no method to do so (HOST-SEMANTICS 9.2).
    fn warn_of_half_a_promise(&self) {
        let Route::Engine(registration, client) = &self.held.route else {
            return;
        };
        let known = client.known.last();
        let has_outbox = self.held.selection.outbox.is_some();
        if has_outbox
            && known.is_some_and(|engine| {
                durability::promises(&engine.info) && !durability::is_durable(&engine.info)
            })
        {
            tracing::warn!(
                engine = registration.id,
                "the engine declares durable turns and has no CommitTurn: nothing is committed"
            );
        }
    }
}

impl Journal {
    async fn discard(&self) -> Result<Recorded, OutboxError> {
        let key = &self.admission.logical_turn_id;
        self.outbox.discard(key).await?;
        Ok(Recorded::Discarded)
    }

    async fn write(&self, session: &Session, end: RecordedEnd) -> Result<i64, OutboxError> {
        let RecordedEnd {
            terminal,
            messages,
            is_heartbeat,
            runtime_context,
            runtime_settings,
        } = end;
        let turn = AcceptedTurn {
            admission: self.admission.clone(),
            terminal,
            is_heartbeat,
            runtime_context,
            runtime_settings,
        };
        let (to, session) = (self.to.clone(), session.clone());
        let Some(messages) = messages else {
            return self.outbox.accept(to, session, turn).await;
        };
        let row = NewRow {
            to,
            session,
            scope: <_>::default(),
            call: OutboxCall::CommitTurn(Box::new(turn.with_messages(messages))),
        };
        self.outbox.append(row).await
    }
}

impl Host {
    /// What the outbox keeps of a turn that begins, and why the turn cannot have its engine. An
    /// engine that cannot be asked may still be told later; one that stores no turns cannot.
    pub(super) async fn journal(
        &self,
        session: &Session,
        route: &Route,
        (admission, issue): (&Admission, Option<String>),
    ) -> (Option<Journal>, Option<String>) {
        let (Some(outbox), Admission::Recorded(admission), Route::Engine(registration, client)) =
            (&self.selection.outbox, admission, route)
        else {
            return (None, issue);
        };
        // Whoever cannot be asked now is taken as last known.
        let is_there = issue.is_none() && client.introduced().await.is_ok();
        let known = client.known.last();
        if known.is_some_and(|engine| !durability::is_durable(&engine.info)) {
            return (None, issue);
        }
        let journal = Journal {
            outbox: outbox.clone(),
            to: Addressee {
                engine: registration.id.clone(),
                owner: registration.plugin().map(str::to_owned),
            },
            admission: admission.clone(),
        };
        let by_lease = self.selection.options().policy == Policy::Lease;
        let begun = journal.begin(session, is_there.then_some(&**client)).await;
        let found = begun.unwrap_or_else(|error| {
            tracing::warn!(engine = journal.to.engine, %error, "the outbox cannot be used");
            Some(format!("the outbox cannot be used: {error}"))
        });
        // Without a lease the log makes up for what the engine was not told yet.
        (Some(journal), issue.or(found.filter(|_| by_lease)))
    }
}

impl Journal {
    /// Takes up what an earlier run left, delivers it, and records the admission; says why the turn
    /// should not have its engine.
    async fn begin(
        &self,
        session: &Session,
        client: Option<&EngineClient>,
    ) -> Result<Option<String>, OutboxError> {
        let left = self.outbox.recover(&self.to, session).await?;
        let blocked = left.iter().filter(|row| !row.is_pending()).count();
        if blocked > 0 {
            tracing::warn!(
                engine = self.to.engine,
                blocked,
                "turns of the session cannot be read"
            );
        }
        let mut pending = left.iter().any(Row::is_pending);
        if pending && let Some(client) = client {
            let drained = self.outbox.drain(&self.to, session, client, LIMIT).await?;
            pending = drained.pending;
        }
        let (to, admission) = (self.to.clone(), self.admission.clone());
        self.outbox.admit(to, session.clone(), admission).await?;
        Ok(pending.then(|| PENDING.to_owned()))
    }
}

/// Whether two anchors name one session. What only one of them says is no difference.
fn is_of_one_session(first: &EntryAnchor, last: &EntryAnchor) -> bool {
    let same = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
    same(&first.session_id, &last.session_id)
        && same(&first.agent_id, &last.agent_id)
        && same(&first.session_key, &last.session_key)
        && same(&first.store_path, &last.store_path)
}
