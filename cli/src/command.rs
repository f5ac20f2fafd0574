//! The commands, one file each.

pub mod assemble_at;
pub mod audit;
pub mod bench;
pub mod call;
pub mod codex_run;
pub mod completions;
pub mod config;
pub mod conformance;
pub mod describe;
pub mod doctor;
pub mod erase;
pub mod explain;
pub mod generate;
pub mod man;
pub mod outbox;
pub mod pin;
pub mod replay;
pub mod serve;
pub mod session;
pub mod sessions;
pub mod show;
pub mod stats;
pub mod status;
mod stored;
pub mod tokens;
