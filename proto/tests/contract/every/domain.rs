//! Every full vector keeps all of its fields on the way through the domain types.

use contextwire_engine::{
    AssembleReply, ContextProjection, DoctorFinding, EraseSession, ErasedRows, ExplainTurn,
    ExplainedItem, LeftOut, Message, Omitted, PinEntry, PlanItem, PlanSummary, RuntimeContext,
    RuntimeSettings, Scope, Segment, Session, SessionTarget, StoreStatus, StoredEntry,
    StoredSession, TranscriptState, Unchanged,
};
use contextwire_proto::convert::{
    AfterTurnResult, AfterTurnStart, AssembleResult, AssembleStart, BootstrapResult,
    BootstrapStart, CommitTurnRequest, CommitTurnResponse, CompactResult, CompactStart,
    ConvertError, DisposeRequest, DisposeResponse, EndSubagentRequest, EndSubagentResponse,
    IngestBatchRequest, IngestBatchResponse, IngestRequest, IngestResponse, MaintainResult,
    MaintainStart, PrepareSubagentSpawnRequest, PrepareSubagentSpawnResponse,
    ResolveSubagentSpawnRequest, ResolveSubagentSpawnResponse,
};
use contextwire_proto::frame::{EngineFrame, HostCallRequest, HostCallResult, HostFrame};
use contextwire_proto::handshake::{EngineDescription, HostDescription};
use contextwire_proto::sync::TranscriptUpdate;
use contextwire_proto::{CallContext, v1};
use prost::Message as _;

use super::make::corners;
use super::{messages, pool};

/// Wire, domain, wire.
fn through<W, T>(bytes: &[u8]) -> Result<Vec<u8>, String>
where
    W: prost::Message + Default + From<T>,
    T: TryFrom<W>,
    T::Error: Into<AnyError>,
{
    let wire = W::decode(bytes).map_err(|error| error.to_string())?;
    let domain = T::try_from(wire).map_err(|error| error.into().0)?;
    Ok(W::from(domain).encode_to_vec())
}

/// Conversions that cannot fail say so by their type.
struct AnyError(String);

impl From<ConvertError> for AnyError {
    fn from(error: ConvertError) -> Self {
        Self(error.to_string())
    }
}

impl From<std::convert::Infallible> for AnyError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

macro_rules! domain_types {
    ($($wire:ident => $domain:ty;)*) => {
        fn convert(name: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, String>> {
            match name {
                $(stringify!($wire) => Some(through::<v1::$wire, $domain>(bytes)),)*
                _ => None,
            }
        }
    };
}

domain_types! {
    AfterTurnRequest => HostFrame<AfterTurnStart>;
    AfterTurnResponse => EngineFrame<AfterTurnResult>;
    AfterTurnResult => AfterTurnResult;
    AfterTurnStart => AfterTurnStart;
    AssembleRequest => HostFrame<AssembleStart>;
    AssembleResponse => EngineFrame<AssembleResult>;
    AssembleResult => AssembleResult;
    AssembleStart => AssembleStart;
    AssembledMessages => AssembleReply;
    BootstrapRequest => HostFrame<BootstrapStart>;
    BootstrapResponse => EngineFrame<BootstrapResult>;
    BootstrapResult => BootstrapResult;
    BootstrapStart => BootstrapStart;
    CallContext => CallContext;
    CommitTurnRequest => CommitTurnRequest;
    CommitTurnResponse => CommitTurnResponse;
    CompactRequest => HostFrame<CompactStart>;
    CompactResponse => EngineFrame<CompactResult>;
    CompactResult => CompactResult;
    CompactStart => CompactStart;
    ContextProjection => ContextProjection;
    DescribeRequest => HostDescription;
    DescribeResponse => EngineDescription;
    DisposeResponse => DisposeResponse;
    DoctorFinding => DoctorFinding;
    EndSubagentRequest => EndSubagentRequest;
    EndSubagentResponse => EndSubagentResponse;
    EraseSessionRequest => EraseSession;
    ErasedRows => ErasedRows;
    ExplainTurnRequest => ExplainTurn;
    ExplainedItem => ExplainedItem;
    HostCall => HostCallRequest;
    HostCallResult => HostCallResult;
    IngestBatchRequest => IngestBatchRequest;
    IngestBatchResponse => IngestBatchResponse;
    IngestRequest => IngestRequest;
    IngestResponse => IngestResponse;
    LeftOut => LeftOut;
    MaintainRequest => HostFrame<MaintainStart>;
    MaintainResponse => EngineFrame<MaintainResult>;
    MaintainResult => MaintainResult;
    MaintainStart => MaintainStart;
    Message => Message;
    OmittedPayload => Omitted;
    PinEntryRequest => PinEntry;
    PlanItem => PlanItem;
    PlanSummary => PlanSummary;
    PrepareSubagentSpawnRequest => PrepareSubagentSpawnRequest;
    PrepareSubagentSpawnResponse => PrepareSubagentSpawnResponse;
    ResolveSubagentSpawnRequest => ResolveSubagentSpawnRequest;
    ResolveSubagentSpawnResponse => ResolveSubagentSpawnResponse;
    RuntimeContext => RuntimeContext;
    RuntimeSettings => RuntimeSettings;
    Scope => Scope;
    Segment => Segment;
    Session => Session;
    SessionTarget => SessionTarget;
    StoreStatus => StoreStatus;
    StoredEntry => StoredEntry;
    StoredSession => StoredSession;
    TranscriptState => TranscriptState;
    TranscriptUpdate => TranscriptUpdate;
    UnchangedProjection => Unchanged;
}

#[test]
fn no_field_is_lost_between_wire_and_domain() {
    const NOT_FULL: [&str; 4] = ["bare", "zeros", "unknown_numbers", "unknown_tag"];
    for message in messages(&pool()) {
        for corner in corners(&message) {
            if NOT_FULL.contains(&corner.name.as_str()) || corner.name.starts_with("minor_") {
                continue;
            }
            let name = message.name();
            if let Some(outcome) = convert(name, &corner.bytes) {
                assert_eq!(outcome, Ok(corner.bytes), "{name} {}", corner.name);
            }
        }
    }
}

/// Its session does not travel, so the full vector's is lost on purpose.
#[test]
fn dispose_loses_its_session_and_nothing_else() {
    let message = pool()
        .get_message_by_name("contextengine.v1.DisposeRequest")
        .unwrap();
    let full = &corners(&message)[0].bytes;
    let mut expected = v1::DisposeRequest::decode(full.as_slice()).unwrap();
    expected.call.as_mut().unwrap().session = None;
    let through = through::<v1::DisposeRequest, DisposeRequest>(full).unwrap();
    assert_eq!(through, expected.encode_to_vec());
}

#[test]
fn no_corner_makes_a_conversion_panic_and_what_converts_is_stable() {
    for message in messages(&pool()) {
        for corner in corners(&message) {
            let name = message.name();
            if let Some(Ok(once)) = convert(name, &corner.bytes) {
                assert_eq!(
                    convert(name, &once),
                    Some(Ok(once.clone())),
                    "{name} {}",
                    corner.name
                );
            }
        }
    }
}

/// A host of that minor sends the same as is sent to an engine of that minor.
#[test]
fn what_a_host_of_an_older_minor_sends_means_something() {
    let mut looked_at = 0;
    for message in messages(&pool()) {
        for corner in corners(&message) {
            if !corner.name.starts_with("minor_") {
                continue;
            }
            if let Some(outcome) = convert(message.name(), &corner.bytes) {
                outcome.unwrap_or_else(|why| panic!("{} {}: {why}", message.name(), corner.name));
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 30, "{looked_at}");
}
