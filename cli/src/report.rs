//! What the commands print: plain values, a table for people, JSON for machines.
//!
//! The values hold what was measured and know nothing about where it comes from. Each of them
//! serialises with `serde_json` and draws itself on a [`Surface`].

mod audit;
mod bench;
mod codex;
mod config;
mod conformance;
mod conversion;
mod describe;
mod doctor;
mod endpoints;
mod erasure;
mod figure;
mod host;
mod outbox;
mod privacy;
mod prose;
mod replay;
mod show;
mod stats;
mod status;
mod store;
mod stored;
mod table;
mod tokens;

pub use audit::{AuditFinding, AuditReport};
pub use bench::{BenchReport, BenchRow};
pub(crate) use codex::{compaction_line, turn_lines};
pub use config::{ConfigReport, ConfigValue};
pub use conformance::{ConformanceChecks, ConformanceMatrix, ConformanceRun};
pub use conversion::ConversionReport;
pub use describe::{Describe, HostRequirement, Limits};
pub use doctor::{DoctorReport, Finding, Severity};
pub use erasure::ErasureReport;
pub use figure::Millis;
pub use host::HostReport;
pub use outbox::{OutboxReport, OutboxRow};
pub use privacy::{PrivacyField, PrivacyReport};
pub use replay::{ReplayReport, ReplayTotals, ReplayTurn};
pub use show::{
    ShownEntries, ShownEntry, ShownMessage, ShownPiece, ShownTurn, ShownTurns, ShownWhole,
};
pub use stats::{EntriesOfType, MessagesOfRole, ReportedProblem, SessionStats, TextsOfKind};
pub use status::Outside;
pub use store::{Pins, StoreStats};
pub use stored::{
    Explained, ExplainedItem, LeftOutRun, StandingItem, StandingReport, StoredSession,
    StoredSessions,
};
pub use table::Surface;
pub use tokens::{TokensByProvider, TokensOfKind, TokensReport};
