//! Values that an engine cannot know or read: numbers of enums, absent numbers, texts, versions, and
//! bodies that are nobody's business.

use bytes::Bytes;
use contextwire_engine::testing::SeenRequest;
use contextwire_engine::{
    Assemble, Assembled, CompactionTarget, Hook, Message, RuntimeMode, SelectionSource, Transcript,
};
use contextwire_proto::limits::DETAILS_BYTES;
use contextwire_proto::status::metadata;
use contextwire_proto::{Reason, reason_of, v1};
use prost::Message as _;

use super::setup::Setup;
use super::{FOREIGN, call_naming, paths};
use crate::harness::bare::{call, field, number};
use crate::harness::requests::{assemble, compact, frame, ingest, settings, with};
use crate::harness::{Place, TestEngine, channel, start, transcript};

/// What a host meant by an Assemble that reached the engine.
fn assembled(setup: &Setup) -> Assemble {
    match setup.seen().pop() {
        Some(SeenRequest::Assemble(request)) => request,
        other => panic!("an Assemble, not {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_11_an_unknown_number_reads_as_its_enum_says_or_is_refused() {
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        let mut unknown = settings();
        unknown.runtime.as_mut().unwrap().mode = 99;
        unknown.context_engine_selection.as_mut().unwrap().source = 99;
        let start = v1::AssembleStart {
            runtime_settings: Some(unknown),
            ..assemble()
        };
        setup.call(Hook::Assemble, frame(&start)).await.unwrap();
        let seen = assembled(&setup).runtime_settings.unwrap();
        assert_eq!(seen.mode, RuntimeMode::Degraded);
        assert_eq!(seen.selection_source, SelectionSource::Unknown);

        let start = v1::CompactStart {
            compaction_target: 99,
            ..compact()
        };
        setup.call(Hook::Compact, frame(&start)).await.unwrap();
        let seen = setup.seen();
        let [SeenRequest::Compact(seen)] = seen.as_slice() else {
            panic!("a Compact, not {seen:?}")
        };
        assert_eq!(seen.target, CompactionTarget::Budget);

        // No safe guess.
        let list = v1::TranscriptUpdate {
            list: 99,
            ..assemble().transcript.unwrap()
        };
        for (start, path) in [
            (
                v1::AssembleStart {
                    current_turn: 99,
                    ..assemble()
                },
                "current_turn",
            ),
            (
                v1::AssembleStart {
                    site: 99,
                    ..assemble()
                },
                "site",
            ),
            (
                v1::AssembleStart {
                    transcript: Some(list),
                    ..assemble()
                },
                "transcript.list",
            ),
        ] {
            let status = setup.refused(Hook::Assemble, vec![frame(&start)]).await;
            assert_eq!(reason_of(&status), Some(Reason::InvalidRequest), "{path}");
            assert_eq!(paths(&status), [path]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_13_an_absent_number_is_unknown_and_empties_no_context() {
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        let bare = v1::RuntimeSettings {
            limits: None,
            diagnostics: None,
            model: None,
            ..settings()
        };
        let start = v1::AssembleStart {
            runtime_settings: Some(bare),
            token_budget: None,
            ..assemble()
        };
        setup.call(Hook::Assemble, frame(&start)).await.unwrap();
        let seen = assembled(&setup);
        assert_eq!(seen.transcript, transcript(1));
        assert_eq!(seen.token_budget, None);
        let seen = seen.runtime_settings.unwrap();
        assert_eq!(
            (seen.prompt_token_budget, seen.max_output_tokens),
            (None, None)
        );
        assert_eq!((seen.fallback_reason, seen.resolved_model), (None, None));

        let zero = v1::AssembleStart {
            token_budget: Some(0),
            ..assemble()
        };
        setup.call(Hook::Assemble, frame(&zero)).await.unwrap();
        assert_eq!(assembled(&setup).token_budget, None);
    }
}

/// The messages that a context brings along.
fn inserted(answer: Bytes) -> Vec<v1::Message> {
    use v1::assemble_response::Frame;
    use v1::assemble_result::Outcome;

    let answer = v1::AssembleResponse::decode(answer).unwrap();
    let Some(Frame::Result(result)) = answer.frame else {
        panic!("a result")
    };
    let Some(Outcome::Messages(messages)) = result.outcome else {
        panic!("messages")
    };
    let insert = |segment: v1::Segment| match segment.kind {
        Some(v1::segment::Kind::Insert(message)) => message,
        other => panic!("a message, not {other:?}"),
    };
    messages.segments.into_iter().map(insert).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_17_unknown_keys_inside_a_body_survive_byte_for_byte() {
    let bodies: Vec<Message> = [
        r#"{"role":"user","content":"x","x_private":{"deep":[1e400,9007199254740993]}}"#,
        r#"{"role":"user","role":"tool","content":null,"\ud800":"\udfff"}"#,
        " {\t\"role\" : \"user\" ,\n\"content\":[ ] } ",
        "no JSON at all",
    ]
    .map(Message::from_payload)
    .into();
    let list: Transcript = bodies.iter().cloned().collect();
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        for body in &bodies {
            let request = v1::IngestRequest {
                message: Some(body.clone().into()),
                ..ingest()
            };
            let answer = setup.call(Hook::Ingest, request.encode_to_vec()).await;
            answer.unwrap();
            let seen = setup.seen();
            let [SeenRequest::Ingest(seen)] = seen.as_slice() else {
                panic!("an Ingest, not {seen:?}")
            };
            assert_eq!(seen.message.payload(), body.payload());
        }
        let answer = setup.call(Hook::Assemble, frame(&start(&list))).await;
        answer.unwrap();
        assert_eq!(assembled(&setup).transcript, list);
    }
    let place = Place::new();
    let _server = place
        .serve(TestEngine::of(|_, list| async move { Ok(inserts(&list)) }))
        .await;
    let request = frame(&start(&list));
    let answer = call(&channel(&place.target()), Hook::Assemble, [request]).await;
    let came_back = inserted(answer.unwrap());
    let payloads = came_back.iter().map(|message| &message.payload);
    assert!(payloads.eq(bodies.iter().map(Message::payload)));
}

/// A context that brings the messages along instead of pointing at them.
fn inserts(list: &Transcript) -> Assembled {
    let mut context = Assembled::new();
    for message in list.iter() {
        context.push_insert(message.clone());
    }
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_18_a_text_that_is_no_utf_8_is_refused_and_the_connection_stays() {
    let session = field(4, &field(1, b"canary\xff"));
    let call = field(
        1,
        &with(
            &v1::CallContext {
                session: None,
                ..call_naming(&[])
            },
            &session,
        ),
    );
    let ingest = [
        call,
        v1::IngestRequest {
            call: None,
            ..ingest()
        }
        .encode_to_vec(),
    ]
    .concat();
    let assemble = field(1, &with(&assemble(), &field(10, b"canary\xff")));
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        for (hook, request, name) in [
            (Hook::Ingest, ingest.clone(), "session_id"),
            (Hook::Assemble, assemble.clone(), "prompt"),
        ] {
            let status = setup.refused(hook, vec![request]).await;
            assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
            assert!(status.message().contains(name), "{}", status.message());
            assert!(!status.message().contains("canary"), "{}", status.message());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_19_settings_of_another_version_are_refused_with_those_that_are_read() {
    let setup = Setup::tolerant().await;
    let newer = v1::RuntimeSettings {
        schema_version: 2,
        ..settings()
    };
    let start = v1::AssembleStart {
        runtime_settings: Some(newer),
        ..assemble()
    };
    let status = setup.refused(Hook::Assemble, vec![frame(&start)]).await;
    assert_eq!(reason_of(&status), Some(Reason::VersionUnsupported));
    assert_eq!(metadata(&status)["supported"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_04_a_thousand_unknown_fields_come_back_cut_and_counted() {
    let setup = Setup::strict().await;
    let segment = field(4, &field(2, &number(FOREIGN, 1)));
    let start = [field(4, &segment.repeat(1000)), number(FOREIGN, 1)].concat();
    let status = setup.refused(Hook::Assemble, vec![field(1, &start)]).await;
    assert_eq!(reason_of(&status), Some(Reason::UnknownField));
    assert!(status.details().len() <= DETAILS_BYTES);
    let omitted: usize = metadata(&status)["violations_omitted"].parse().unwrap();
    assert_eq!(paths(&status).len() + omitted, 1001);
    assert!(paths(&status).contains(&"#99".to_owned()));
}
