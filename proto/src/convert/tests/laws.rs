//! What goes over the wire comes back the same.

use bytes::Bytes;
use contextwire_engine::{Ingest, Ingested, Progress, RuntimeSettings};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use prost::Message as _;

use super::descriptions::{engine, host};
use super::requests::{assemble_result, assemble_start, compact_result, compact_start};
use super::values::{call, context, list, message, reply, settings, state, update};
use crate::convert::{AssembleStart, ConvertError, IngestRequest, IngestResponse};
use crate::frame::{CancelReason, EngineFrame, HostFrame, NeedTranscript};
use crate::handshake::EngineDescription;
use crate::sync::List;
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
    fn descriptions_come_back(host in host(), engine in engine()) {
        prop_assert_eq!(round_trip::<v1::DescribeRequest, _>(&host), Ok(host));
        prop_assert_eq!(round_trip::<v1::DescribeResponse, _>(&engine), Ok(engine));
    }

    #[test]
    fn frames_come_back(start in assemble_start(), update in update(), result in assemble_result(), applied in of((list(), state()))) {
        let reasons = [CancelReason::CallerAbort, CancelReason::Deadline, CancelReason::Superseded];
        let mut frames = vec![HostFrame::Start(Box::new(start)), HostFrame::Transcript(update)];
        frames.extend(reasons.map(HostFrame::Cancel));
        frames.push(HostFrame::HostCallResult(Box::default()));
        for frame in frames {
            prop_assert_eq!(round_trip::<v1::AssembleRequest, _>(&frame), Ok(frame));
        }
        let progress = Progress { phase: "import".into(), fraction: Some(0.5), text: Some(String::new()) };
        let have = applied.into_iter().map(|(_, state)| state).collect();
        for frame in [
            EngineFrame::Result(Box::new(result)),
            EngineFrame::HostCall(v1::HostCall::default()),
            EngineFrame::Progress(progress, applied),
            EngineFrame::NeedTranscript(NeedTranscript { seq: 2, list: List::Log, have }),
            EngineFrame::Unknown,
        ] {
            prop_assert_eq!(round_trip::<v1::AssembleResponse, _>(&frame), Ok(frame));
        }
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
