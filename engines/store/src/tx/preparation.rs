//! Preparations as rows.

use contextwire_engine::durable::{Fingerprint, Preparation, Stage};
use contextwire_engine::{EngineError, SpawnOutcome};
use rusqlite::types::Type;
use rusqlite::{Row, params};

use super::{Tx, bounded, millis};
use crate::error::SqlError;

impl Tx {
    pub(super) fn write_preparation(&self, preparation: &Preparation) -> Result<(), EngineError> {
        let Preparation {
            spawn_id,
            child_session_key,
            fingerprint,
            stage,
            resolved,
            prepared_at,
            expires_at,
            answer,
        } = preparation;
        self.execute(
            "INSERT INTO preparation (spawn_id, child_session_key, fingerprint, stage, resolved,
                                      prepared_ms, expires_ms, answer)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (scope, spawn_id) DO UPDATE SET
                child_session_key = ?2, fingerprint = ?3, stage = ?4, resolved = ?5,
                prepared_ms = ?6, expires_ms = ?7, answer = ?8",
            params![
                spawn_id,
                child_session_key,
                fingerprint.map(|fingerprint| fingerprint.0),
                stage_name(*stage),
                resolved.map(outcome_name),
                bounded(prepared_at.0),
                bounded(expires_at.0),
                answer
            ],
        )
    }

    pub(super) fn one_preparation(
        &self,
        which: &str,
        values: impl rusqlite::Params,
    ) -> Result<Option<Preparation>, EngineError> {
        Ok(self.preparations(which, values)?.pop())
    }

    /// The preparations of a `WHERE` clause of ours.
    pub(crate) fn preparations(
        &self,
        which: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Preparation>, EngineError> {
        let sql = format!(
            "SELECT spawn_id, child_session_key, fingerprint, stage, resolved, prepared_ms,
                    expires_ms, answer
             FROM preparation WHERE {which}"
        );
        let read = || -> rusqlite::Result<Vec<Preparation>> {
            let mut query = self.connection.prepare_cached(&sql)?;
            query.query_map(values, preparation)?.collect()
        };
        Ok(read().map_err(SqlError)?)
    }
}

fn preparation(row: &Row<'_>) -> rusqlite::Result<Preparation> {
    let resolved: Option<String> = row.get("resolved")?;
    let fingerprint: Option<[u8; 32]> = row.get("fingerprint")?;
    Ok(Preparation {
        spawn_id: row.get("spawn_id")?,
        child_session_key: row.get("child_session_key")?,
        fingerprint: fingerprint.map(Fingerprint),
        stage: stage(&row.get::<_, String>("stage")?)?,
        resolved: resolved.as_deref().map(outcome).transpose()?,
        prepared_at: millis(row.get("prepared_ms")?),
        expires_at: millis(row.get("expires_ms")?),
        answer: row.get("answer")?,
    })
}

const fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Open => "open",
        Stage::Started => "started",
        Stage::RolledBack => "rolled-back",
        Stage::Expired => "expired",
        Stage::Tombstone => "tombstone",
    }
}

fn stage(name: &str) -> rusqlite::Result<Stage> {
    match name {
        "open" => Ok(Stage::Open),
        "started" => Ok(Stage::Started),
        "rolled-back" => Ok(Stage::RolledBack),
        "expired" => Ok(Stage::Expired),
        "tombstone" => Ok(Stage::Tombstone),
        _ => Err(unknown("stage")),
    }
}

const fn outcome_name(outcome: SpawnOutcome) -> &'static str {
    match outcome {
        SpawnOutcome::Started => "started",
        SpawnOutcome::RolledBack => "rolled-back",
    }
}

fn outcome(name: &str) -> rusqlite::Result<SpawnOutcome> {
    match name {
        "started" => Ok(SpawnOutcome::Started),
        "rolled-back" => Ok(SpawnOutcome::RolledBack),
        _ => Err(unknown("outcome")),
    }
}

fn unknown(what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("unknown {what}").into())
}
