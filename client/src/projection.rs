//! Persistent backend threads: which context a thread gets, when, and in which words
//! (PROTOCOL 10, HOST-SEMANTICS 6).
//!
//! A backend with threads of its own remembers what it was told. An engine says which context a
//! thread should have by an *epoch*; a thread that has it is sent the bare prompt, every other
//! case is decided here: [`Planner::plan`] is a function of values, [`BindingStore`] remembers
//! which thread has what, and [`Framing`] makes a context the text of a turn.
//!
//! ```
//! use contextwire_client::engine::{EngineInfo, Message};
//! use contextwire_client::projection::{
//!     Assembly, Content, Planner, Prompt, ProjectionOptions, Step, ThreadChoice, ToolSurface, Turn,
//! };
//!
//! let planner = Planner::new(ProjectionOptions::default());
//! let engine = EngineInfo::new("lossless", "Lossless", "1.0.0");
//! let tools = ToolSurface::of(["read", "write"]);
//! // Before the call: nothing is bound, so the engine is not told of a projection.
//! assert_eq!(planner.known(Some(&engine), None, &tools), None);
//! // After it: nobody answered, so a new thread gets the bare prompt and nothing is stored.
//! let turn = Turn {
//!     engine: Some(&engine),
//!     bound: None,
//!     tools: &tools,
//!     assembly: Assembly::Failed,
//! };
//! let Step::Run(plan) = planner.plan(&turn) else { unreachable!("only `unchanged` is asked twice") };
//! assert_eq!(plan.reason.as_str(), "assemble-failed");
//! assert!(matches!(plan.thread, ThreadChoice::Fresh { rotated: false }));
//! assert!(matches!(plan.content, Content::Bare));
//! ```
//!
//! The order of a turn, and what a crash in it comes to, is in `docs/projection.md`.

mod assembly;
mod binding;
mod decision;
mod frame;
mod history;
mod native;
mod neutralise;
mod options;
mod payload;
mod planner;
mod policy;
mod redact;
mod requested;
mod shape;
mod store;
mod tools;
mod window;

#[cfg(test)]
mod tests;

pub use assembly::Assembly;
pub use binding::{Binding, BindingDraft, BoundThread, SCHEMA_VERSION, ThreadTerms};
pub use decision::{Decision, ProjectionReason, ThreadChoice, decide};
pub use frame::{Framed, Framing, MAX_TURN_CHARS, Prompt};
pub use history::{Cut, HistoryItem};
pub use native::{NativeLimit, NativeLimits, NativeThread};
pub use options::{OnProjectionFailure, ProjectionOptions};
pub use payload::Payloads;
pub use planner::{BindingStep, Content, Plan, Planner, Step, Turn};
pub use policy::policy_fingerprint;
pub use requested::{Requested, ThreadProjection};
pub use store::{BindingError, BindingStore, PendingBinding};
pub use tools::ToolSurface;
pub use window::{CHARS_PER_TOKEN, Reserve, part_chars, prompt_tokens, window_chars};
