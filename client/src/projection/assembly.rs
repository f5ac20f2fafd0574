//! What became of an Assemble, as a projection sees it.

use contextwire_engine::{AssembleOutcome, AssembleReply, KnownProjection, Unchanged};

use crate::call::{Served, ServedBy};
use crate::context::Context;
use crate::error::CallError;

/// The answer to Assemble, by who gave it.
#[derive(Clone, Copy, Debug)]
pub enum Assembly<'a> {
    /// The engine gave a context.
    Answered(&'a AssembleReply),
    /// The engine says that the thread shows the right one.
    Unchanged {
        /// Its answer.
        answer: &'a Unchanged,
        /// What it was told that the thread shows.
        known: Option<&'a KnownProjection>,
    },
    /// The engine did not answer; the host's own list stands in.
    InPlace(&'a AssembleReply),
    /// Nobody answered.
    Failed,
    /// No engine but the built-in one is active.
    NoEngine,
}

impl<'a> Assembly<'a> {
    /// Reads what a call gave. `known` is the request's `known_projection`.
    pub fn of(
        answer: &'a Result<Served<Context>, CallError>,
        known: Option<&'a KnownProjection>,
    ) -> Self {
        let Ok(served) = answer else {
            return Self::Failed;
        };
        match (&served.by, &served.reason, &served.result.outcome) {
            (ServedBy::Engine(_), _, AssembleOutcome::Messages(reply)) => Self::Answered(reply),
            (ServedBy::Engine(_), _, AssembleOutcome::Unchanged(answer)) => {
                Self::Unchanged { answer, known }
            }
            (ServedBy::InProcess, None, _) => Self::NoEngine,
            (ServedBy::InProcess, Some(_), AssembleOutcome::Messages(reply)) => {
                Self::InPlace(reply)
            }
            // A substitute knows of no thread.
            (ServedBy::InProcess, Some(_), AssembleOutcome::Unchanged(_)) => Self::Failed,
        }
    }

    /// What goes to the developer instructions, trimmed; nothing where it is blank.
    pub(super) fn addition(&self) -> Option<String> {
        let text = match self {
            Self::Answered(reply) | Self::InPlace(reply) => reply.system_prompt_addition.as_deref(),
            Self::Unchanged { answer, .. } => answer.system_prompt_addition.as_deref(),
            Self::Failed | Self::NoEngine => None,
        };
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    }
}
