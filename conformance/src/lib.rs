//! The conformance suite of `contextengine.v1`: does an engine, in whatever language, keep the rules?
//!
//! - [`check`]: what a check is; the table of all of them is [`checks::all`].
//! - [`probe`]: the host that a check plays, frame by frame; [`list`] and [`request`] are what it
//!   says, [`refusal`] how it reads a failure.
//! - [`engine`]: what the engine under test declares, which decides what is skipped.
//! - [`runner`]: runs a selection; [`report`]: what came of it.
//! - [`requirements`]: which rule is checked by what, and the versioned claim.
//! - [`mutant`]: an engine that breaks one rule on purpose, to check the checks.
//!
//! It stands on the generated types alone and shares no judgement with our own client.

pub mod check;
pub mod checks;
pub mod control;
pub mod engine;
pub mod list;
pub mod mutant;
pub mod probe;
pub mod refusal;
pub mod report;
pub mod request;
pub mod requirements;
pub mod runner;
pub mod target;
