//! Bootstrap: the log of a session that already had one (HOST-SEMANTICS 2).

use crate::context::RuntimeContext;
use crate::settings::RuntimeSettings;
use crate::transcript::Transcript;

/// Imports a session's log. Repeating it changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bootstrap {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of this operation.
    pub runtime_context: Option<RuntimeContext>,
    /// The log: the host's branch as stored.
    pub transcript: Transcript,
    /// Whether nobody waits for it.
    pub background: bool,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bootstrapped {
    /// Whether the engine has the log now.
    pub bootstrapped: bool,
    /// How many messages were new to it.
    pub imported_messages: Option<u64>,
    /// Why not, or what was done.
    pub reason: Option<String>,
}
