//! What an operator sees of what stands for a session, and of what the model was shown.

use bytes::Bytes;

use crate::digest::Digest;
use crate::ids::SessionId;

/// Places of a log, counted from 0: the first, and one beyond the last.
pub type Places = (u64, u64);

/// What stands for a session now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingPlan {
    /// The plan's number; 0 until something is compacted.
    pub version: u64,
    /// Hash of what it says: equal digests, equal plans on any machine.
    pub digest: Digest,
    /// Where an entry is not in exactly one place, or a summary is not of what the log has.
    pub faults: Vec<String>,
    /// In the order of the log.
    pub items: Vec<PlanItem>,
}

/// A run of a log, or the summary in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// The places.
    pub places: Places,
    /// Estimated tokens in a context.
    pub tokens: u64,
    /// The summary; none for entries as they are.
    pub summary: Option<PlanSummary>,
}

/// A summary of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSummary {
    /// What the model is shown as its handle.
    pub handle: String,
    /// 0 over entries, one more for each level of summaries below.
    pub depth: u32,
    /// Who wrote it, for instance `model` or `extract`.
    pub written_by: String,
    /// What it says.
    pub text: String,
}

/// Which turn, and what it is fitted into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainTurn {
    /// The session.
    pub session: SessionId,
    /// Counted from 1: a user message and what follows it. One beyond the last is the turn that
    /// comes next.
    pub turn: u64,
    /// The budget in tokens; 0 is none.
    pub token_budget: u64,
    /// The model that reads it: decides how tokens are counted.
    pub model: Option<String>,
    /// Whether the turn's own user message is in the list.
    pub included: bool,
    /// Whether the items bring their payloads.
    pub payloads: bool,
}

/// What the model was shown at a turn, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainedTurn {
    /// Turns that the session has.
    pub turns: u64,
    /// Estimated tokens of the context.
    pub tokens: u64,
    /// What is neither in it nor stood for.
    pub left_out: Vec<LeftOut>,
    /// Its messages in order.
    pub items: Vec<ExplainedItem>,
}

/// A message of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainedItem {
    /// What of the log it shows or stands for.
    pub places: Option<Places>,
    /// Its role.
    pub role: String,
    /// Its estimated tokens.
    pub tokens: u32,
    /// Why it is there.
    pub why: String,
    /// The bytes that were sent, where asked for.
    pub payload: Option<Bytes>,
}

/// Messages that are not in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their places, as far as the log holds them.
    pub places: Option<Places>,
    /// How many.
    pub messages: u64,
    /// Why.
    pub why: String,
}
