//! Rollouts of Codex: JSON Lines of records `{timestamp, ordinal, type, payload}`.
//!
//! A rollout is read into the same session as every other format: its items become messages in
//! OpenClaw's form ([`item`]), the items of one response one message ([`answer`]), `compacted` a
//! boundary that replaces the past, a rollback a branch. A fork's file holds only what the fork
//! added; what it took over is read from its parents ([`lineage`]).

mod answer;
mod content;
mod item;
mod lineage;
mod past;
mod record;
mod rollout;
mod tags;

pub(super) use record::is_record;
pub(super) use rollout::Rollout;

#[cfg(test)]
mod tests;
