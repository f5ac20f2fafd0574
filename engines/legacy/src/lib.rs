//! What a host does without any engine of its own (HOST-SEMANTICS 14).
//!
//! - [`LegacyEngine`] passes the host's messages through, stores nothing, and compacts when asked.
//! - [`compact_log`] is the built-in compaction as a function of a list: it summarises the older
//!   part and names the first message that stays. A host calls it to serve an engine that delegates.
//! - A [`Summarizer`] writes the summaries: [`HostModel`], an OpenAI-compatible endpoint (feature
//!   `openai`), or [`Extract`], which asks no model and says so.
//! - [`precheck`] says whether a prompt fits before it is sent, [`prune`] cuts old tool output in what
//!   is sent.
//! - [`Trigger`], [`SafetyWindow`] and [`AfterCompaction`] are the host's side of a compaction:
//!   what it asks for, how long it waits, and which session it goes on with.
//!
//! ```
//! use std::time::Duration;
//!
//! use contextwire_engine::{Compact, HookContext, Message, Session, SessionId, Transcript};
//! use contextwire_legacy::{CompactOptions, Compaction, Extract, compact_log};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "many words ".repeat(4_000);
//! let log: Transcript = (0..9)
//!     .map(|n| {
//!         let payload = format!(r#"{{"role":"user","content":"{text}"}}"#);
//!         Message::from_payload(payload).with_entry_id(format!("e{n}"))
//!     })
//!     .collect();
//! let options = CompactOptions {
//!     request: Compact { force: true, ..Compact::default() },
//!     ..CompactOptions::default()
//! };
//! let cx = HookContext::new(Session::new(SessionId::new("s")?), Duration::from_secs(180));
//! let Compaction::Done(done) = compact_log(&cx, &log, &options, &Extract).await? else {
//!     panic!("a long list has something to summarise");
//! };
//! assert!(done.tokens_after < done.tokens_before / 2);
//! assert_eq!(done.context(&log, 0).len(), 1 + log.len() - done.first_kept);
//! # Ok(())
//! # }
//! ```

mod attempt;
mod body;
mod compact;
mod compaction;
mod conversation;
mod cut;
mod engine;
mod error;
mod files;
mod item;
pub mod precheck;
mod prompt;
mod prompt_budget;
pub mod prune;
mod render;
mod safety;
mod settings;
mod successor;
mod summarize;
mod summarizer;
mod summary;
mod text;
mod trigger;
mod usage;

pub use attempt::{Caller, Unwritten, Written};
pub use compact::{CompactOptions, LastEntry, compact_log};
pub use compaction::{CompactedLog, Compaction};
pub use conversation::Earlier;
pub use engine::{CompactionSite, ID, LegacyEngine, LegacyOptions};
pub use error::CompactionError;
pub use prompt_budget::PromptBudget;
pub use render::render_message;
pub use safety::{DEFAULT_TIMEOUT, SafetyWindow, safety_timeout};
pub use settings::{CompactSettings, MAX_SUMMARY_CHARS};
pub use successor::{AfterCompaction, Delegated, NativeSession, SuccessorError, delegated};
#[cfg(feature = "openai")]
pub use summarizer::{EndpointError, OpenAiEndpoint, OpenAiOptions};
pub use summarizer::{
    Extract, Flaw, HostModel, HostModelOrExtract, Stage, SummarizeError, Summarizer, SummaryAnswer,
    SummaryRequest, SummaryText,
};
pub use text::neutral;
pub use trigger::{Preflight, Trigger};
