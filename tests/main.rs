//! Tests across crates and processes: one module a subject.

#[cfg(test)]
mod absent;
#[cfg(test)]
mod allocations;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bad_wire;
#[cfg(test)]
mod budget;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod children;
#[cfg(test)]
mod codex;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod compute;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod field_reports;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod host;
#[cfg(test)]
mod host_calls;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod keep_alive;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod load;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod old_engines;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod projection;
#[cfg(test)]
mod replicas;
#[cfg(test)]
mod session;
#[cfg(test)]
mod several;
#[cfg(test)]
mod sizes;
#[cfg(test)]
#[cfg(unix)]
mod spawned;
#[cfg(test)]
mod stalled;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod stuck;
#[cfg(test)]
mod sync;
#[cfg(test)]
mod sync_wire;
#[cfg(test)]
mod takeover;
#[cfg(test)]
mod thin_path;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod walk;
