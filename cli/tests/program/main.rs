//! The program itself, as people and scripts run it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod call;
mod config;
mod doctor;
mod grpc;
mod outbox;
mod pages;
mod run;
mod spawned;
