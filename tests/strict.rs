//! Fields that the engine does not know, must not ignore, or cannot read: what a host gets back, and
//! that nothing has happened by then (PROTOCOL 5).

mod setup;
mod values;

use contextwire_engine::Hook;
use contextwire_proto::status::violations;
use contextwire_proto::{Reason, reason_of, schema, v1};
use prost::Message as _;
use tonic::{Code, Status};

use crate::harness::bare::{call, field, number};
use crate::harness::message;
use crate::harness::requests::{
    self, assemble, compact, everything, frame, framed, ingest, projections, with,
};
use setup::Setup;

/// A field that nobody has.
const FOREIGN: u32 = 99;

fn paths(status: &Status) -> Vec<String> {
    violations(status)
        .into_iter()
        .map(|violation| violation.field)
        .collect()
}

/// An Ingest with this call.
fn ingest_of(call: v1::CallContext) -> Vec<u8> {
    v1::IngestRequest {
        call: Some(call),
        ..ingest()
    }
    .encode_to_vec()
}

/// Every hook with a call: all but Describe.
fn hooks_of_sessions() -> impl Iterator<Item = Hook> {
    Hook::ALL.into_iter().filter(|&hook| hook != Hook::Describe)
}

fn call_naming(names: &[&str]) -> v1::CallContext {
    let must_understand = names.iter().map(|&name| name.to_owned()).collect();
    v1::CallContext {
        must_understand,
        ..ingest().call.unwrap()
    }
}

/// The three requests, each with a field that nobody has: at the top, and deep inside.
fn with_foreign_fields() -> Vec<(Hook, Vec<u8>, Vec<&'static str>)> {
    let foreign = number(FOREIGN, 1);
    let session = with(&ingest().call.unwrap().session.unwrap(), &field(7, b"x"));
    let ingest = with(
        &v1::IngestRequest {
            call: None,
            ..ingest()
        },
        &foreign,
    );
    let ingest = [
        ingest,
        field(1, &with(&call_naming(&[]), &field(4, &session))),
    ]
    .concat();
    let segment = field(
        4,
        &field(2, &with(&v1::Message::from(message(0)), &foreign)),
    );
    let update = assemble().transcript.unwrap();
    let update = v1::TranscriptUpdate {
        segments: Vec::new(),
        ..update
    };
    let assemble = v1::AssembleStart {
        transcript: None,
        ..assemble()
    };
    let assemble = with(&assemble, &field(4, &with(&update, &segment)));
    vec![
        (Hook::Ingest, ingest, vec!["#99", "call.session.#7"]),
        (
            Hook::Assemble,
            field(1, &assemble),
            vec!["transcript.segments[0].insert.#99"],
        ),
        (
            Hook::Compact,
            field(1, &with(&compact(), &foreign)),
            vec!["#99"],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_01_a_tolerant_engine_ignores_what_it_does_not_know() {
    let setup = Setup::tolerant().await;
    for (hook, request, _) in with_foreign_fields() {
        setup.call(hook, request).await.unwrap();
        assert_eq!(setup.seen().len(), 1, "{hook}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_02_a_field_that_must_be_understood_is_refused_and_exactly_it_is_named() {
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        let known_and_not = call_naming(&["call.session", "message.audio"]);
        let status = setup
            .refused(Hook::Ingest, vec![ingest_of(known_and_not)])
            .await;
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_eq!(reason_of(&status), Some(Reason::NotUnderstood));
        assert_eq!(paths(&status), ["message.audio"]);
    }
    // Every hook: nobody can forget it in a new one.
    let setup = Setup::tolerant().await;
    for hook in hooks_of_sessions() {
        let named = field(1, &call_naming(&["call.mood"]).encode_to_vec());
        let status = setup.refused(hook, vec![framed(hook, &named)]).await;
        assert_eq!(
            reason_of(&status),
            Some(Reason::NotUnderstood),
            "{hook}: {status:?}"
        );
        assert_eq!(paths(&status), ["call.mood"], "{hook}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_02_an_engine_that_judges_names_says_so() {
    let setup = Setup::tolerant().await;
    let answer = setup.call(Hook::Describe, everything(Hook::Describe)).await;
    let described = v1::DescribeResponse::decode(answer.unwrap()).unwrap();
    assert!(described.honours_must_understand);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_03_known_names_pass() {
    let setup = Setup::strict().await;
    let names = ["call.session.target", "message.omitted", "is_heartbeat"];
    setup
        .call(Hook::Ingest, ingest_of(call_naming(&names)))
        .await
        .unwrap();
    let call = call_naming(&["transcript.list=TRANSCRIPT_LIST_VIEW", "token_budget"]);
    let start = v1::AssembleStart {
        call: Some(call),
        ..assemble()
    };
    setup.call(Hook::Assemble, frame(&start)).await.unwrap();
    assert_eq!(setup.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_04_a_name_is_judged_alone_whether_or_not_the_field_is_set() {
    let setup = Setup::tolerant().await;
    let call = v1::CallContext {
        log_head: None,
        ..call_naming(&["call.log_head"])
    };
    setup.call(Hook::Ingest, ingest_of(call)).await.unwrap();
    setup.seen();
    let wrong_value = call_naming(&["compaction_target=COMPACTION_TARGET_MOON"]);
    let start = v1::CompactStart {
        call: Some(wrong_value),
        ..compact()
    };
    let status = setup.refused(Hook::Compact, vec![frame(&start)]).await;
    assert_eq!(paths(&status), ["compaction_target=COMPACTION_TARGET_MOON"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_06_a_strict_engine_names_every_unknown_field_at_once() {
    let setup = Setup::strict().await;
    for (hook, request, expected) in with_foreign_fields() {
        let status = setup.refused(hook, vec![request]).await;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(reason_of(&status), Some(Reason::UnknownField));
        assert_eq!(paths(&status), expected, "{hook}");
    }
    for hook in Hook::ALL {
        let request = framed(hook, &number(FOREIGN, 1));
        let status = setup.refused(hook, vec![request]).await;
        assert_eq!(reason_of(&status), Some(Reason::UnknownField), "{hook}");
        assert_eq!(paths(&status), ["#99"], "{hook}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_07_a_refused_call_leaves_nothing_behind() {
    let setup = Setup::strict().await;
    let list = assemble().transcript.unwrap();
    let refused = field(1, &with(&assemble(), &number(FOREIGN, 1)));
    setup.refused(Hook::Assemble, vec![refused]).await;
    // A host that goes on from that list is asked for it: no mirror holds it.
    let resumed = v1::TranscriptUpdate {
        segments: Vec::new(),
        base: list.head.clone(),
        ..list
    };
    let resumed = v1::AssembleStart {
        transcript: Some(resumed),
        ..assemble()
    };
    let status = call(&setup.channel, Hook::Assemble, [frame(&resumed)])
        .await
        .unwrap_err();
    assert_eq!(reason_of(&status), Some(Reason::TranscriptUnavailable));
    assert_eq!(setup.seen(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_07_a_later_frame_is_refused_before_the_engine_is_asked() {
    let setup = Setup::strict().await;
    let whole = assemble().transcript.unwrap();
    let first = v1::TranscriptUpdate {
        segments: Vec::new(),
        head: whole.base.clone(),
        more: true,
        ..whole.clone()
    };
    let first = v1::AssembleStart {
        transcript: Some(first),
        ..assemble()
    };
    let second = field(2, &with(&whole, &number(FOREIGN, 1)));
    let status = setup
        .refused(Hook::Assemble, vec![frame(&first), second])
        .await;
    assert_eq!(reason_of(&status), Some(Reason::UnknownField));
    assert_eq!(paths(&status), ["transcript.#99"]);
    let second = field(2, &whole.encode_to_vec());
    call(&setup.channel, Hook::Assemble, [frame(&first), second])
        .await
        .unwrap();
    assert_eq!(setup.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_08_a_strict_engine_takes_every_field_that_it_declares() {
    let setup = Setup::strict().await;
    for hook in Hook::ALL {
        let mut tried = 0;
        for (path, request) in requests::one_by_one(hook) {
            let answer = setup.call(hook, request).await;
            assert!(answer.is_ok(), "{hook} with {path}: {answer:?}");
            tried += 1;
        }
        assert!(tried > 2, "{hook}");
        setup.call(hook, everything(hook)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_09_what_is_left_for_an_older_engine_is_a_request() {
    for setup in [Setup::tolerant().await, Setup::strict().await] {
        for hook in Hook::ALL {
            for (minor, request) in projections(hook) {
                assert!(schema::method_since(hook) <= minor);
                let answer = setup.call(hook, request).await;
                assert!(answer.is_ok(), "{hook} of minor {minor}: {answer:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_10_a_number_of_another_type_is_never_read_as_a_default() {
    // CallContext.attempt as text, AssembleStart.prompt as a number.
    let attempt = field(1, &with(&call_naming(&[]), &field(2, b"1")));
    let attempt = [
        attempt,
        v1::IngestRequest {
            call: None,
            ..ingest()
        }
        .encode_to_vec(),
    ]
    .concat();
    let prompt = field(1, &with(&assemble(), &number(10, 7)));
    for (hook, request, path) in [
        (Hook::Ingest, attempt, "call.attempt"),
        (Hook::Assemble, prompt, "prompt"),
    ] {
        let status = Setup::tolerant()
            .await
            .refused(hook, vec![request.clone()])
            .await;
        assert_eq!(reason_of(&status), Some(Reason::InvalidRequest), "{path}");
        let status = Setup::strict().await.refused(hook, vec![request]).await;
        assert_eq!(reason_of(&status), Some(Reason::UnknownField), "{path}");
        assert_eq!(paths(&status), [path]);
    }
}
