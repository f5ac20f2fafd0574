//! Why a session on Codex cannot go on.

use contextwire_client::CallError;
use contextwire_client::projection::BindingError;
use contextwire_client::store::StoreError;

use crate::rpc::RpcError;

/// Why a turn was not had. What was stored until then stays stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodexError {
    /// The app-server cannot be started.
    #[error("`{program}` cannot be started: install @openai/codex, or name its path")]
    Start {
        /// What was run.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The app-server did not do what was asked.
    #[error("{}", with_complaints("the app-server does not do what was asked", .complaints))]
    AppServer {
        /// The last lines of its standard error.
        complaints: Vec<String>,
        /// What became of the request.
        source: RpcError,
    },
    /// The turn did not end in time; it was interrupted.
    #[error("the turn took more than {seconds} s and was interrupted")]
    TurnTooLong {
        /// The limit.
        seconds: u64,
    },
    /// Nobody assembled a context; only while nothing may be substituted.
    #[error("no context was assembled")]
    Context(#[source] CallError),
    /// The session cannot be stored.
    #[error("the session's log cannot be used")]
    Log(#[from] StoreError),
    /// The binding cannot be stored: the thread would not be known again.
    #[error("which thread has the session's context cannot be stored")]
    Binding(#[from] BindingError),
    /// The app-server was not started.
    #[error("the app-server does not run")]
    NotRunning,
    /// The folder of the session cannot be made.
    #[error("the folder {folder} cannot be made")]
    Folder {
        /// Which.
        folder: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl CodexError {
    /// Whether the session cannot go on: nothing can be stored, or Codex cannot be started at all.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Start { .. }
            | Self::NotRunning
            | Self::Log(_)
            | Self::Binding(_)
            | Self::Folder { .. } => true,
            Self::AppServer { .. } | Self::TurnTooLong { .. } | Self::Context(_) => false,
        }
    }
}

fn with_complaints(problem: &str, complaints: &[String]) -> String {
    match complaints.last() {
        Some(last) => format!("{problem}; its last words: {last}"),
        None => problem.to_owned(),
    }
}
