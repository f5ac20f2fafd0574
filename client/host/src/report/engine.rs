//! What the engine put into a context, and why.

use serde::{Deserialize, Serialize};

/// The engine's part of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineShare {
    /// The engine that the configuration names.
    pub selected: String,
    /// Who answered this run.
    pub served_by: String,
    /// Why somebody else did, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its addition to the system prompt, in characters.
    pub addition_chars: usize,
    /// Messages of the host that stayed, as ranges over its list, ends exclusive.
    pub kept: Vec<KeptRange>,
    /// The host's messages that are not shown.
    pub left_out: usize,
    /// Its summaries, by how deep they are.
    pub summaries: Vec<SummariesOfDepth>,
    /// What it found again.
    pub recalled: Vec<Recalled>,
    /// Results that it shows shorter than they are.
    pub shortened: Vec<Shortened>,
}

/// A run of the host's messages that is shown as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRange {
    /// The first index.
    pub from: usize,
    /// The index behind the last.
    pub to: usize,
}

/// Summaries of one depth; 0 summarises messages, 1 summaries of depth 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummariesOfDepth {
    /// The depth; none where the engine does not say.
    pub depth: Option<u32>,
    /// How many.
    pub count: usize,
    /// Their characters.
    pub chars: usize,
}

/// Something from earlier that the engine put in again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    /// Its entry id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// Its characters.
    pub chars: usize,
    /// Why it is there.
    pub reason: String,
}

/// A result that is shown shorter than it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// Its entry id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// Its characters as stored.
    pub raw_chars: usize,
    /// Its characters as shown.
    pub shown_chars: usize,
    /// Why it is shorter.
    pub reason: String,
}
