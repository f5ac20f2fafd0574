//! The states of a closed turn on its way to an engine (HOST-SEMANTICS 9.1).

use contextwire_engine::{
    CommitTurn, EntryAnchor, Hook, HookId, Message, RuntimeContext, RuntimeSettings, Scope,
    Session, TurnAdmission,
};
use rusqlite::{Connection, params};

use super::Outbox;
use super::error::OutboxError;
use super::payload;
use super::row::{Addressee, NewRow, OutboxCall, Row, RowState, StoredCall, lane_of};
use super::table::{self, WAITING};
use crate::store::UnreadableTurn;

/// A turn whose result the host has accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcceptedTurn {
    /// The user message that opened it.
    pub admission: TurnAdmission,
    /// Its last message.
    pub terminal: EntryAnchor,
    /// Whether it was a heartbeat poll.
    pub is_heartbeat: bool,
    /// Facts of the run; only those of the model are kept.
    pub runtime_context: Option<RuntimeContext>,
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
}

impl AcceptedTurn {
    /// The call with these messages.
    pub fn with_messages(self, messages: Vec<Message>) -> CommitTurn {
        let Self {
            admission,
            terminal,
            is_heartbeat,
            runtime_context,
            runtime_settings,
        } = self;
        CommitTurn {
            advancement_key: admission.logical_turn_id.clone(),
            admission,
            terminal,
            is_heartbeat,
            runtime_context,
            runtime_settings,
            messages,
        }
    }
}

impl Outbox {
    /// Records that a turn begins: its user message is stored, and nothing is known of its outcome.
    /// A turn that stays so is never delivered.
    ///
    /// # Errors
    /// [`OutboxError::Collision`] where the turn is in the outbox and further already, or another
    /// engine's; [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn admit(
        &self,
        to: Addressee,
        session: Session,
        admission: TurnAdmission,
    ) -> Result<i64, OutboxError> {
        let turn = AcceptedTurn {
            admission,
            ..AcceptedTurn::default()
        };
        let turn = turn.with_messages(Vec::new());
        self.write_turn(to, session, turn, RowState::Admitted).await
    }

    /// Records a turn whose result the host has accepted; its messages are read from the host's
    /// transcript when it is delivered.
    ///
    /// # Errors
    /// As [`Outbox::admit`].
    pub async fn accept(
        &self,
        to: Addressee,
        session: Session,
        turn: AcceptedTurn,
    ) -> Result<i64, OutboxError> {
        let turn = turn.with_messages(Vec::new());
        self.write_turn(to, session, turn, RowState::Accepted).await
    }

    /// Forgets a turn that did not complete. One that was accepted stays.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn discard(&self, logical_turn_id: &str) -> Result<(), OutboxError> {
        let key = logical_turn_id.to_owned();
        self.write(move |db| {
            let sql = "DELETE FROM outbox WHERE kind = ?1 AND key = ?2 AND state = 'admitted'";
            db.prepare_cached(sql)?
                .execute(params![Hook::CommitTurn.name(), key])?;
            Ok(())
        })
        .await
    }

    /// What an earlier run left of a session, for this engine: turns that were only admitted are
    /// forgotten, since nobody knows that they succeeded (HOST-SEMANTICS 9.4). Gives what waits,
    /// and what is kept as a record.
    ///
    /// # Errors
    /// As [`Outbox::discard`].
    pub async fn recover(
        &self,
        to: &Addressee,
        session: &Session,
    ) -> Result<Vec<Row>, OutboxError> {
        let (engine, lane) = (to.engine.clone(), lane_of(session));
        self.write(move |db| {
            let sql = "DELETE FROM outbox WHERE engine = ?1 AND lane = ?2 AND state = 'admitted'";
            db.prepare_cached(sql)?.execute(params![engine, lane])?;
            let condition = format!(
                "engine = ?1 AND lane = ?2 AND (({WAITING}) OR state = 'blocked') ORDER BY id"
            );
            table::select(db, &condition, params![engine, lane])
        })
        .await
    }

    pub(super) async fn write_turn(
        &self,
        to: Addressee,
        session: Session,
        turn: CommitTurn,
        state: RowState,
    ) -> Result<i64, OutboxError> {
        let now_ms = self.now_ms();
        let new = NewRow {
            to,
            session,
            scope: Scope::default(),
            call: OutboxCall::CommitTurn(Box::new(turn)),
        };
        let id = self.write(move |db| put(db, &new, state, now_ms)).await?;
        self.wake();
        Ok(id)
    }
}

/// Writes a turn in a state, where that is a legal step or the very same row.
pub(super) fn put(
    db: &Connection,
    new: &NewRow,
    state: RowState,
    now_ms: u64,
) -> Result<i64, OutboxError> {
    let OutboxCall::CommitTurn(turn) = &new.call else {
        return Err(OutboxError::Unreadable("not a turn".to_owned()));
    };
    let (hook, key) = (Hook::CommitTurn, &turn.advancement_key);
    let Some((row, bytes)) = table::by_key(db, hook.name(), key)? else {
        return table::insert(db, new, (key, state), HookId::mint(), now_ms);
    };
    let collision = || OutboxError::Collision {
        kind: hook.name(),
        key: key.clone(),
    };
    if !table::is_for(&row, &new.to) {
        return Err(collision());
    }
    let old = payload::decode(hook.name(), &bytes).map_err(|_| collision())?;
    // As it comes back from the file: the two are compared in the form that is kept.
    let call = payload::context(old.hook_id, &new.session, &new.scope);
    let written = payload::encode(call, &new.call);
    let now = payload::decode(hook.name(), &written)?;
    let (before, after) = (payload::turn(&old)?, payload::turn(&now)?);
    if row.state == state && before == after {
        return Ok(row.id);
    }
    if row.set_aside_ms.is_some() || !is_legal((row.state, before), (state, after)) {
        return Err(collision());
    }
    table::advance(db, row.id, state, &written)?;
    Ok(row.id)
}

fn is_legal((from, before): (RowState, &CommitTurn), (to, after): (RowState, &CommitTurn)) -> bool {
    let same_admission = before.admission == after.admission;
    let same_turn = same_admission && before.terminal == after.terminal;
    match (from, to) {
        (RowState::Admitted, RowState::Accepted | RowState::Ready) => same_admission,
        (RowState::Accepted, RowState::Ready | RowState::Blocked) => same_turn,
        _ => false,
    }
}

/// The messages of an accepted turn were read: it can be delivered.
pub(super) fn promote(
    db: &Connection,
    id: i64,
    stored: &StoredCall,
    messages: Vec<Message>,
) -> Result<Vec<u8>, OutboxError> {
    let turn = CommitTurn {
        messages,
        ..payload::turn(stored)?.clone()
    };
    let call = payload::context(stored.hook_id, &stored.session, &stored.scope);
    let bytes = payload::encode(call, &OutboxCall::CommitTurn(Box::new(turn)));
    table::advance(db, id, RowState::Ready, &bytes)?;
    Ok(bytes)
}

/// They can never be read: the row is a record from now on.
pub(super) fn block(db: &Connection, id: i64, why: UnreadableTurn) -> Result<(), OutboxError> {
    let sql = "UPDATE outbox SET state = 'blocked', attempts = 0, last_error = ?2, claim = NULL
         WHERE id = ?1 AND state = 'accepted'";
    db.prepare_cached(sql)?
        .execute(params![id, why.to_string()])?;
    Ok(())
}
