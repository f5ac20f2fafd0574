//! Engines whose behaviour a test sets, and what a test may ask of any engine.

mod methods;
mod recording;
mod scripted;

pub use methods::implemented;
pub use recording::{RecordingEngine, Seen, SeenRequest};
pub use scripted::{Script, ScriptedEngine};
