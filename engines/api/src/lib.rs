//! The contract between an agent host and its context engine, in Rust.
#![doc = include_str!("tutorial.md")]

mod admin;
mod after_turn;
mod assemble;
mod bootstrap;
mod budget;
mod commit_turn;
mod compact;
mod context;
pub mod digest;
mod dispose;
pub mod durable;
mod engine;
mod erased;
mod error;
pub mod header;
mod hook;
mod host_call;
mod host_log;
mod ids;
mod info;
mod ingest;
pub mod json;
mod maintain;
mod message;
mod order;
pub mod pairing;
mod segment;
mod settings;
mod subagent;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
mod transcript;

pub use admin::{
    AnyAdmin, DoctorFinding, DoctorSeverity, EngineAdmin, EraseSession, ErasedRows, Erasure,
    ErasureProof, ExplainTurn, ExplainedItem, ExplainedTurn, LeftOut, PinEntry, Places, PlanItem,
    PlanSummary, StandingPlan, StoreStatus, StoredEntry, StoredLog, StoredSession,
};
pub use after_turn::AfterTurn;
pub use assemble::{
    Assemble, AssembleOutcome, AssembleReply, ContextProjection, CurrentTurn, KnownProjection,
    ProjectionMode, PromptAuthority, Site, Unchanged,
};
pub use bootstrap::{Bootstrap, Bootstrapped};
pub use budget::TokenBudget;
pub use commit_turn::{CommitTurn, EntryAnchor, TurnAdmission, TurnCommitted};
pub use compact::{Compact, CompactResult, Compacted, CompactionTarget};
pub use context::{Cancellation, HookContext, Progress, ProgressSink, RuntimeContext, Scope};
pub use digest::{Digest, TranscriptState};
pub use dispose::Dispose;
pub use engine::ContextEngine;
pub use erased::AnyEngine;
pub use error::{EngineError, ErrorKind};
pub use hook::{Effect, FallbackClass, Hook, HookProfile};
pub use host_call::{
    Host, HostAnswer, HostCall, HostCallError, HostCalls, HostReply, LlmComplete, LlmCompleted,
    LlmUsage, ReadTranscript, RewriteEntries, Rewritten, TranscriptPage,
};
pub use host_log::{HostLog, LogAnswer, LogSource};
pub use ids::{EntryId, HookId, InvalidId, Session, SessionId, SessionTarget};
pub use info::{
    EngineInfo, HostParam, HostRequirement, MaintenanceMode, TranscriptSemantics, TranscriptSync,
};
pub use ingest::{Ingest, IngestBatch, Ingested, IngestedBatch};
pub use maintain::{Maintain, MaintainReason, Maintained};
pub use message::{Header, Message, Omitted};
pub use order::{LateHook, Order, Reply};
pub use segment::{Assembled, Segment, SegmentError};
pub use settings::{ReasonCode, RuntimeMode, RuntimeSettings, SelectionSource, SettingsInput};
pub use subagent::{
    ContextMode, EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome,
    SpawnPrepared,
};
pub use transcript::Transcript;
