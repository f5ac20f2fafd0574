//! What a check is: a small value that says which rule it holds an engine to, and how.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use crate::probe::Probe;

/// A check that is running.
pub type Running = Pin<Box<dyn Future<Output = Checked> + Send>>;

/// What a check found.
pub type Checked = Result<(), Verdict>;

/// Why a check did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The engine broke the rule; what it did instead.
    Broken(String),
    /// The check does not apply to this engine; which capability is absent.
    NotApplicable(String),
    /// Nothing can be said: the connection or the control command failed, not the engine's rule.
    Inconclusive(String),
}

/// How much a rule binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An engine that breaks it does not conform.
    Must,
    /// An engine that breaks it is warned.
    Should,
}

/// A named set of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What every engine owes: the required hooks, frames, errors, sizes.
    Core,
    /// What an engine owes that refuses fields that it does not know.
    Strict,
    /// What an engine owes that keeps lists and takes differences.
    Delta,
    /// What an engine owes that calls its host back.
    Callbacks,
    /// What an engine owes that stores what hosts say.
    Store,
    /// What an engine owes that prepares subagents.
    Subagent,
    /// What an engine owes that projects onto threads of a backend.
    Projection,
    /// What a process owes when it is stopped, killed and started; needs a control command.
    Lifecycle,
}

impl Profile {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Core,
        Self::Strict,
        Self::Delta,
        Self::Callbacks,
        Self::Store,
        Self::Subagent,
        Self::Projection,
        Self::Lifecycle,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Strict => "strict",
            Self::Delta => "delta",
            Self::Callbacks => "callbacks",
            Self::Store => "store",
            Self::Subagent => "subagent",
            Self::Projection => "projection",
            Self::Lifecycle => "lifecycle",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

/// What an engine has to declare for a check to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// `EngineInfo.methods` names it.
    Method(&'static str),
    /// `EngineInfo.transcript_sync` is DELTA.
    Delta,
    /// `EngineInfo.owns_compaction` is false.
    DelegatesCompaction,
    /// `DescribeResponse.honours_must_understand` is true.
    HonoursMustUnderstand,
    /// It answered a field that nobody has with `UNKNOWN_FIELD`.
    Strict,
    /// Its replies carry the state of its stored log.
    LogState,
    /// `--control-cmd` was given.
    Control,
}

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its id, stable for ever.
    pub id: &'static str,
    /// The numbers of the rules of the contract that it is about.
    pub rules: &'static [&'static str],
    /// How much they bind.
    pub level: Level,
    /// The set that it belongs to.
    pub profile: Profile,
    /// What must hold, as a sentence.
    pub title: &'static str,
    /// What goes wrong for a host where it does not hold.
    pub why: &'static str,
    /// What the engine has to declare for it.
    pub needs: &'static [Need],
    /// The check itself; it makes a session of its own.
    pub run: fn(Probe) -> Running,
}

/// Fails with what the engine did instead.
///
/// # Errors
/// Always.
pub fn broken<T>(what: impl Into<String>) -> Result<T, Verdict> {
    Err(Verdict::Broken(what.into()))
}

/// Fails unless it holds.
///
/// # Errors
/// With the text, where it does not.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(Verdict::Broken(otherwise()))
    }
}

/// The table row of a check: id, rules, level, profile, title, why, needs, function.
macro_rules! check {
    ($id:literal, [$($rule:literal),*], $level:ident, $profile:ident, [$($need:expr),*], $run:path,
     $title:literal, $why:literal) => {
        $crate::check::Check {
            id: $id,
            rules: &[$($rule),*],
            level: $crate::check::Level::$level,
            profile: $crate::check::Profile::$profile,
            title: $title,
            why: $why,
            needs: &[$($need),*],
            run: |probe| Box::pin($run(probe)),
        }
    };
}
pub(crate) use check;
