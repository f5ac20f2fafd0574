//! A host of context engines whose model is reached through the Codex app-server.
//!
//! Codex keeps threads: it has a history of its own, and a context that is sent with each turn would
//! stand in it again and again. [`CodexHost`] sends it once for each epoch that the engine names, and
//! keeps the thread for as long as it shows the right one (PROTOCOL 10). Which thread that is
//! outlives the process; while it is unknown whether a thread has the context, it counts as one that
//! does not.
//!
//! ```no_run
//! use contextwire_client::engine::{Session, SessionId};
//! use contextwire_client::{Host, Target};
//! use contextwire_codex::{CodexHost, CodexSettings};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder()
//!     .engine("lossless", Target::unix("/run/user/1000/contextwire/engine.sock"))
//!     .build()?;
//! let session = Session::new(SessionId::new("codex:review")?);
//! let settings = CodexSettings::new(session, "sessions/review");
//! let mut codex = CodexHost::open(host, settings).await?;
//! let turn = codex.turn("What changed since yesterday?").await?;
//! println!("{} ({}, {} tokens)", turn.answer, turn.reason, turn.context_tokens);
//! codex.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`app_server`] is Codex's protocol by itself, and [`item`] what becomes of messages in it.

pub mod app_server;
mod approval;
mod deliver;
mod error;
mod host;
pub mod item;
mod log;
mod process;
pub mod protocol;
mod report;
mod rollout;
pub mod rpc;
mod running;
mod settings;
mod tools;
mod wall_clock;

pub use approval::Approvals;
pub use contextwire_client::projection::OnProjectionFailure;
pub use error::CodexError;
pub use host::CodexHost;
pub use process::Program;
pub use report::{CompactionReport, TurnReport};
pub use settings::{CodexSettings, Injection};
pub use tools::{Tool, Tools};
