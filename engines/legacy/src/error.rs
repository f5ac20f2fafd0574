//! Why a compaction did not come to an end.

use contextwire_engine::HookContext;

use crate::summarizer::SummarizeError;

/// A compaction that failed. Nothing was changed, nothing is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// Somebody asked to stop.
    #[error("compaction aborted")]
    Aborted,
    /// The time was over.
    #[error("compaction timed out")]
    TimedOut,
    /// No attempt gave a summary.
    #[error("no summary after {attempts} of {allowed} attempts")]
    SummarizationFailed {
        /// Attempts at the call that failed.
        attempts: u32,
        /// Attempts that the settings allow.
        allowed: u32,
        /// Why the last one failed.
        #[source]
        source: SummarizeError,
    },
    /// The list cannot be compacted as it is.
    #[error("{0}")]
    InvalidSession(&'static str),
}

impl CompactionError {
    /// Stops work that nobody waits for.
    pub(crate) fn check(cx: &HookContext) -> Result<(), Self> {
        if cx.cancellation.is_cancelled() {
            Err(Self::Aborted)
        } else if cx.remaining().is_zero() {
            Err(Self::TimedOut)
        } else {
            Ok(())
        }
    }

    /// The code of the built-in compaction: `aborted`, `summarization_failed` or `invalid_session`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Aborted | Self::TimedOut => "aborted",
            Self::SummarizationFailed { .. } => "summarization_failed",
            Self::InvalidSession(_) => "invalid_session",
        }
    }

    /// The reason in an answer that says `ok: false` (HOST-SEMANTICS 10.2 and 10.3).
    pub fn reason(&self) -> String {
        match self {
            Self::Aborted => self.to_string(),
            // The text of the host's own error.
            Self::TimedOut => "Compaction timed out".to_owned(),
            Self::SummarizationFailed { source, .. } => {
                format!("{}: {self}: {source}", self.code())
            }
            Self::InvalidSession(_) => format!("{}: {self}", self.code()),
        }
    }
}
