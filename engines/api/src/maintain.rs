//! Maintain: the engine tidies up, with the right to rewrite entries (HOST-SEMANTICS 8).

use crate::context::RuntimeContext;
use crate::host_call::Rewritten;
use crate::settings::RuntimeSettings;

/// What maintenance follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaintainReason {
    /// A bootstrap.
    Bootstrap,
    /// A finished turn.
    #[default]
    Turn,
    /// A compaction.
    Compaction,
}

impl MaintainReason {
    /// The reason's name in purposes and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Turn => "turn",
            Self::Compaction => "compaction",
        }
    }
}

/// Offers the engine time to tidy up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maintain {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of this operation.
    pub runtime_context: Option<RuntimeContext>,
    /// What it follows.
    pub reason: MaintainReason,
    /// Whether it runs beside the conversation.
    pub background: bool,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Whether anything was rewritten.
    pub changed: bool,
    /// Bytes that rewriting freed.
    pub bytes_freed: u64,
    /// Entries that were rewritten.
    pub rewritten_entries: u64,
    /// Why not, or what was done.
    pub reason: Option<String>,
}

impl From<Rewritten> for Maintained {
    /// What one rewrite did is what the maintenance did.
    fn from(rewritten: Rewritten) -> Self {
        let Rewritten {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
            head: _,
        } = rewritten;
        Self {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
        }
    }
}
