//! The reference host: what is in the context of a model, and where it comes from.
//!
//! [`report`] is the account of one run: the system prompt by its parts, the tools by their schemas,
//! the conversation by kinds, and what the engine put in (HOST-SEMANTICS 12).

pub mod report;
