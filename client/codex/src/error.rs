//! Why a session on Codex cannot go on.

use contextwire_client::CallError;
use contextwire_client::engine::InvalidId;
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
    #[error("{}", with_complaints(&.source.to_string(), .complaints))]
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
    /// The session's name cannot be an id.
    #[error("the session's name cannot be used")]
    Session(#[from] InvalidId),
    /// The folder of the session cannot be made.
    #[error("the folder {folder} cannot be made")]
    Folder {
        /// Which.
        folder: String,
        /// What the system said.
        source: std::io::Error,
    },
}

fn with_complaints(problem: &str, complaints: &[String]) -> String {
    match complaints.last() {
        Some(last) => format!("{problem}; its last words: {last}"),
        None => problem.to_owned(),
    }
}
