//! Tests across crates and processes: one module a subject.

#[cfg(test)]
mod tidy;
