//! What an operator sees of a whole store.

use crate::ids::SessionId;

/// What a store holds, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStatus {
    /// What keeps it, for instance `sqlite`.
    pub kind: String,
    /// Sessions.
    pub sessions: u64,
    /// Entries of their logs.
    pub entries: u64,
    /// Bodies that were replaced or left a log, and are kept.
    pub retired: u64,
    /// Estimated tokens of all entries.
    pub tokens: u64,
    /// Summaries, in a plan in force or not.
    pub summaries: u64,
    /// Plans, all versions.
    pub plans: u64,
    /// Pinned entries.
    pub pins: u64,
    /// Sessions with work left for Compact or Maintain.
    pub debts: u64,
    /// Entries that a search for words does not find yet.
    pub behind_in_index: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes among them that are free to be used again.
    pub free_bytes: u64,
}

/// A stored session, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub session: SessionId,
    /// Entries of its log.
    pub entries: u64,
    /// User messages among them.
    pub turns: u64,
    /// Estimated tokens of all entries.
    pub tokens: u64,
    /// Summaries in the plan in force.
    pub summaries: u64,
    /// The plan's version.
    pub plan_version: u64,
    /// Estimated tokens of what stands for the session now.
    pub standing_tokens: u64,
    /// Why there is work left for Compact or Maintain; none where there is none.
    pub debt: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorSeverity {
    /// As it should be.
    Ok,
    /// Works, and a person should know.
    Warning,
    /// Does not work.
    Problem,
}

/// What one check of a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorFinding {
    /// How bad it is.
    pub severity: DoctorSeverity,
    /// What was looked at, a stable word for scripts.
    pub check: String,
    /// What was seen.
    pub found: String,
    /// What to do; none where there is nothing to do.
    pub advice: Option<String>,
}
