//! The contract as others see it: its descriptor, its vectors, its codec.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

mod codec;
mod every;
mod golden;
mod options;
mod strict;
mod vectors;
