//! Spawns that are under way: written down before the engine is asked, settled after a crash (R9.3).

use contextwire_engine::{
    HookId, PrepareSubagentSpawn, ResolveSubagentSpawn, Scope, Session, SpawnOutcome,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::Outbox;
use super::error::OutboxError;
use super::payload;
use super::row::{Addressee, NewRow, OutboxCall};
use super::table::{signed, unsigned};

/// A spawn that was asked for and is not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenSpawn {
    /// The engine that prepared it, or was asked to.
    pub to: Addressee,
    /// The parent's session.
    pub session: Session,
    /// What was asked.
    pub request: PrepareSubagentSpawn,
    /// When it was written down, in Unix milliseconds.
    pub created_ms: u64,
    /// Whether the host that wrote it down has ended: it has to be settled by somebody else.
    pub is_orphan: bool,
}

impl Outbox {
    /// Writes a spawn down; on the disk when this returns, so that the engine may be asked. The same one
    /// again (a renewal) makes it this process's.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn journal_spawn(
        &self,
        to: Addressee,
        session: &Session,
        request: &PrepareSubagentSpawn,
    ) -> Result<(), OutboxError> {
        let call = payload::context(HookId::mint(), session, &Scope::default());
        let bytes = payload::encode_spawn(call, request.clone());
        let (id, now_ms) = (request.spawn_id.clone(), self.now_ms());
        let instance = self.0.instance.id().to_owned();
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO spawn (spawn_id, engine, owner, instance, payload, created_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (spawn_id) DO UPDATE SET instance = excluded.instance",
            )?
            .execute(params![
                id,
                to.engine,
                to.owner,
                instance,
                bytes,
                signed(now_ms)
            ])?;
            Ok(())
        })
        .await
    }

    /// Settles a spawn: it is out of the journal, and what became of it is a row for its engine, in one
    /// transaction. Settling it again the same way changes nothing.
    ///
    /// # Errors
    /// [`OutboxError::UnknownSpawn`] where it was never written down, or settled and delivered;
    /// [`OutboxError::Collision`] where it was settled otherwise; [`OutboxError::Full`],
    /// [`OutboxError::Database`].
    pub async fn settle_spawn(
        &self,
        spawn_id: &str,
        outcome: SpawnOutcome,
    ) -> Result<(), OutboxError> {
        let (spawn_id, now_ms) = (spawn_id.to_owned(), self.now_ms());
        self.write(move |db| settle(db, spawn_id, outcome, now_ms))
            .await?;
        self.wake();
        Ok(())
    }

    /// Takes a spawn out of the journal of which the engine knows nothing: it was never asked, or has
    /// no such method.
    ///
    /// # Errors
    /// [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn forget_spawn(&self, spawn_id: &str) -> Result<(), OutboxError> {
        let spawn_id = spawn_id.to_owned();
        self.write(move |db| remove(db, &spawn_id)).await
    }

    /// All open spawns, oldest first. Those of hosts that have ended are orphans; a host that starts
    /// settles the ones whose children it does not know as rolled back, and journals again those that it
    /// takes up.
    ///
    /// # Errors
    /// [`OutboxError::Unreadable`], [`OutboxError::Full`], [`OutboxError::Database`].
    pub async fn open_spawns(&self) -> Result<Vec<OpenSpawn>, OutboxError> {
        self.release_dead().await?;
        self.write(|db| {
            let mut statement = db.prepare_cached(
                "SELECT engine, owner, instance, payload, created_ms FROM spawn
                 ORDER BY created_ms, spawn_id",
            )?;
            let mut found = statement.query(())?;
            let mut spawns = Vec::new();
            while let Some(row) = found.next()? {
                let bytes: Vec<u8> = row.get(3)?;
                let (call, request) = payload::decode_spawn(&bytes)?;
                spawns.push(OpenSpawn {
                    to: Addressee {
                        engine: row.get(0)?,
                        owner: row.get(1)?,
                    },
                    session: call.session,
                    request,
                    created_ms: unsigned(row.get(4)?),
                    is_orphan: row.get::<_, Option<String>>(2)?.is_none(),
                });
            }
            Ok(spawns)
        })
        .await
    }
}

fn settle(
    db: &Connection,
    spawn_id: String,
    outcome: SpawnOutcome,
    now_ms: u64,
) -> Result<(), OutboxError> {
    let sql = "SELECT engine, owner, payload FROM spawn WHERE spawn_id = ?1";
    let found = db
        .prepare_cached(sql)?
        .query_row([&spawn_id], |row| {
            let to = Addressee {
                engine: row.get(0)?,
                owner: row.get(1)?,
            };
            Ok((to, row.get::<_, Vec<u8>>(2)?))
        })
        .optional()?;
    let Some((to, bytes)) = found else {
        return settled_before(db, spawn_id, outcome);
    };
    let (call, request) = payload::decode_spawn(&bytes)?;
    let row = NewRow {
        to,
        session: call.session,
        scope: call.scope,
        call: OutboxCall::ResolveSubagentSpawn {
            child_session_key: request.child_session_key,
            request: ResolveSubagentSpawn {
                spawn_id: spawn_id.clone(),
                outcome,
            },
        },
    };
    super::keyed(db, &row, &spawn_id, now_ms)?;
    remove(db, &spawn_id)
}

fn settled_before(
    db: &Connection,
    spawn_id: String,
    outcome: SpawnOutcome,
) -> Result<(), OutboxError> {
    let hook = contextwire_engine::Hook::ResolveSubagentSpawn.name();
    let Some((_, bytes)) = super::table::by_key(db, hook, &spawn_id)? else {
        return Err(OutboxError::UnknownSpawn { spawn_id });
    };
    let stored = payload::decode(hook, &bytes)?;
    if let crate::request::EngineRequest::ResolveSubagentSpawn(before) = stored.request
        && before.outcome == outcome
    {
        return Ok(());
    }
    Err(OutboxError::Collision {
        kind: hook,
        key: spawn_id,
    })
}

fn remove(db: &Connection, spawn_id: &str) -> Result<(), OutboxError> {
    db.prepare_cached("DELETE FROM spawn WHERE spawn_id = ?1")?
        .execute([spawn_id])?;
    Ok(())
}
