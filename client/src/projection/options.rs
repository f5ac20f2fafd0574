//! What a host decides about projections.

use super::window::{Reserve, window_chars};

/// What becomes of a thread when the engine does not answer (R10.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnProjectionFailure {
    /// The thread goes on with the bare prompt: it has its context already.
    #[default]
    Keep,
    /// The thread is given up; the next turn with a context begins another one.
    Rotate,
}

/// A host's side of projections. All of it but [`on_failure`](Self::on_failure) and
/// [`label`](Self::label) is part of the policy: another value begins new threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionOptions {
    /// The model's window in tokens as it is configured, never one call's budget (R10.4); absent
    /// where the host knows none.
    pub window_tokens: Option<u64>,
    /// What is kept free of the window for the answer.
    pub reserve: Reserve,
    /// How the host wants citations.
    pub citations_mode: Option<String>,
    /// What becomes of a thread when the engine does not answer.
    pub on_failure: OnProjectionFailure,
    /// Who is said to have assembled the context, in the first line of a projected turn.
    pub label: String,
}

impl Default for ProjectionOptions {
    fn default() -> Self {
        Self {
            window_tokens: None,
            reserve: Reserve::default(),
            citations_mode: None,
            on_failure: OnProjectionFailure::default(),
            label: "Contextwire".to_owned(),
        }
    }
}

impl ProjectionOptions {
    /// The most characters of a context that a turn may carry.
    pub fn window_chars(&self) -> usize {
        window_chars(self.window_tokens, self.reserve)
    }
}
