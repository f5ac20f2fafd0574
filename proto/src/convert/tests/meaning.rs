//! What the optional hooks refuse, and what unknown numbers mean in them (R4.3).

use std::time::Duration;

use bytes::Bytes;
use contextwire_engine::{ContextMode, HostCall, HostCallError};

use super::{at, good_start};
use crate::convert::{
    BootstrapStart, CommitTurnRequest, CommitTurnResponse, ConvertError, DisposeRequest,
    EndSubagentRequest, IngestBatchRequest, MaintainStart, PrepareSubagentSpawnRequest, Problem,
    ResolveSubagentSpawnRequest,
};
use crate::frame::{HostCallRequest, HostCallResult};
use crate::v1;

fn call() -> Option<v1::CallContext> {
    good_start().call
}

fn problem<W, T>(wire: W) -> (String, Problem)
where
    T: TryFrom<W, Error = ConvertError> + std::fmt::Debug,
{
    let error = T::try_from(wire).unwrap_err();
    (error.field().to_owned(), error.problem())
}

fn prepare() -> v1::PrepareSubagentSpawnRequest {
    v1::PrepareSubagentSpawnRequest {
        call: call(),
        spawn_id: "spawn".to_owned(),
        child_session_key: "child".to_owned(),
        ..Default::default()
    }
}

#[test]
fn e_fld_11_an_unknown_context_mode_is_isolated_and_zero_is_absent() {
    let mode = |context_mode| {
        let wire = v1::PrepareSubagentSpawnRequest {
            context_mode,
            ..prepare()
        };
        let prepare = PrepareSubagentSpawnRequest::try_from(wire).unwrap();
        prepare.request.context_mode
    };
    assert_eq!(mode(None), None);
    assert_eq!(mode(Some(0)), None);
    assert_eq!(mode(Some(77)), Some(ContextMode::Isolated));
    assert_eq!(mode(Some(2)), Some(ContextMode::Fork));
}

#[test]
fn e_fld_11_numbers_without_a_safe_guess_are_refused() {
    for number in [0, 77] {
        let wire = v1::MaintainStart {
            call: call(),
            reason: number,
            ..Default::default()
        };
        let unknown = Problem::UnknownNumber(number);
        assert_eq!(problem::<_, MaintainStart>(wire), at("reason", unknown));
        let wire = v1::ResolveSubagentSpawnRequest {
            call: call(),
            spawn_id: "spawn".to_owned(),
            outcome: number,
        };
        assert_eq!(
            problem::<_, ResolveSubagentSpawnRequest>(wire),
            at("outcome", unknown)
        );
        // Not an acknowledgement, so the host keeps its row.
        let wire = v1::CommitTurnResponse {
            reply: None,
            status: number,
        };
        assert_eq!(
            problem::<_, CommitTurnResponse>(wire),
            at("status", unknown)
        );
    }
}

#[test]
fn a_host_call_of_an_unknown_kind_is_none_and_an_unknown_outcome_an_error() {
    let call = HostCallRequest::try_from(v1::HostCall {
        call_id: "c".to_owned(),
        timeout_ms: 5,
        call: None,
    })
    .unwrap();
    assert_eq!((call.call, call.timeout), (None, Duration::from_millis(5)));
    let result = HostCallResult::try_from(v1::HostCallResult::default()).unwrap();
    assert!(matches!(
        result.outcome,
        Err(HostCallError {
            retryable: false,
            ..
        })
    ));
}

#[test]
fn absent_and_empty_suffixes_differ() {
    let suffix = |allowed_suffix| {
        let rewrite = v1::RewriteTranscriptEntries {
            allowed_suffix,
            ..Default::default()
        };
        let wire = v1::HostCall {
            call: Some(v1::host_call::Call::RewriteTranscriptEntries(rewrite)),
            ..Default::default()
        };
        match HostCallRequest::try_from(wire).unwrap().call {
            Some(HostCall::Rewrite(rewrite)) => rewrite.allowed_suffix,
            other => panic!("a rewrite, not {other:?}"),
        }
    };
    assert_eq!(suffix(None), None);
    assert_eq!(suffix(Some(v1::EntryIds::default())), Some(Vec::new()));
}

#[test]
fn e_hks_08_what_is_wrong_with_a_message_of_a_batch_is_named_by_its_index() {
    let omitted = v1::OmittedPayload {
        bytes: 9,
        sha256: Bytes::from_static(b"short"),
    };
    let bad = v1::Message {
        omitted: Some(omitted),
        ..Default::default()
    };
    let wire = v1::IngestBatchRequest {
        call: call(),
        messages: vec![v1::Message::default(), bad],
        is_heartbeat: false,
    };
    assert_eq!(
        problem::<_, IngestBatchRequest>(wire),
        at(
            "messages[1].omitted.sha256",
            Problem::NotADigest { bytes: 5 }
        )
    );
}

#[test]
fn names_of_turns_spawns_children_and_hosts_are_never_empty_or_endless() {
    let long = "x".repeat(1025);
    for (text, wrong) in [
        (String::new(), Problem::Empty),
        (
            long,
            Problem::TooLong {
                bytes: 1025,
                limit: 1024,
            },
        ),
    ] {
        let commit = v1::CommitTurnRequest {
            call: call(),
            advancement_key: text.clone(),
            ..Default::default()
        };
        assert_eq!(
            problem::<_, CommitTurnRequest>(commit),
            at("advancement_key", wrong)
        );
        let spawn = v1::PrepareSubagentSpawnRequest {
            spawn_id: text.clone(),
            ..prepare()
        };
        assert_eq!(
            problem::<_, PrepareSubagentSpawnRequest>(spawn),
            at("spawn_id", wrong)
        );
        let end = v1::EndSubagentRequest {
            call: call(),
            child_session_key: text.clone(),
            ..Default::default()
        };
        assert_eq!(
            problem::<_, EndSubagentRequest>(end),
            at("child_session_key", wrong)
        );
        let dispose = v1::DisposeRequest {
            call: call(),
            host_instance: text,
        };
        assert_eq!(
            problem::<_, DisposeRequest>(dispose),
            at("host_instance", wrong)
        );
    }
}

#[test]
fn only_dispose_comes_without_a_session() {
    let bare = call().map(|call| v1::CallContext {
        session: None,
        ..call
    });
    let dispose = v1::DisposeRequest {
        call: bare.clone(),
        host_instance: "h1".to_owned(),
    };
    let dispose = DisposeRequest::try_from(dispose).unwrap();
    assert_eq!(dispose.call.session.id.as_str(), "h1");
    assert_eq!(
        v1::DisposeRequest::from(dispose).call.unwrap().session,
        None
    );
    let bootstrap = v1::BootstrapStart {
        call: bare,
        transcript: good_start().transcript,
        ..Default::default()
    };
    assert_eq!(
        problem::<_, BootstrapStart>(bootstrap),
        at("call.session", Problem::Missing)
    );
}

#[test]
fn a_time_to_live_of_zero_is_none() {
    let wire = v1::PrepareSubagentSpawnRequest {
        ttl_ms: Some(0),
        ..prepare()
    };
    let prepare = PrepareSubagentSpawnRequest::try_from(wire).unwrap();
    assert_eq!(prepare.request.ttl, None);
}
