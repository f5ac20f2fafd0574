//! What a host says of a turn.

use serde::Serialize;

use crate::protocol::Tokens;

/// A turn, for people and for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnReport {
    /// Counted from 1 in this process.
    pub turn: u64,
    /// `completed`, `failed` or `interrupted`.
    pub status: String,
    /// Why it failed.
    pub problem: Option<String>,
    /// The last thing that the model said.
    pub answer: String,
    /// The thread that it ran in.
    pub thread_id: String,
    /// Whether the thread began with this turn.
    pub is_new_thread: bool,
    /// `thread_bootstrap` or `per_turn`.
    pub mode: String,
    /// The epoch that the thread shows; `None` (JSON null) where it shows none.
    pub epoch: Option<String>,
    /// Whether the context was sent.
    pub projected: bool,
    /// Why it was, or was not.
    pub reason: String,
    /// How many messages of context were sent.
    pub injected_messages: u64,
    /// The engine's estimate of the context, in tokens.
    pub context_tokens: u64,
    /// What the last request to the model cost; `None` (JSON null) where there was none.
    pub tokens: Option<Tokens>,
    /// The model's window in tokens, where Codex knows it.
    pub window: Option<u64>,
    /// Calls of tools, Codex's own among them.
    pub tool_calls: u64,
    /// Whether Codex compacted the thread in this turn: the next one begins another.
    pub compacted_by_codex: bool,
    /// Who assembled.
    pub served_by: String,
    /// Why it was not the engine, or what it was not told; empty when all is well.
    pub engine_problem: String,
    /// Bytes to the engine for the context.
    pub engine_bytes_sent: u64,
    /// Bytes from it.
    pub engine_bytes_received: u64,
    /// From the prompt to the report.
    pub millis: u64,
}

/// What became of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionReport {
    /// Whether there is less now.
    pub compacted: bool,
    /// Who did it: an engine, this process, or Codex.
    pub by: String,
    /// Why nothing happened.
    pub reason: Option<String>,
    /// Tokens before.
    pub tokens_before: Option<u64>,
    /// Tokens after.
    pub tokens_after: Option<u64>,
}
