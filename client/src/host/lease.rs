//! Whose a turn is, from its beginning to its end (HOST-SEMANTICS 3.8): a state machine that calls
//! nobody.

use std::fmt;

use crate::registry::BUILT_IN;

/// Who serves a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEngine {
    /// The id that the slot named when the turn began, or `legacy` in its place.
    pub registered_id: String,
    /// The plugin that owns it.
    pub owner_plugin_id: Option<String>,
    /// As configured, or not.
    pub mode: TurnMode,
    /// Why not.
    pub reason: Option<String>,
}

/// Whether a turn has the engine that the host is configured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnMode {
    /// It has.
    Configured,
    /// The built-in rules serve this turn; the next one has its engine again.
    LegacyDegraded,
}

impl fmt::Display for TurnMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configured => "configured",
            Self::LegacyDegraded => "legacy-degraded",
        })
    }
}

/// What cannot be done with a turn any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// Its engine was called already.
    #[error("the turn has started: its engine stays")]
    Started,
    /// It is over.
    #[error("the turn is over")]
    Over,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Selected,
    Started,
    Over,
}

/// One turn.
#[derive(Debug)]
pub(super) struct Lease {
    engine: TurnEngine,
    phase: Phase,
}

impl Lease {
    pub(super) fn of(registered_id: String, owner_plugin_id: Option<String>) -> Self {
        Self {
            engine: TurnEngine {
                registered_id,
                owner_plugin_id,
                mode: TurnMode::Configured,
                reason: None,
            },
            phase: Phase::Selected,
        }
    }

    pub(super) fn engine(&self) -> &TurnEngine {
        &self.engine
    }

    /// Whether the turn goes on without its engine.
    pub(super) fn is_degraded(&self) -> bool {
        self.engine.mode == TurnMode::LegacyDegraded
    }

    /// The turn goes on without its engine; the first reason stays. Says whether this changed
    /// anything: the built-in engine is not degraded by anything.
    pub(super) fn degrade(&mut self, reason: &str) -> Result<bool, TurnError> {
        match self.phase {
            Phase::Over => Err(TurnError::Over),
            _ if self.is_degraded() || self.engine.registered_id == BUILT_IN => Ok(false),
            Phase::Started => Err(TurnError::Started),
            Phase::Selected => {
                self.engine = TurnEngine {
                    registered_id: BUILT_IN.to_owned(),
                    owner_plugin_id: None,
                    mode: TurnMode::LegacyDegraded,
                    reason: Some(reason.to_owned()),
                };
                Ok(true)
            }
        }
    }

    /// Pins the engine; doing it again changes nothing.
    pub(super) fn begin(&mut self) -> Result<(), TurnError> {
        if self.phase == Phase::Over {
            return Err(TurnError::Over);
        }
        self.phase = Phase::Started;
        Ok(())
    }

    /// Ends the turn; says whether it had not ended before.
    pub(super) fn end(&mut self) -> bool {
        let was = std::mem::replace(&mut self.phase, Phase::Over);
        was != Phase::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> Lease {
        Lease::of("lossless".to_owned(), Some("lossless-claw".to_owned()))
    }

    #[test]
    fn the_first_reason_stays_and_is_told_once() {
        let mut lease = lease();
        assert_eq!(lease.degrade("no fence"), Ok(true));
        assert_eq!(lease.degrade("no commit"), Ok(false));
        let engine = lease.engine();
        assert_eq!(engine.registered_id, "legacy");
        assert_eq!(engine.owner_plugin_id, None);
        assert_eq!(engine.mode.to_string(), "legacy-degraded");
        assert_eq!(engine.reason.as_deref(), Some("no fence"));
    }

    #[test]
    fn c162_a_started_turn_and_an_ended_one_are_not_degraded() {
        let mut turn = lease();
        turn.begin().unwrap();
        assert_eq!(turn.degrade("late"), Err(TurnError::Started));
        assert_eq!(turn.engine().mode, TurnMode::Configured);
        turn.end();
        assert_eq!(turn.degrade("late"), Err(TurnError::Over));
        assert_eq!(turn.begin(), Err(TurnError::Over));
        let mut built_in = Lease::of("legacy".to_owned(), None);
        built_in.end();
        assert_eq!(built_in.degrade("late"), Err(TurnError::Over));
    }

    #[test]
    fn c163_the_built_in_engine_is_never_degraded() {
        let mut lease = Lease::of("legacy".to_owned(), None);
        assert_eq!(lease.degrade("anything"), Ok(false));
        lease.begin().unwrap();
        assert_eq!(lease.degrade("anything"), Ok(false));
        assert_eq!(lease.engine().mode, TurnMode::Configured);
        assert_eq!(lease.engine().reason, None);
    }

    #[test]
    fn c168_a_turn_ends_once() {
        let mut lease = lease();
        assert!(lease.end());
        assert!(!lease.end());
    }
}
