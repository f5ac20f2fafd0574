//! What a host does around a model's turn, as calls of its engine (HOST-SEMANTICS 2).
//!
//! A run [opens](open) its session once; each turn asks the engine again between tool rounds
//! ([`ToolLoop`]) and is [finished](finish) in the end. What only the host must see is taken out of a
//! list with [`without_hidden`] before any of it.

mod delivery;
mod end;
mod hidden;
mod prompt;
mod spawn;
mod start;
mod tool_loop;

pub use delivery::{Delivered, TurnDelta};
pub use end::{Finalised, FinishedTurn, TurnOutcome, finish};
pub use hidden::{carries_runtime_context, without_hidden};
pub use prompt::system_prompt;
pub use spawn::needs_preparation;
pub use start::{Opened, Opening, open};
pub use tool_loop::{LoopView, ToolLoop};
