//! A budgeted window over the conversation: no store, no model.
//!
//! [`WindowedEngine`] shows the model the newest part of a conversation that fits the token budget.
//! [`fit`] is the same as a plain function of a list and a budget. What always holds:
//!
//! - system and developer messages at the head come first and count; a compaction summary behind
//!   them stays while there is room;
//! - the newest user message is there, byte for byte, and with it the whole turn it leads, as long
//!   as that fits;
//! - a tool call and its results are there together or not at all, results right behind their call;
//!   a call that was never answered gets a result that says so;
//! - an oversized tool result is cut to its head and tail with a note before anything is dropped;
//! - nothing that a strict provider rejects: no empty message, no thinking of another model, a user
//!   message first;
//! - equal input, equal output: no clock, no randomness; and time grows with the window, not with
//!   the history.
//!
//! ```
//! use contextwire_engine::{Message, TokenBudget, Transcript};
//! use contextwire_windowed::{Window, fit};
//!
//! let transcript: Transcript = (0..1000)
//!     .map(|n| Message::from_payload(format!(r#"{{"role":"user","content":"message {n}"}}"#)))
//!     .collect();
//! let reply = fit(&transcript, &Window { budget: TokenBudget::new(600), ..Window::default() });
//! assert!(reply.estimated_tokens <= 600 && reply.messages.len() > 50);
//! ```

mod body;
mod clean;
mod engine;
mod fit;
pub mod form;
mod image;
mod invent;
mod render;
mod select;
mod shorten;
mod slice;
mod unit;

pub use clean::is_blank;
pub use engine::WindowedEngine;
pub use fit::{Window, fit};
