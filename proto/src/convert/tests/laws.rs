//! What goes over the wire comes back the same.

use std::time::Duration;

use bytes::Bytes;
use contextwire_engine::{
    HostCall, HostCallError, Ingest, Ingested, Progress, ReadTranscript, RuntimeSettings,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use prost::Message as _;

use super::descriptions::{engine, host};
use super::hooks::{
    after_turn, batch, bootstrap, commit, dispose, end, maintain, prepare, resolve,
};
use super::host_calls::{host_call, host_call_result};
use super::requests::{assemble_result, assemble_start, compact_result, compact_start};
use super::values::{call, context, list, message, reply, settings, state, update};
use crate::convert::{
    AfterTurnResult, AssembleStart, ConvertError, DisposeResponse, EndSubagentResponse,
    IngestRequest, IngestResponse, ResolveSubagentSpawnResponse,
};
use crate::frame::{
    CancelReason, EngineFrame, HostCallRequest, HostCallResult, HostFrame, NeedTranscript,
};
use crate::handshake::EngineDescription;
use crate::sync::{List, TranscriptUpdate, UpdateBody};
use crate::v1;

/// Domain, wire, bytes, wire, domain.
fn round_trip<W, T>(domain: &T) -> Result<T, ConvertError>
where
    W: prost::Message + Default + From<T>,
    T: Clone + TryFrom<W, Error = ConvertError>,
{
    let bytes = W::from(domain.clone()).encode_to_vec();
    T::try_from(W::decode(Bytes::from(bytes)).unwrap())
}

/// Every hook has the same frames around a start and a result of its own.
fn every_frame_comes_back<H, S, E, R>(start: S, result: R) -> Result<(), TestCaseError>
where
    H: prost::Message + Default + From<HostFrame<S>>,
    HostFrame<S>: TryFrom<H, Error = ConvertError>,
    S: Clone + PartialEq + std::fmt::Debug,
    E: prost::Message + Default + From<EngineFrame<R>>,
    EngineFrame<R>: TryFrom<E, Error = ConvertError>,
    R: Clone + PartialEq + std::fmt::Debug,
{
    let unavailable = TranscriptUpdate {
        seq: 1,
        list: List::Log,
        body: UpdateBody::Unavailable,
    };
    let failed = HostCallResult {
        call_id: "c1".to_owned(),
        outcome: Err(HostCallError::unavailable()),
    };
    for frame in [
        HostFrame::Start(Box::new(start)),
        HostFrame::Transcript(unavailable),
        HostFrame::HostCallResult(Box::new(failed)),
        HostFrame::Cancel(CancelReason::Deadline),
    ] {
        prop_assert_eq!(round_trip::<H, _>(&frame), Ok(frame));
    }
    let read = HostCallRequest {
        call_id: "c1".to_owned(),
        timeout: Duration::from_secs(1),
        call: Some(HostCall::ReadTranscript(ReadTranscript::default())),
    };
    let need = NeedTranscript {
        seq: 2,
        list: List::Log,
        have: Vec::new(),
    };
    for frame in [
        EngineFrame::Result(Box::new(result)),
        EngineFrame::HostCall(Box::new(read)),
        EngineFrame::Progress(Progress::default(), None),
        EngineFrame::NeedTranscript(need),
        EngineFrame::Unknown,
    ] {
        prop_assert_eq!(round_trip::<E, _>(&frame), Ok(frame));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn messages_come_back_with_every_byte(value in message()) {
        let back = round_trip::<v1::Message, _>(&value).unwrap();
        prop_assert_eq!(back.payload(), value.payload());
        prop_assert_eq!(back.digest(), value.digest());
        prop_assert_eq!(back, value);
    }

    #[test]
    fn settings_and_context_come_back(settings in settings(), context in context()) {
        prop_assert_eq!(&RuntimeSettings::from(v1::RuntimeSettings::from(settings.clone())), &settings);
        prop_assert_eq!(round_trip::<v1::RuntimeContext, _>(&context), Ok(context));
    }

    #[test]
    fn calls_and_replies_come_back(call in call(), reply in reply()) {
        prop_assert_eq!(round_trip::<v1::CallContext, _>(&call), Ok(call));
        prop_assert_eq!(round_trip::<v1::Reply, _>(&reply), Ok(reply));
    }

    #[test]
    fn lists_come_back(update in update(), state in state()) {
        prop_assert_eq!(round_trip::<v1::TranscriptUpdate, _>(&update), Ok(update));
        prop_assert_eq!(round_trip::<v1::TranscriptState, _>(&state), Ok(state));
    }

    #[test]
    fn assemble_comes_back(start in assemble_start(), result in assemble_result()) {
        prop_assert_eq!(round_trip::<v1::AssembleStart, _>(&start), Ok(start));
        prop_assert_eq!(round_trip::<v1::AssembleResult, _>(&result), Ok(result));
    }

    #[test]
    fn compact_comes_back(start in compact_start(), result in compact_result()) {
        prop_assert_eq!(round_trip::<v1::CompactStart, _>(&start), Ok(start));
        prop_assert_eq!(round_trip::<v1::CompactResult, _>(&result), Ok(result));
    }

    #[test]
    fn ingest_comes_back(call in call(), message in message(), flag in any::<bool>(), reply in reply()) {
        let request = IngestRequest { call, request: Ingest { message, is_heartbeat: flag } };
        prop_assert_eq!(round_trip::<v1::IngestRequest, _>(&request), Ok(request));
        let response = IngestResponse { reply, ingested: Ingested { ingested: flag } };
        prop_assert_eq!(round_trip::<v1::IngestResponse, _>(&response), Ok(response));
    }

    #[test]
    fn ingest_batch_comes_back((request, response) in batch()) {
        prop_assert_eq!(round_trip::<v1::IngestBatchRequest, _>(&request), Ok(request));
        prop_assert_eq!(round_trip::<v1::IngestBatchResponse, _>(&response), Ok(response));
    }

    #[test]
    fn bootstrap_comes_back((start, result) in bootstrap()) {
        prop_assert_eq!(round_trip::<v1::BootstrapStart, _>(&start), Ok(start));
        prop_assert_eq!(round_trip::<v1::BootstrapResult, _>(&result), Ok(result));
    }

    #[test]
    fn after_turn_comes_back(start in after_turn(), reply in reply()) {
        prop_assert_eq!(round_trip::<v1::AfterTurnStart, _>(&start), Ok(start));
        let result = AfterTurnResult { reply };
        prop_assert_eq!(round_trip::<v1::AfterTurnResult, _>(&result), Ok(result));
    }

    #[test]
    fn commit_turn_comes_back((request, response) in commit()) {
        prop_assert_eq!(round_trip::<v1::CommitTurnRequest, _>(&request), Ok(request));
        prop_assert_eq!(round_trip::<v1::CommitTurnResponse, _>(&response), Ok(response));
    }

    #[test]
    fn maintain_comes_back((start, result) in maintain()) {
        prop_assert_eq!(round_trip::<v1::MaintainStart, _>(&start), Ok(start));
        prop_assert_eq!(round_trip::<v1::MaintainResult, _>(&result), Ok(result));
    }

    #[test]
    fn subagents_come_back((request, response) in prepare(), resolve in resolve(), end in end(), reply in reply()) {
        prop_assert_eq!(round_trip::<v1::PrepareSubagentSpawnRequest, _>(&request), Ok(request));
        prop_assert_eq!(round_trip::<v1::PrepareSubagentSpawnResponse, _>(&response), Ok(response));
        prop_assert_eq!(round_trip::<v1::ResolveSubagentSpawnRequest, _>(&resolve), Ok(resolve));
        prop_assert_eq!(round_trip::<v1::EndSubagentRequest, _>(&end), Ok(end));
        let resolved = ResolveSubagentSpawnResponse { reply: reply.clone() };
        prop_assert_eq!(round_trip::<v1::ResolveSubagentSpawnResponse, _>(&resolved), Ok(resolved));
        let ended = EndSubagentResponse { reply };
        prop_assert_eq!(round_trip::<v1::EndSubagentResponse, _>(&ended), Ok(ended));
    }

    #[test]
    fn dispose_comes_back(request in dispose(), reply in reply()) {
        prop_assert_eq!(round_trip::<v1::DisposeRequest, _>(&request), Ok(request));
        let response = DisposeResponse { reply };
        prop_assert_eq!(round_trip::<v1::DisposeResponse, _>(&response), Ok(response));
    }

    #[test]
    fn host_calls_come_back(call in host_call(), result in host_call_result()) {
        prop_assert_eq!(round_trip::<v1::HostCall, _>(&call), Ok(call));
        prop_assert_eq!(round_trip::<v1::HostCallResult, _>(&result), Ok(result));
    }

    #[test]
    fn descriptions_come_back(host in host(), engine in engine()) {
        prop_assert_eq!(round_trip::<v1::DescribeRequest, _>(&host), Ok(host));
        prop_assert_eq!(round_trip::<v1::DescribeResponse, _>(&engine), Ok(engine));
    }

    #[test]
    fn frames_come_back(
        start in assemble_start(), update in update(), result in assemble_result(), call in host_call(),
        outcome in host_call_result(), applied in of((list(), state())),
    ) {
        let reasons = [CancelReason::CallerAbort, CancelReason::Deadline, CancelReason::Superseded];
        let mut frames = vec![HostFrame::Start(Box::new(start)), HostFrame::Transcript(update)];
        frames.extend(reasons.map(HostFrame::Cancel));
        frames.push(HostFrame::HostCallResult(Box::new(outcome)));
        for frame in frames {
            prop_assert_eq!(round_trip::<v1::AssembleRequest, _>(&frame), Ok(frame));
        }
        let progress = Progress { phase: "import".into(), fraction: Some(0.5), text: Some(String::new()) };
        let have = applied.into_iter().map(|(_, state)| state).collect();
        for frame in [
            EngineFrame::Result(Box::new(result)),
            EngineFrame::HostCall(Box::new(call)),
            EngineFrame::Progress(progress, applied),
            EngineFrame::NeedTranscript(NeedTranscript { seq: 2, list: List::Log, have }),
            EngineFrame::Unknown,
        ] {
            prop_assert_eq!(round_trip::<v1::AssembleResponse, _>(&frame), Ok(frame));
        }
    }

    #[test]
    fn frames_of_bootstrap_come_back((start, result) in bootstrap()) {
        every_frame_comes_back::<v1::BootstrapRequest, _, v1::BootstrapResponse, _>(start, result)?;
    }

    #[test]
    fn frames_of_after_turn_come_back(start in after_turn()) {
        let result = AfterTurnResult::default();
        every_frame_comes_back::<v1::AfterTurnRequest, _, v1::AfterTurnResponse, _>(start, result)?;
    }

    #[test]
    fn frames_of_maintain_come_back((start, result) in maintain()) {
        every_frame_comes_back::<v1::MaintainRequest, _, v1::MaintainResponse, _>(start, result)?;
    }

    #[test]
    fn frames_of_compact_come_back(start in compact_start(), result in compact_result()) {
        every_frame_comes_back::<v1::CompactRequest, _, v1::CompactResponse, _>(start, result)?;
    }

    #[test]
    fn no_bytes_make_a_conversion_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok(wire) = v1::AssembleRequest::decode(Bytes::from(bytes.clone())) {
            drop(HostFrame::<AssembleStart>::try_from(wire));
        }
        if let Ok(wire) = v1::DescribeResponse::decode(Bytes::from(bytes)) {
            drop(EngineDescription::try_from(wire));
        }
    }
}
