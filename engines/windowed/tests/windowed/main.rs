//! Acceptance of the windowed engine: the numbered cases that apply to an engine without a store.

mod cases;
mod engine;
mod fields;
mod properties;
mod session;
mod support;
