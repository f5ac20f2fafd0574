//! What the commands print: plain values, a table for people, JSON for machines.
//!
//! The values hold what was measured and know nothing about where it comes from. Each of them
//! serialises with `serde_json` and draws itself on a [`Surface`].

mod audit;
mod bench;
mod describe;
mod doctor;
mod figure;
mod privacy;
mod replay;
mod table;

pub use audit::{AuditFinding, AuditReport};
pub use bench::{BenchReport, BenchRow};
pub use describe::{Describe, HostRequirement, Limits};
pub use doctor::{DoctorReport, Finding, Severity};
pub use figure::Millis;
pub use privacy::{PrivacyField, PrivacyReport};
pub use replay::{ReplayReport, ReplayTotals, ReplayTurn};
pub use table::Surface;
