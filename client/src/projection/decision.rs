//! Whether a thread is sent a context, and which thread it is (HOST-SEMANTICS 6.3).

use std::fmt;

use super::binding::{Binding, BoundThread, SCHEMA_VERSION, ThreadTerms};
use super::tools::ToolSurface;

/// Why a turn is projected or not. The first that holds is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProjectionReason {
    /// The engine wants its context sent with every turn.
    PerTurn,
    /// No thread is bound.
    MissingThread,
    /// The context was on its way to a thread when the host stopped, or nobody knows whether it
    /// arrived (R10.3).
    Unconfirmed,
    /// The thread was shown no context, or lost it.
    MissingProjection,
    /// Engine, policy or the form of the binding is another one.
    BindingMismatch,
    /// The tools are others.
    ToolsMismatch,
    /// The epoch or the fingerprint is another one.
    ProjectionMismatch,
    /// The thread shows the right context.
    Matching,
    /// The engine did not answer (R10.4).
    AssembleFailed,
    /// No engine but the built-in one is active.
    NoEngine,
}

impl ProjectionReason {
    /// The word for logs and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PerTurn => "per-turn-projection",
            Self::MissingThread => "missing-thread-binding",
            Self::Unconfirmed => "unconfirmed-thread-binding",
            Self::MissingProjection => "missing-projection-binding",
            Self::BindingMismatch => "context-engine-binding-mismatch",
            Self::ToolsMismatch => "dynamic-tools-mismatch",
            Self::ProjectionMismatch => "projection-mismatch",
            Self::Matching => "matching-thread-bootstrap-binding",
            Self::AssembleFailed => "assemble-failed",
            Self::NoEngine => "no-context-engine",
        }
    }
}

impl fmt::Display for ProjectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a turn goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadChoice {
    /// On in this thread.
    Keep(String),
    /// Into a new one.
    Fresh {
        /// Whether a bound thread is given up for it.
        rotated: bool,
    },
}

/// What is decided of a turn that its engine answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Why.
    pub reason: ProjectionReason,
    /// Where.
    pub thread: ThreadChoice,
}

impl Decision {
    /// Whether the context is sent; otherwise the prompt alone.
    pub fn projects(&self) -> bool {
        self.reason != ProjectionReason::Matching
    }
}

/// Compares what is bound with what the turn needs. `next.projection` is absent where the engine
/// wants its context sent with every turn. A function of values: no clock, no store.
pub fn decide(bound: Option<&Binding>, next: &ThreadTerms, tools: &ToolSurface) -> Decision {
    let seen = bound.filter(|_| *tools != ToolSurface::Disabled);
    let kept = seen.and_then(|bound| {
        let thread = bound.usable_thread()?;
        (bound.terms == *next).then(|| thread.to_owned())
    });
    let rotated = bound.is_some();
    Decision {
        reason: reason(seen, next),
        thread: kept.map_or(ThreadChoice::Fresh { rotated }, ThreadChoice::Keep),
    }
}

fn reason(bound: Option<&Binding>, next: &ThreadTerms) -> ProjectionReason {
    if next.projection.is_none() {
        return ProjectionReason::PerTurn;
    }
    let Some(bound) = bound else {
        return ProjectionReason::MissingThread;
    };
    let Binding {
        schema_version,
        thread,
        terms,
        addition: _,
    } = bound;
    if matches!(thread, BoundThread::Pending { .. }) {
        ProjectionReason::Unconfirmed
    } else if terms.projection.is_none() {
        ProjectionReason::MissingProjection
    } else if *schema_version != SCHEMA_VERSION
        || terms.engine_id != next.engine_id
        || terms.policy_fingerprint != next.policy_fingerprint
    {
        ProjectionReason::BindingMismatch
    } else if terms.tools_fingerprint != next.tools_fingerprint {
        ProjectionReason::ToolsMismatch
    } else if terms.projection != next.projection {
        ProjectionReason::ProjectionMismatch
    } else {
        ProjectionReason::Matching
    }
}
