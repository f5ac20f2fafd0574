//! What the engine keeps beside the log, as a store offers it inside one transaction.

#[cfg(any(test, feature = "testing"))]
mod memory;
mod node;
mod plan;
pub(crate) mod sqlite;
mod text;

use std::collections::BTreeSet;

use contextwire_engine::durable::Ledger;
use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{Digest, EntryId, Message, SessionId};
use contextwire_store::{CORE, CORE_2, CORE_3, LogRows, Outcome, Schema};

#[cfg(any(test, feature = "testing"))]
pub use memory::{MemoryStore, PlannedRows};

use crate::node::{NodeId, NodeState, SummaryNode};
use crate::plan::Plan;
use crate::redact::Redaction;
use crate::span::Span;

/// The tables of a file; `CWLL`.
pub const SCHEMA: Schema = Schema {
    application_id: 0x4357_4c4c,
    engine: "lossless",
    steps: &[
        &[CORE, CORE_2, include_str!("rows/schema.sql")],
        &[CORE_3, include_str!("rows/schema_2.sql")],
    ],
    weigh: |message| Some(weigh(message)),
};

/// What an entry costs in a prompt; remembered in the message, so a hook counts before it waits for
/// the one thread that writes.
pub(crate) fn weigh(message: &Message) -> u32 {
    estimate_message(ModelFamily::Other, message)
}

/// A plan with what it was published over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// The plan.
    pub plan: Plan,
    /// Entries of the log when it was published.
    pub log: u64,
    /// The chain of the log up to the plan's end: equal chains, equal entries before it.
    pub chain: [u8; 32],
    /// Hash of the entries of each of its summaries, in their order.
    pub contents: Vec<Digest>,
}

/// What is known of an entry without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Estimated tokens.
    pub tokens: u32,
    /// Lineage id; empty where the host has none.
    pub entry_id: EntryId,
    /// Identity of the message.
    pub digest: Digest,
}

/// What a child sees of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The spawn that prepared it.
    pub spawn_id: String,
    /// The child's stable key.
    pub child_session_key: String,
    /// The parent's number in the store.
    pub parent: i64,
    /// Entries of the parent's log at the fork.
    pub log: u64,
    /// The chain over them.
    pub chain: [u8; 32],
    /// The parent's plan at the fork; none while it had none.
    pub plan_version: Option<u64>,
}

/// How far the index of texts is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Entries that were added just now.
    pub added: u64,
    /// Entries that are still not in it.
    pub behind: u64,
}

/// Plans, summaries and what else the engine keeps, beside the log and the records of hooks.
///
/// Errors are the store's own.
pub trait Rows: LogRows + Ledger {
    /// The plan in force; none while all entries stand for themselves.
    ///
    /// # Errors
    /// The store's.
    fn plan(&self, session: i64) -> Outcome<Option<StoredPlan>>;

    /// An older plan, by its version.
    ///
    /// # Errors
    /// The store's.
    fn plan_of_version(&self, session: i64, version: u64) -> Outcome<Option<StoredPlan>>;

    /// The newest plan that was published while the log had at most so many entries.
    ///
    /// # Errors
    /// The store's.
    fn plan_at(&self, session: i64, log: u64) -> Outcome<Option<StoredPlan>>;

    /// Adds a version; there is none with its number yet.
    ///
    /// # Errors
    /// The store's.
    fn put_plan(&mut self, session: i64, plan: &StoredPlan) -> Outcome<()>;

    /// A summary.
    ///
    /// # Errors
    /// The store's.
    fn node(&self, session: i64, id: NodeId) -> Outcome<Option<SummaryNode>>;

    /// Adds a summary; one that is there already stays as it is.
    ///
    /// # Errors
    /// The store's.
    fn put_node(&mut self, session: i64, node: &SummaryNode) -> Outcome<()>;

    /// Says what may be done with a summary.
    ///
    /// # Errors
    /// The store's.
    fn set_state(&mut self, session: i64, id: NodeId, state: NodeState) -> Outcome<()>;

    /// The summary that this work wrote, the newest where there are several; see
    /// [`SummaryNode::source_key`].
    ///
    /// # Errors
    /// The store's.
    fn node_of_work(&self, session: i64, work: Digest) -> Outcome<Option<SummaryNode>>;

    /// What is known of the log from a place on, in order.
    ///
    /// # Errors
    /// The store's.
    fn weights(&self, session: i64, from: u64) -> Outcome<Vec<Weight>>;

    /// The digests of a span of the log, in order.
    ///
    /// # Errors
    /// The store's.
    fn digests(&self, session: i64, span: Span) -> Outcome<Vec<Digest>>;

    /// The messages of a span that the log has, in order.
    ///
    /// # Errors
    /// The store's.
    fn messages(&self, session: i64, span: Span) -> Outcome<Vec<(u64, Message)>>;

    /// The same, but no more than so many bytes of payloads; the first in any case.
    ///
    /// # Errors
    /// The store's.
    fn messages_within(
        &self,
        session: i64,
        span: Span,
        bytes: usize,
    ) -> Outcome<Vec<(u64, Message)>>;

    /// Entries of the log whose body or place another body had before, each with the digest of what
    /// it is now.
    ///
    /// # Errors
    /// The store's.
    fn corrections(&self, session: i64) -> Outcome<Vec<(u64, Digest)>>;

    /// Notes what a child sees, over an older note of the spawn.
    ///
    /// # Errors
    /// The store's.
    fn put_fork(&mut self, fork: &Fork) -> Outcome<()>;

    /// What the child with this key sees, of its newest spawn.
    ///
    /// # Errors
    /// The store's.
    fn fork(&self, child_session_key: &str) -> Outcome<Option<Fork>>;

    /// Forgets what children see whose spawn was rolled back or expired.
    ///
    /// # Errors
    /// The store's.
    fn drop_forks(&mut self) -> Outcome<()>;

    /// How often operators changed a session beside its log: pins and erasures.
    ///
    /// # Errors
    /// The store's.
    fn revision(&self, session: i64) -> Outcome<u64>;

    /// Places of the log that are pinned.
    ///
    /// # Errors
    /// The store's.
    fn pins(&self, session: i64) -> Outcome<BTreeSet<u64>>;

    /// Pins an entry, whether the log has it now or not, or no longer.
    ///
    /// # Errors
    /// The store's.
    fn put_pin(&mut self, session: i64, entry: &EntryId, pinned: bool) -> Outcome<()>;

    /// Why there is work left for Compact or Maintain; none where there is none.
    ///
    /// # Errors
    /// The store's.
    fn debt(&self, session: i64) -> Outcome<Option<String>>;

    /// Says why there is work left, or that there is none.
    ///
    /// # Errors
    /// The store's.
    fn put_debt(&mut self, session: i64, reason: Option<&str>) -> Outcome<()>;

    /// The name of a session by its number.
    ///
    /// # Errors
    /// The store's.
    fn session_name(&self, session: i64) -> Outcome<Option<SessionId>>;

    /// Adds up to `limit` entries to the index of texts, without what is masked.
    ///
    /// # Errors
    /// The store's.
    fn index(&mut self, limit: u64, redaction: &Redaction) -> Outcome<Indexed>;

    /// How far the index of texts is.
    ///
    /// # Errors
    /// The store's.
    fn indexed(&self) -> Outcome<Indexed>;

    /// Places of the log whose text has all of these words, as far as they are in the index, the
    /// newest first.
    ///
    /// # Errors
    /// The store's.
    fn find(&self, session: i64, words: &[&str], limit: u64) -> Outcome<Vec<u64>>;
}
