//! Preparations of subagents: durable before the answer, settled once, gone with their time (9).

use std::time::Duration;

use super::answer::Answer;
use super::effect::{self, Attempt};
use super::fingerprint::Fingerprint;
use super::ledger::{Ledger, UnixMillis};
use super::{fence, order};
use crate::context::HookContext;
use crate::error::EngineError;
use crate::subagent::{PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome, SpawnPrepared};

/// Time to live where the host names none (R9.1).
pub const DEFAULT_TTL: Duration = Duration::from_mins(10);
/// How long an unknown spawn id is remembered (R9.2).
pub const TOMBSTONE_TTL: Duration = Duration::from_hours(24);

/// How far a spawn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It waits for the child's start.
    Open,
    /// The child runs, said by the host or shown by a hook of the child.
    Started,
    /// The host gave it up.
    RolledBack,
    /// Nobody settled it in time; it rolled itself back.
    Expired,
    /// It was settled before it was ever prepared.
    Tombstone,
}

/// A preparation as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// Names the spawn for ever.
    pub spawn_id: String,
    /// The child's stable key; empty for a tombstone.
    pub child_session_key: String,
    /// What was prepared; absent for a tombstone.
    pub fingerprint: Option<Fingerprint>,
    /// How far it is.
    pub stage: Stage,
    /// What the host said became of it; the key of the settlement covers it.
    pub resolved: Option<SpawnOutcome>,
    /// When it was first prepared.
    pub prepared_at: UnixMillis,
    /// When an open one rolls itself back, and when a tombstone is forgotten.
    pub expires_at: UnixMillis,
    /// The recorded answer.
    pub answer: Vec<u8>,
}

impl Preparation {
    fn is_over(&self, now: UnixMillis) -> bool {
        self.expires_at <= now
    }
}

/// Prepares a spawn, or renews an open preparation with the same content.
///
/// `act` makes the engine's own preparation; [`Ledger::undo_preparation`] takes it back. The answer
/// of a spawn that was settled before is `prepared: false`.
///
/// # Errors
/// [`crate::ErrorKind::IdempotencyConflict`], and those of [`effect::effect`].
pub fn prepare<L: Ledger + ?Sized>(
    ledger: &mut L,
    attempt: &Attempt<PrepareSubagentSpawn>,
    request: &PrepareSubagentSpawn,
    act: impl FnOnce(&mut L) -> Result<SpawnPrepared, EngineError>,
) -> Result<SpawnPrepared, EngineError> {
    let Attempt {
        cx,
        fingerprint,
        now,
        ..
    } = attempt;
    attend(ledger, cx, *now, &request.spawn_id)?;
    let expires_at = now.after(request.ttl.unwrap_or(DEFAULT_TTL));
    if let Some(known) = known(ledger, &request.spawn_id, *now)? {
        if known.fingerprint.is_some_and(|known| known != *fingerprint) {
            return Err(EngineError::idempotency_conflict(attempt.name.hook));
        }
        if known.stage != Stage::Open {
            return Ok(SpawnPrepared::default());
        }
        let answer = effect::recorded(&known.answer)?;
        ledger.put_preparation(&Preparation {
            expires_at,
            ..known
        })?;
        return Ok(answer);
    }
    may_act(ledger, cx)?;
    let answer = act(ledger)?;
    ledger.put_preparation(&Preparation {
        spawn_id: request.spawn_id.clone(),
        child_session_key: request.child_session_key.clone(),
        fingerprint: Some(*fingerprint),
        stage: Stage::Open,
        resolved: None,
        prepared_at: *now,
        expires_at,
        answer: answer.to_record(),
    })?;
    Ok(answer)
}

/// Settles a spawn. Repeating it changes nothing; an unknown id leaves a tombstone.
///
/// # Errors
/// [`crate::ErrorKind::PreparationExpired`] for STARTED after the time to live,
/// [`crate::ErrorKind::IdempotencyConflict`] where the host said the opposite before; and those of
/// [`effect::effect`].
pub fn resolve<L: Ledger + ?Sized>(
    ledger: &mut L,
    attempt: &Attempt<ResolveSubagentSpawn>,
    request: &ResolveSubagentSpawn,
) -> Result<(), EngineError> {
    let Attempt { cx, now, .. } = attempt;
    let ResolveSubagentSpawn { spawn_id, outcome } = request;
    attend(ledger, cx, *now, spawn_id)?;
    let Some(known) = known(ledger, spawn_id, *now)? else {
        may_act(ledger, cx)?;
        return ledger.put_preparation(&tombstone(spawn_id, *outcome, *now));
    };
    let stage = match (known.resolved, known.stage, outcome) {
        (Some(said), ..) if said == *outcome => return Ok(()),
        (Some(_), ..) => return Err(EngineError::idempotency_conflict(attempt.name.hook)),
        (None, Stage::Expired, SpawnOutcome::Started) => {
            return Err(EngineError::preparation_expired());
        }
        (None, Stage::Open, SpawnOutcome::Started) => Stage::Started,
        (None, Stage::Open, SpawnOutcome::RolledBack) => Stage::RolledBack,
        // A child that runs cannot be taken back, and what rolled back does so once.
        (None, stage, SpawnOutcome::Started | SpawnOutcome::RolledBack) => stage,
    };
    may_act(ledger, cx)?;
    if (known.stage, stage) == (Stage::Open, Stage::RolledBack) {
        ledger.undo_preparation(spawn_id)?;
    }
    ledger.put_preparation(&Preparation {
        stage,
        resolved: Some(*outcome),
        ..known
    })
}

/// Rolls back what nobody settled in time and forgets old tombstones. Answers what it rolled back.
///
/// The other functions see to a preparation that they meet; this one finds those that nobody asks
/// for. An engine calls it now and then.
///
/// # Errors
/// The store's.
pub fn sweep<L: Ledger + ?Sized>(
    ledger: &mut L,
    now: UnixMillis,
) -> Result<Vec<Preparation>, EngineError> {
    let mut rolled_back = Vec::new();
    for due in ledger.due_preparations(now)? {
        match due.stage {
            Stage::Open => rolled_back.push(expire(ledger, due)?),
            Stage::Tombstone => ledger.remove_preparation(&due.spawn_id)?,
            Stage::Started | Stage::RolledBack | Stage::Expired => {}
        }
    }
    Ok(rolled_back)
}

/// A hook for the child's session key shows that the child runs (R9.2).
pub(super) fn imply_started<L: Ledger + ?Sized>(
    ledger: &mut L,
    cx: &HookContext,
    now: UnixMillis,
    except: Option<&str>,
) -> Result<(), EngineError> {
    let Some(newest) = waiting(ledger, cx)? else {
        return Ok(());
    };
    if except == Some(newest.spawn_id.as_str()) {
        return Ok(());
    }
    if newest.is_over(now) {
        expire(ledger, newest).map(drop)
    } else {
        ledger.put_preparation(&Preparation {
            stage: Stage::Started,
            ..newest
        })
    }
}

/// Whether [`imply_started`] has something to write.
pub(super) fn is_owed<L: Ledger + ?Sized>(
    ledger: &L,
    cx: &HookContext,
) -> Result<bool, EngineError> {
    Ok(waiting(ledger, cx)?.is_some())
}

fn waiting<L: Ledger + ?Sized>(
    ledger: &L,
    cx: &HookContext,
) -> Result<Option<Preparation>, EngineError> {
    match &cx.session.key {
        Some(key) => ledger.open_preparation(key),
        None => Ok(None),
    }
}

/// What both hooks of a preparation see to first, like every other hook.
fn attend<L: Ledger + ?Sized>(
    ledger: &mut L,
    cx: &HookContext,
    now: UnixMillis,
    spawn_id: &str,
) -> Result<(), EngineError> {
    if spawn_id.is_empty() {
        return Err(EngineError::rejected("the spawn has an empty id"));
    }
    fence::close_abandoned(ledger, cx)?;
    imply_started(ledger, cx, now, Some(spawn_id))
}

/// The preparation as it is at this moment.
fn known<L: Ledger + ?Sized>(
    ledger: &mut L,
    spawn_id: &str,
    now: UnixMillis,
) -> Result<Option<Preparation>, EngineError> {
    let Some(found) = ledger.preparation(spawn_id)? else {
        return Ok(None);
    };
    match found.stage {
        Stage::Open if found.is_over(now) => expire(ledger, found).map(Some),
        Stage::Tombstone if found.is_over(now) => Ok(None),
        Stage::Open | Stage::Tombstone | Stage::Started | Stage::RolledBack | Stage::Expired => {
            Ok(Some(found))
        }
    }
}

fn expire<L: Ledger + ?Sized>(
    ledger: &mut L,
    due: Preparation,
) -> Result<Preparation, EngineError> {
    ledger.undo_preparation(&due.spawn_id)?;
    let expired = Preparation {
        stage: Stage::Expired,
        ..due
    };
    ledger.put_preparation(&expired)?;
    Ok(expired)
}

/// Judges a hook that is about to change a preparation, like any other effect.
fn may_act<L: Ledger + ?Sized>(ledger: &mut L, cx: &HookContext) -> Result<(), EngineError> {
    fence::check(ledger, cx)?;
    order::check(ledger, cx)?;
    order::raise(ledger, cx)
}

fn tombstone(spawn_id: &str, outcome: SpawnOutcome, now: UnixMillis) -> Preparation {
    Preparation {
        spawn_id: spawn_id.to_owned(),
        child_session_key: String::new(),
        fingerprint: None,
        stage: Stage::Tombstone,
        resolved: Some(outcome),
        prepared_at: now,
        expires_at: now.after(TOMBSTONE_TTL),
        answer: Vec::new(),
    }
}
