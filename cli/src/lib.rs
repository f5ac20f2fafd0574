//! The parts of the `contextwire` command, for other programs and for tests.

pub mod audit;
pub mod bench;
pub mod command;
pub mod config;
pub mod doctor;
pub mod engine;
pub mod log;
pub mod output;
pub mod replay;
pub mod report;
pub mod session;
pub mod show;
pub mod stats;
pub mod tokens;
