use bytes::Bytes;
use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::strict::unknown_fields;
use crate::v1;

fn call() -> v1::CallContext {
    v1::CallContext {
        hook_id: "0190".to_owned(),
        attempt: 2,
        session: Some(v1::Session {
            session_id: "s".to_owned(),
            session_key: Some("key".to_owned()),
            target: Some(v1::SessionTarget::default()),
            ..v1::Session::default()
        }),
        scope: Some(v1::Scope {
            agent_dir: Some("/a".to_owned()),
            ..v1::Scope::default()
        }),
        operation: Some("agent-run".to_owned()),
        host_epoch: 7,
        session_seq: Some(0),
        abandoned_hooks: vec!["0191".to_owned()],
        log_head: Some(v1::TranscriptState::default()),
        ..v1::CallContext::default()
    }
}

fn start() -> v1::AssembleStart {
    v1::AssembleStart {
        call: Some(call()),
        runtime_settings: Some(v1::RuntimeSettings::default()),
        runtime_context: Some(v1::RuntimeContext {
            cwd: Some("/w".to_owned()),
            extra: [("key".to_owned(), Bytes::from_static(b"1"))].into(),
            ..v1::RuntimeContext::default()
        }),
        transcript: Some(v1::TranscriptUpdate {
            seq: 1,
            ..v1::TranscriptUpdate::default()
        }),
        token_budget: Some(9),
        prompt: Some(String::new()),
        known_projection: Some(v1::KnownProjection::default()),
        ..v1::AssembleStart::default()
    }
}

fn frame(start: v1::AssembleStart) -> v1::AssembleRequest {
    v1::AssembleRequest {
        frame: Some(v1::assemble_request::Frame::Start(start)),
    }
}

fn without(hook: Hook, paths: &[&str], request: &impl prost::Message) -> Vec<u8> {
    let omission = Omission::of(hook, paths.iter().copied());
    omission.apply(&request.encode_to_vec()).unwrap()
}

#[test]
fn named_fields_are_gone_and_all_others_stay() {
    let paths = [
        "call.session.session_key",
        "call.log_head",
        "runtime_settings",
        "runtime_context.cwd",
        "prompt",
    ];
    let left = without(Hook::Assemble, &paths, &frame(start()));
    let mut expected = start();
    let call = expected.call.as_mut().unwrap();
    call.session.as_mut().unwrap().session_key = None;
    call.log_head = None;
    expected.runtime_settings = None;
    expected.runtime_context.as_mut().unwrap().cwd = None;
    expected.prompt = None;
    assert_eq!(v1::AssembleRequest::decode(&*left), Ok(frame(expected)));
}

#[test]
fn a_unary_request_has_its_paths_without_a_start() {
    let request = v1::IngestRequest {
        call: Some(call()),
        is_heartbeat: true,
        ..v1::IngestRequest::default()
    };
    let left = without(Hook::Ingest, &["call.session.session_key"], &request);
    let left = v1::IngestRequest::decode(&*left).unwrap();
    let mut expected = request;
    let session = expected.call.as_mut().unwrap().session.as_mut().unwrap();
    session.session_key = None;
    assert_eq!(left, expected);
}

#[test]
fn paths_of_another_hook_or_of_nobody_leave_everything() {
    let paths = ["prompt", "call.session.#7", "start", "cancel", ""];
    assert!(Omission::of(Hook::Ingest, paths).is_empty());
    let outer = Omission::of(Hook::Assemble, ["call.scope", "call.scope.agent_dir"]);
    assert_eq!(outer, Omission::of(Hook::Assemble, ["call.scope"]));
}

#[test]
fn frames_after_the_start_stay_as_they_are() {
    let part = v1::AssembleRequest {
        frame: Some(v1::assemble_request::Frame::Transcript(
            v1::TranscriptUpdate {
                seq: 3,
                segments: vec![v1::Segment::default(); 3],
                ..v1::TranscriptUpdate::default()
            },
        )),
    };
    let left = without(Hook::Assemble, &["call", "transcript"], &part);
    assert_eq!(left, part.encode_to_vec());
}

#[test]
fn r5_computed_requests_are_known_to_a_strict_engine_of_every_minor() {
    let request = frame(start()).encode_to_vec();
    for minor in 0..4 {
        let newer = schema::newer_than(Hook::Assemble, minor);
        let omission = Omission::of(Hook::Assemble, newer.iter().map(|it| it.path.as_str()));
        let left = omission.apply(&request).unwrap();
        let findings = unknown_fields(Hook::Assemble, minor, &left).unwrap();
        let found: Vec<_> = findings.kept().collect();
        assert!(found.is_empty(), "{minor}: {found:?}");
        if minor < 3 {
            let all = unknown_fields(Hook::Assemble, minor, &request).unwrap();
            assert!(!all.is_empty(), "{minor}: there was something to leave out");
        }
    }
}

#[test]
fn r5_4_set_fields_are_those_on_the_wire_whatever_their_value() {
    let field = |path: &str| RequestField {
        path: path.to_owned(),
        since: 9,
        critical: true,
    };
    let fields = [
        "call.session_seq",
        "call.must_understand",
        "call.abandoned_hooks",
        "known_projection",
        "prompt",
        "model",
        "transcript.seq",
        "transcript.more",
        "nobody.has.this",
    ]
    .map(field);
    let set = set_fields(Hook::Assemble, &fields, &frame(start()).encode_to_vec()).unwrap();
    let set: Vec<_> = set.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(
        set,
        [
            "call.session_seq",
            "call.abandoned_hooks",
            "known_projection",
            "prompt",
            "transcript.seq"
        ]
    );
}

#[test]
fn r5_4_names_join_those_that_are_there() {
    let mut request = frame(start());
    let Some(v1::assemble_request::Frame::Start(start)) = &mut request.frame else {
        panic!("a start")
    };
    let call = start.call.as_mut().unwrap();
    call.must_understand = vec!["first".to_owned()];
    let named = naming(
        Hook::Assemble,
        &["second", "third"],
        request.encode_to_vec(),
    );
    let named = v1::AssembleRequest::decode(&*named).unwrap();
    let Some(v1::assemble_request::Frame::Start(named)) = named.frame else {
        panic!("a start")
    };
    let call = named.call.as_ref().unwrap();
    assert_eq!(call.must_understand, ["first", "second", "third"]);
    assert_eq!(call.session, self::call().session);
    assert_eq!(named.prompt, Some(String::new()));
}

#[test]
fn r5_4_no_critical_field_is_newer_than_its_method_yet() {
    // The day this fails, hosts begin to name the field, and the engines' SDKs have to know it.
    for hook in Hook::ALL {
        assert_eq!(critical_fields(hook), [], "{hook}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_it_panic_and_what_is_a_message_stays_one(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for hook in Hook::ALL {
            let omission = Omission::of(hook, ["call.session", "prompt", "runtime_context.cwd"]);
            let left = omission.apply(&bytes);
            if v1::IngestRequest::decode(&*bytes).is_ok() && hook == Hook::Ingest {
                prop_assert!(v1::IngestRequest::decode(&*left.unwrap()).is_ok());
            }
        }
    }
}
