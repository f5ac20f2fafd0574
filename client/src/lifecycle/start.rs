//! The start of a run: a session that had a transcript is handed over, and tidied up.

use std::sync::Arc;

use contextwire_engine::{
    Bootstrap, Bootstrapped, Maintain, MaintainReason, Maintained, RuntimeContext, RuntimeSettings,
    Session, Transcript,
};

use super::delivery::Told;
use crate::call::{Served, ServedBy};
use crate::error::CallError;
use crate::hooks::Hooks;

/// A run that begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opening {
    /// The log as it was stored before; empty for a session that is new.
    pub log: Transcript,
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of the run.
    pub runtime_context: Option<RuntimeContext>,
}

/// What became of it. Nothing of it fails the run.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The engine's answer to Bootstrap, where it was asked and has the method.
    pub bootstrapped: Option<Bootstrapped>,
    /// Its answer to the maintenance after it, likewise.
    pub maintained: Option<Maintained>,
    /// Why one of them failed.
    pub failure: Option<Arc<CallError>>,
}

/// Hands an earlier log to the engine and offers it maintenance. A session without one needs
/// neither, and after a failed Bootstrap there is nothing to tidy up.
pub async fn open(hooks: &Hooks, session: &Session, opening: Opening) -> Opened {
    if opening.log.is_empty() {
        return Opened::default();
    }
    let Opening {
        log,
        runtime_settings,
        runtime_context,
    } = opening;
    let bootstrap = Bootstrap {
        runtime_settings: runtime_settings.clone(),
        runtime_context: runtime_context.clone(),
        transcript: log,
        background: false,
    };
    let outcome = hooks.bootstrap(session, bootstrap).await.map_err(Arc::new);
    if let Told::Failed(error) = Told::of(&outcome) {
        tracing::warn!(code = error.code(), %error, "the session was not handed over");
        return Opened {
            failure: Some(error),
            ..Opened::default()
        };
    }
    let bootstrapped = answered(outcome);
    let maintain = Maintain {
        runtime_settings,
        runtime_context,
        reason: MaintainReason::Bootstrap,
        background: false,
    };
    let outcome = hooks.maintain(session, maintain).await.map_err(Arc::new);
    let failure = match Told::of(&outcome) {
        Told::Failed(error) => Some(error),
        Told::Well | Told::Absent => None,
    };
    Opened {
        bootstrapped,
        maintained: answered(outcome),
        failure,
    }
}

fn answered<T>(outcome: Result<Served<T>, Arc<CallError>>) -> Option<T> {
    let served = outcome.ok()?;
    (served.by != ServedBy::InProcess).then_some(served.result)
}
