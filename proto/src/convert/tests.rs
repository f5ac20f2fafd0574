mod descriptions;
mod hooks;
mod host_calls;
mod laws;
mod meaning;
mod requests;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use contextwire_engine::{
    Assemble, AssembleReply, Compact, CompactionTarget, ContextProjection, Header, Hook, HookId,
    HostRequirement, Message, ProjectionMode, PromptAuthority, ReasonCode, RuntimeMode,
    RuntimeSettings, Segment, SelectionSource, Session, SessionId, TranscriptSync, Unchanged,
};
use prost::Message as _;

use super::*;
use crate::call::CallContext;
use crate::frame::{CancelReason, EngineFrame, HostFrame};
use crate::handshake::EngineDescription;
use crate::sync::{List, Part, TranscriptUpdate, UpdateBody};
use crate::v1;

/// A start that converts.
fn good_start() -> v1::AssembleStart {
    let session = Session::new(SessionId::new("s").unwrap());
    let update = TranscriptUpdate {
        seq: 1,
        list: List::View,
        body: UpdateBody::Part(Part::default()),
    };
    let call = CallContext::new(HookId::mint(), session);
    AssembleStart {
        call,
        request: Assemble::default(),
        update,
    }
    .into()
}

fn problem(change: impl FnOnce(&mut v1::AssembleStart)) -> (String, Problem) {
    let mut wire = good_start();
    change(&mut wire);
    let error = AssembleStart::try_from(wire).unwrap_err();
    (error.field().to_owned(), error.problem())
}

fn call_problem(change: impl FnOnce(&mut v1::CallContext)) -> (String, Problem) {
    problem(|wire| change(wire.call.as_mut().unwrap()))
}

fn list_problem(change: impl FnOnce(&mut v1::TranscriptUpdate)) -> (String, Problem) {
    problem(|wire| change(wire.transcript.as_mut().unwrap()))
}

fn at(field: &str, problem: Problem) -> (String, Problem) {
    (field.to_owned(), problem)
}

#[test]
fn what_is_wrong_with_a_call_is_named_by_its_path() {
    assert_eq!(
        problem(|wire| wire.call = None),
        at("call", Problem::Missing)
    );
    assert_eq!(
        call_problem(|call| call.session.as_mut().unwrap().session_id.clear()),
        at("call.session.session_id", Problem::Empty),
    );
    assert_eq!(
        call_problem(|call| call.hook_id = "x".to_owned()),
        at("call.hook_id", Problem::NotAUuid),
    );
    assert_eq!(
        call_problem(|call| call.abandoned_hooks = vec![String::new(); 33]),
        at(
            "call.abandoned_hooks",
            Problem::TooMany {
                count: 33,
                limit: 32
            }
        ),
    );
}

#[test]
fn what_is_wrong_with_a_list_is_named_by_its_path() {
    assert_eq!(
        list_problem(|list| list.segments = vec![v1::Segment::default()]),
        at("transcript.segments[0].kind", Problem::Missing),
    );
    let chain = Bytes::from_static(b"short");
    assert_eq!(
        list_problem(|list| list.head = Some(v1::TranscriptState { count: 1, chain })),
        at("transcript.head.chain", Problem::NotADigest { bytes: 5 }),
    );
    assert_eq!(
        list_problem(|list| list.seq = 0),
        at("transcript.seq", Problem::OutOfRange)
    );
    assert_eq!(
        list_problem(|list| (list.unavailable, list.more) = (true, true)),
        at("transcript.unavailable", Problem::NotAllowed),
    );
}

#[test]
fn what_is_wrong_with_a_request_is_named_by_its_path() {
    assert_eq!(
        problem(|wire| wire.site = 9),
        at("site", Problem::UnknownNumber(9))
    );
    assert_eq!(
        problem(|wire| wire.current_turn = 0),
        at("current_turn", Problem::UnknownNumber(0))
    );
    let prompt_cache = Some(Bytes::from("[".repeat(129)));
    let context = v1::RuntimeContext {
        prompt_cache,
        ..Default::default()
    };
    assert_eq!(
        problem(|wire| wire.runtime_context = Some(context)),
        at("runtime_context.prompt_cache", Problem::TooDeep),
    );
}

#[test]
fn a_request_that_does_not_convert_is_refused_with_its_field() {
    let error = ConvertError::new("call.session.session_id", Problem::Empty);
    let status = error.into_status();
    assert_eq!(crate::reason_of(&status), Some(Reason::InvalidRequest));
    assert_eq!(status.message(), "call.session.session_id is empty");
    let violations = crate::status::violations(&status);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].field, "call.session.session_id");
}

#[test]
fn ranges_that_no_list_has_are_refused() {
    let keep = |start, count| v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start, count })),
    };
    let problem = |wire| Segment::try_from(wire).map_err(|error: ConvertError| error.problem());
    assert_eq!(problem(keep(3, 0)), Err(Problem::Empty));
    assert_eq!(problem(keep(u64::MAX, 1)), Err(Problem::OutOfRange));
    assert_eq!(problem(keep(1, u64::MAX)), Err(Problem::OutOfRange));
    assert_eq!(problem(keep(1, 2)), Ok(Segment::Keep(1..3)));
}

#[test]
fn e_fld_11_unknown_enum_numbers_have_their_meaning() {
    let settings = v1::RuntimeSettings {
        runtime: Some(v1::SettingsRuntime {
            mode: 77,
            ..Default::default()
        }),
        context_engine_selection: Some(v1::SettingsEngineSelection {
            source: 77,
            ..Default::default()
        }),
        diagnostics: Some(v1::SettingsDiagnostics {
            fallback_reason: Some(77),
            degraded_reason: Some(0),
        }),
        ..Default::default()
    };
    let settings = RuntimeSettings::from(settings);
    assert_eq!(settings.mode, RuntimeMode::Degraded);
    assert_eq!(settings.selection_source, SelectionSource::Unknown);
    assert_eq!(settings.fallback_reason, Some(ReasonCode::Unknown));
    assert_eq!(settings.degraded_reason, None);

    let unchanged = v1::UnchangedProjection {
        prompt_authority: Some(77),
        ..Default::default()
    };
    let authority = Unchanged::from(unchanged).prompt_authority;
    assert_eq!(authority, Some(PromptAuthority::PreassemblyMayOverflow));
    let projection = v1::ContextProjection {
        mode: 77,
        ..Default::default()
    };
    assert_eq!(
        ContextProjection::from(projection).mode,
        ProjectionMode::PerTurn
    );
    assert_eq!(
        CancelReason::from(v1::Cancel { reason: 77 }),
        CancelReason::CallerAbort
    );
    let mut compact: v1::CompactStart = CompactStart {
        call: CallContext::new(HookId::mint(), Session::new(SessionId::new("s").unwrap())),
        request: Compact {
            target: CompactionTarget::Threshold,
            ..Compact::default()
        },
    }
    .into();
    compact.compaction_target = 77;
    let compact = CompactStart::try_from(compact).unwrap();
    assert_eq!(compact.request.target, CompactionTarget::Budget);
}

#[test]
fn e_fld_13_an_absent_or_zero_budget_is_unknown() {
    for wire in [None, Some(0)] {
        let mut start = good_start();
        start.token_budget = wire;
        assert_eq!(
            AssembleStart::try_from(start).unwrap().request.token_budget,
            None
        );
    }
}

#[test]
fn absent_and_empty_sets_differ() {
    let tools = |names: Option<Vec<String>>| {
        let mut start = good_start();
        start.available_tools = names.map(|names| v1::ToolSet { names });
        AssembleStart::try_from(start)
            .unwrap()
            .request
            .available_tools
    };
    assert_eq!(tools(None), None);
    assert_eq!(tools(Some(Vec::new())), Some(BTreeSet::new()));
}

#[test]
fn a_frame_that_brings_nothing_is_refused_from_a_host_and_ignored_from_an_engine() {
    let host = HostFrame::<AssembleStart>::try_from(v1::AssembleRequest { frame: None });
    assert_eq!(host, Err(ConvertError::new("frame", Problem::Missing)));
    let engine = EngineFrame::<AssembleResult>::try_from(v1::AssembleResponse { frame: None });
    assert_eq!(engine, Ok(EngineFrame::Unknown));
}

#[test]
fn a_payload_is_moved_and_not_copied() {
    let frame = Bytes::from(
        v1::AssembleRequest::from(HostFrame::Start(Box::new({
            let payload = Bytes::from(vec![b'x'; 4096]);
            let insert = Segment::Insert(Message::with_header(payload, Header::default()));
            let mut start = AssembleStart::try_from(good_start()).unwrap();
            start.update.body = UpdateBody::Part(Part {
                segments: vec![insert],
                ..Part::default()
            });
            start
        })))
        .encode_to_vec(),
    );
    let within = frame.as_ptr_range();
    let wire = v1::AssembleRequest::decode(frame.clone()).unwrap();
    let Ok(HostFrame::Start(start)) = HostFrame::<AssembleStart>::try_from(wire) else {
        unreachable!()
    };
    let UpdateBody::Part(part) = start.update.body else {
        unreachable!()
    };
    let Segment::Insert(message) = &part.segments[0] else {
        unreachable!()
    };
    assert!(within.contains(&message.payload().as_ptr()));
}

#[test]
fn reasons_of_ranges_that_touch_are_joined() {
    let keep = |start, count| v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start, count })),
    };
    let wire = v1::AssembledMessages {
        segments: vec![keep(0, 2), keep(2, 3), keep(9, 1)],
        reasons: vec!["pinned".into(), "recent".into(), "tail".into()],
        ..Default::default()
    };
    let reply = AssembleReply::try_from(wire).unwrap();
    assert_eq!(
        reply.messages.segments(),
        [Segment::Keep(0..5), Segment::Keep(9..10)]
    );
    assert_eq!(reply.reasons, ["pinned; recent", "tail"]);
}

#[test]
fn methods_that_this_crate_does_not_know_are_left_out() {
    let wire = v1::DescribeResponse {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 9 }),
        engine: Some(v1::EngineInfo {
            methods: vec!["Assemble".into(), "Dream".into()],
            host_requirements: vec![v1::HostRequirement::default()],
            ..Default::default()
        }),
        ..Default::default()
    };
    let engine = EngineDescription::try_from(wire).unwrap();
    assert_eq!(engine.info.methods, [Hook::Assemble]);
    assert_eq!(engine.info.transcript_sync, TranscriptSync::Full);
    let expected = BTreeMap::from([(String::new(), HostRequirement::default())]);
    assert_eq!(engine.info.host_requirements, expected);
}
