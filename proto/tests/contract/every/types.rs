//! The generated type of every message, by its name.

use contextwire_proto::v1;
use prost::Message as _;

macro_rules! types {
    ($($name:ident)*) => {
        /// Their names, sorted.
        pub(super) const TYPES: &[&str] = &[$(stringify!($name)),*];

        /// Decodes with the generated type and encodes again.
        pub(super) fn again(name: &str, bytes: &[u8]) -> Result<Vec<u8>, prost::DecodeError> {
            Ok(match name {
                $(stringify!($name) => v1::$name::decode(bytes)?.encode_to_vec(),)*
                other => unreachable!("{other} is not listed"),
            })
        }
    };
}

types! {
    AfterTurnRequest
    AfterTurnResponse
    AfterTurnResult
    AfterTurnStart
    AppliedState
    AssembleRequest
    AssembleResponse
    AssembleResult
    AssembleStart
    AssembledMessages
    BootstrapRequest
    BootstrapResponse
    BootstrapResult
    BootstrapStart
    CallContext
    Cancel
    CommitTurnRequest
    CommitTurnResponse
    CompactRequest
    CompactResponse
    CompactResult
    CompactStart
    CompactionResult
    ContextProjection
    DelegateCompaction
    DelegateCompactionResult
    DescribeRequest
    DescribeResponse
    DisposeRequest
    DisposeResponse
    DoctorFinding
    DoctorRequest
    DoctorResponse
    EndSubagentRequest
    EndSubagentResponse
    EngineInfo
    EntryAnchor
    EntryIds
    EntryReplacement
    EraseSessionRequest
    EraseSessionResponse
    ErasedRows
    ErasureProof
    ExplainTurnRequest
    ExplainTurnResponse
    ExplainedContext
    ExplainedItem
    GetPlanRequest
    GetPlanResponse
    GetStatusRequest
    GetStatusResponse
    HostCall
    HostCallError
    HostCallResult
    HostIdentity
    HostParams
    HostRequirement
    IngestBatchRequest
    IngestBatchResponse
    IngestRequest
    IngestResponse
    InspectSessionRequest
    InspectSessionResponse
    Keep
    KnownProjection
    LateHook
    LeftOut
    Limits
    ListSessionsRequest
    ListSessionsResponse
    LlmComplete
    LlmCompleteResult
    LlmMessage
    LlmUsage
    MaintainRequest
    MaintainResponse
    MaintainResult
    MaintainStart
    Message
    NeedTranscript
    OmittedPayload
    PinEntryRequest
    PinEntryResponse
    Places
    PlanItem
    PlanSummary
    PrepareSubagentSpawnRequest
    PrepareSubagentSpawnResponse
    Progress
    ProtocolVersion
    ReadTranscript
    ReadTranscriptResult
    Reply
    ResolveSubagentSpawnRequest
    ResolveSubagentSpawnResponse
    RewriteTranscriptEntries
    RewriteTranscriptEntriesResult
    RuntimeContext
    RuntimeSettings
    Scope
    Segment
    Session
    SessionTarget
    SettingsDiagnostics
    SettingsEngineSelection
    SettingsExecutionHost
    SettingsLimits
    SettingsModel
    SettingsRuntime
    StoreStatus
    StoredEntry
    StoredPlan
    StoredSession
    ToolSet
    TranscriptSemantics
    TranscriptState
    TranscriptUpdate
    TurnAdmission
    UnchangedProjection
}
