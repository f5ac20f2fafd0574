//! What a session on Codex is run with.

use std::path::PathBuf;
use std::time::Duration;

use contextwire_client::engine::{Hook, Session, TokenBudget};
use contextwire_client::projection::OnProjectionFailure;

use crate::approval::Approvals;
use crate::process::Program;
use crate::tools::Tools;

/// How a context goes into a thread that begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Injection {
    /// As items of the Responses API, with the roles that they have, calls of tools as calls.
    #[default]
    Items,
    /// As quoted text before the first prompt, in the frame and within the limits of OpenClaw.
    QuotedText,
}

/// Settings of a session.
#[derive(Clone, Debug)]
pub struct CodexSettings {
    /// Which session, for engines.
    pub session: Session,
    /// A folder for this session alone: its log, and which thread has its context.
    pub folder: PathBuf,
    /// How the app-server is started.
    pub program: Program,
    /// What stands at the head of each thread. Codex writes it with a thread's first turn and never
    /// again, so it is the same for all of them.
    pub instructions: Option<String>,
    /// How a context goes into a thread.
    pub injection: Injection,
    /// What a thread comes to whose engine does not answer.
    pub on_projection_failure: OnProjectionFailure,
    /// The answer when Codex asks for permission.
    pub approvals: Approvals,
    /// When it asks; absent: as Codex is configured.
    pub approval_policy: Option<String>,
    /// What commands may touch; absent: as Codex is configured.
    pub sandbox: Option<String>,
    /// Tools of the host.
    pub tools: Tools,
    /// The model; absent: as Codex is configured.
    pub model: Option<String>,
    /// Ceiling of each context in tokens. It is also the window that a thread is bound to: another
    /// one begins another thread.
    pub token_budget: Option<TokenBudget>,
    /// When the engine must have assembled.
    pub assemble_deadline: Duration,
    /// How long a turn may take.
    pub turn_limit: Duration,
}

impl CodexSettings {
    /// A session with all defaults.
    pub fn new(session: Session, folder: impl Into<PathBuf>) -> Self {
        Self {
            session,
            folder: folder.into(),
            program: Program::default(),
            instructions: None,
            injection: Injection::default(),
            on_projection_failure: OnProjectionFailure::default(),
            approvals: Approvals::default(),
            approval_policy: None,
            sandbox: None,
            tools: Tools::default(),
            model: None,
            token_budget: None,
            assemble_deadline: Hook::Assemble.profile().deadline,
            turn_limit: Duration::from_mins(30),
        }
    }
}
