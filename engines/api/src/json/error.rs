//! What can be wrong with a JSON source.

/// Why the bytes are not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at byte {offset}")]
pub struct JsonError {
    /// Where in the source.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at one place of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The source ends inside a value.
    #[error("the json ends too early")]
    Ended,
    /// Another byte was due here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// Something follows the one value.
    #[error("unexpected data after the json value")]
    Trailing,
}
