//! Who writes summaries.

mod extract;
mod host;
#[cfg(feature = "openai")]
mod openai;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use contextwire_engine::{HookContext, Message};

pub use extract::Extract;
pub use host::{HostModel, HostModelOrExtract};
#[cfg(feature = "openai")]
pub use openai::{EndpointError, OpenAiEndpoint, OpenAiOptions};

pub use crate::prompt::Stage;
pub use crate::summary::Flaw;

/// A text that is to be shorter, in the two forms that summarisers read: as a prompt, and as the
/// messages themselves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// Which part of the conversation.
    pub stage: Stage,
    /// Who the model is.
    pub system_prompt: String,
    /// What it is asked for, with the conversation in it.
    pub prompt: String,
    /// Most tokens of the answer.
    pub max_output_tokens: u64,
    /// Most characters of the answer.
    pub max_chars: usize,
    /// What is summarised.
    pub messages: Vec<Message>,
    /// What is known of everything before these messages.
    pub earlier: Option<String>,
}

impl SummaryRequest {
    /// A request for whole turns, with a prompt of the caller's own.
    pub fn new(system_prompt: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            stage: Stage::History,
            system_prompt: system_prompt.into(),
            prompt: prompt.into(),
            max_output_tokens: u64::MAX,
            max_chars: usize::MAX,
            messages: Vec::new(),
            earlier: None,
        }
    }

    /// The same with the most that the answer may be, in tokens and in characters.
    #[must_use]
    pub fn within(self, max_output_tokens: u64, max_chars: usize) -> Self {
        Self {
            max_output_tokens,
            max_chars,
            ..self
        }
    }

    /// The same with the messages themselves, for a summariser that reads no prompt.
    #[must_use]
    pub fn over(self, messages: Vec<Message>) -> Self {
        Self { messages, ..self }
    }
}

/// What a summariser answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryText {
    /// The text, not judged yet.
    pub text: String,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Whether no model was involved and the text says so itself.
    pub is_extract: bool,
}

/// The answer of a summariser, in time.
pub type SummaryAnswer<'a> =
    Pin<Box<dyn Future<Output = Result<SummaryText, SummarizeError>> + Send + 'a>>;

/// Writes summaries. A call may be dropped at any await.
pub trait Summarizer: Send + Sync {
    /// What records call it: `host`, `openai`, `extract`.
    fn name(&self) -> &'static str;

    /// Tokens that it can read and write in one call, where that is known. Too large a figure costs
    /// a refused call, too small a one more calls.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Writes one summary.
    fn summarize<'a>(
        &'a self,
        cx: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a>;
}

/// Why there is no summary. No text of it holds anything of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummarizeError {
    /// There is no model to ask.
    #[error("this host serves no model")]
    Unserved,
    /// The host refused or failed.
    #[error("the host's model answered {reason}")]
    Host {
        /// The reason of the host call.
        reason: String,
        /// Whether the host says that another try may succeed.
        retryable: bool,
    },
    /// The key is missing, wrong, or not allowed to use the model: status 401 or 403.
    #[error(
        "the endpoint refuses the key (status {status}): check the key file and what the key may use"
    )]
    Unauthorized {
        /// Status of the answer.
        status: u16,
    },
    /// The request is wrong and will be wrong again.
    #[error("the endpoint rejects the request (status {status}{})", Code(code))]
    Rejected {
        /// Status of the answer.
        status: u16,
        /// The endpoint's own word for it.
        code: Option<String>,
    },
    /// The prompt does not fit the model's window.
    #[error("the conversation does not fit the model's window")]
    TooLong,
    /// Too many requests: status 429.
    #[error("the endpoint allows no more requests for now")]
    RateLimited {
        /// How long to wait, where the endpoint says so.
        retry_after: Option<Duration>,
    },
    /// The endpoint failed: status 408, 409, 5xx.
    #[error("the endpoint failed (status {status})")]
    Unavailable {
        /// Status of the answer.
        status: u16,
    },
    /// There is no connection.
    #[error("the endpoint cannot be reached")]
    Unreachable,
    /// The answer ended before it was complete.
    #[error("the answer broke off")]
    BrokenOff,
    /// The answer is not what the interface promises, or too large.
    #[error("the answer cannot be read: {0}")]
    Unreadable(&'static str),
    /// Nothing came in time; asking again would take as long.
    #[error("no answer came in time")]
    TimedOut,
    /// Nobody waits any more.
    #[error("stopped on request")]
    Aborted,
    /// There is an answer, and it is no summary.
    #[error("the answer cannot be used: {0}")]
    Unusable(#[from] Flaw),
}

/// `, code` where there is one.
struct Code<'a>(&'a Option<String>);

impl std::fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(code) => write!(f, ", {code}"),
            None => Ok(()),
        }
    }
}

/// What to do after a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The same once more, not before this time where one is named.
    Again(Option<Duration>),
    /// Once more with less of the conversation.
    Smaller,
    /// Nothing: it would fail again.
    Never,
}

impl SummarizeError {
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Host {
                retryable: true, ..
            }
            | Self::Unavailable { .. }
            | Self::Unreachable
            | Self::BrokenOff
            | Self::Unreadable(_)
            | Self::Unusable(_) => Next::Again(None),
            Self::RateLimited { retry_after } => Next::Again(*retry_after),
            Self::TooLong => Next::Smaller,
            Self::Unserved
            | Self::Host {
                retryable: false, ..
            }
            | Self::Unauthorized { .. }
            | Self::Rejected { .. }
            | Self::TimedOut
            | Self::Aborted => Next::Never,
        }
    }
}
