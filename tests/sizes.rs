//! Sizes and depths: what has to be taken, and what is refused by name (PROTOCOL 8).

use bytes::Bytes;
use contextwire_engine::testing::SeenRequest;
use contextwire_engine::{Assembled, Hook, HookId, Message};
use contextwire_proto::status::violations;
use contextwire_proto::{Reason, limits, v1};
use contextwire_server::{ServerOptions, UnknownFields};
use http::uri::PathAndQuery;
use prost::Message as _;
use prost::encoding::{WireType, encode_key};
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use crate::harness::bare::{call, call_with, field};
use crate::harness::requests::{self, body, framed};
use crate::harness::{
    Odd, PATIENT, Place, Proxy, Running, TestEngine, channel, refusal, session, soon, start,
    transcript, view,
};

/// The largest message that every engine has to take, in bytes.
const FLOOR: usize = 4 << 20;

struct Bench {
    engine: Odd,
    channel: Channel,
    proxy: Proxy,
    _running: Running,
    _place: Place,
}

async fn bench(unknown_fields: UnknownFields) -> Bench {
    let (engine, place) = (Odd::new(), Place::new());
    let options = ServerOptions {
        unknown_fields,
        ..ServerOptions::default()
    };
    let running = place.serve_with(engine.clone(), options).await;
    let proxy = Proxy::to(&place).await;
    Bench {
        engine,
        channel: channel(&proxy.place().target()),
        proxy,
        _running: running,
        _place: place,
    }
}

impl Bench {
    async fn refused(&self, hook: Hook, request: Vec<u8>) -> Status {
        let before = self.engine.seen.hooks().len();
        let status = call(&self.channel, hook, [request]).await.unwrap_err();
        assert_eq!(
            self.engine.seen.hooks().len(),
            before,
            "an effect: {status}"
        );
        status
    }

    async fn taken(&self, hook: Hook, request: Vec<u8>) -> SeenRequest {
        call(&self.channel, hook, [request]).await.unwrap();
        self.engine.seen.seen().pop().unwrap().request
    }
}

/// A message whose request, of everything that `around` puts around it, is exactly the floor.
fn exactly(around: impl Fn(v1::Message) -> Vec<u8>) -> Vec<u8> {
    let of = |bytes: usize| {
        let payload = format!(r#"{{"content":"{}"}}"#, "x".repeat(bytes));
        around(Message::from_payload(payload).into())
    };
    let beside = of(FLOOR - 1000).len() - (FLOOR - 1000);
    let request = of(FLOOR - beside);
    assert_eq!(request.len(), FLOOR);
    request
}

fn update(hook: Hook, message: &v1::Message) -> v1::TranscriptUpdate {
    let of_one = [Message::from_payload(message.payload.clone())];
    v1::TranscriptUpdate {
        list: requests::list_of(hook).into(),
        ..start(&of_one.into_iter().collect()).transcript.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_01_a_message_of_exactly_4_mib_is_taken_by_each_hook_that_carries_bodies() {
    let bench = bench(UnknownFields::Ignore).await;
    let beside = |hook, number, message: v1::Message| {
        framed(
            hook,
            &[body(hook, false), field(number, &message.encode_to_vec())].concat(),
        )
    };
    let view = |hook, message| {
        // The list alone, in place of the one that the smallest request has.
        let list = update(hook, &message).encode_to_vec();
        let mut start = requests::without(hook, "transcript");
        start.extend(field(4, &list));
        framed(hook, &start)
    };
    let ingest = |message| {
        let message = Some(message);
        v1::IngestRequest {
            message,
            ..requests::ingest()
        }
        .encode_to_vec()
    };
    let mut requests = vec![
        (Hook::Ingest, exactly(ingest)),
        (
            Hook::IngestBatch,
            exactly(|it| beside(Hook::IngestBatch, 4, it)),
        ),
        (
            Hook::CommitTurn,
            exactly(|it| beside(Hook::CommitTurn, 7, it)),
        ),
    ];
    for hook in [Hook::Assemble, Hook::Bootstrap, Hook::AfterTurn] {
        requests.push((hook, exactly(|it| view(hook, it))));
    }
    for (hook, request) in requests {
        let bytes = bench.taken(hook, request).await;
        assert!(payload_bytes(&bytes) > FLOOR - 1000, "{hook}");
    }
    assert_eq!(bench.proxy.connections(), 1);
}

fn payload_bytes(request: &SeenRequest) -> usize {
    let list =
        |list: &contextwire_engine::Transcript| usize::try_from(list.payload_bytes()).unwrap();
    let sum = |messages: &[Message]| messages.iter().map(|it| it.payload().len()).sum();
    match request {
        SeenRequest::Ingest(it) => it.message.payload().len(),
        SeenRequest::IngestBatch(it) => sum(&it.messages),
        SeenRequest::CommitTurn(it) => sum(&it.messages),
        SeenRequest::Assemble(it) => list(&it.transcript),
        SeenRequest::Bootstrap(it) => list(&it.transcript),
        SeenRequest::AfterTurn(it) => list(&it.transcript),
        SeenRequest::Compact(_)
        | SeenRequest::Maintain(_)
        | SeenRequest::PrepareSubagentSpawn(_)
        | SeenRequest::ResolveSubagentSpawn(_)
        | SeenRequest::EndSubagent(_)
        | SeenRequest::Dispose(_) => panic!("{:?} carries no bodies", request.hook()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_01_a_result_of_4_mib_arrives() {
    let summary = Message::from_payload(format!(r#"{{"content":"{}"}}"#, "x".repeat(FLOOR)));
    let place = Place::new();
    let engine = TestEngine::of(move |_, _| {
        let mut messages = Assembled::new();
        messages.push_insert(summary.clone());
        async { Ok(messages) }
    });
    let _running = place.serve(engine).await;
    let call = place.client();
    let served = call
        .assemble_within(&session("s"), view(&transcript(3)), PATIENT)
        .await
        .unwrap();
    assert!(served.reason.is_none(), "{:?}", served.reason);
    let got: Vec<_> = served.result.messages().collect();
    assert!(got.len() == 1 && got[0].payload().len() > FLOOR);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_09_what_would_inflate_over_the_limit_is_refused_before_it_is_inflated() {
    let bench = bench(UnknownFields::Ignore).await;
    let large = Bytes::from(vec![b'x'; 2 * limits::MESSAGE_BYTES]);
    for hook in [Hook::Ingest, Hook::Assemble] {
        let path = format!("/contextengine.v1.ContextEngineService/{hook}");
        let path = PathAndQuery::from_maybe_shared(path).unwrap();
        let mut grpc = tonic::client::Grpc::new(bench.channel.clone())
            .send_compressed(CompressionEncoding::Gzip);
        soon(grpc.ready()).await.unwrap();
        let request = v1::OmittedPayload {
            bytes: 1,
            sha256: large.clone(),
        };
        let codec = ProstCodec::<v1::OmittedPayload, v1::OmittedPayload>::default();
        let status = soon(grpc.unary(tonic::Request::new(request), path, codec)).await;
        // Nothing is inflated at all, and the host hears what it may send.
        assert_eq!(status.unwrap_err().code(), Code::Unimplemented, "{hook}");
    }
    assert_eq!(bench.engine.seen.hooks(), []);
    bench
        .taken(Hook::Ingest, requests::ingest().encode_to_vec())
        .await;
    assert_eq!(bench.proxy.connections(), 1);
}

/// A value of so many levels.
fn nested(levels: usize) -> Bytes {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!("{open}{close}").into()
}

fn with_context(context: &v1::RuntimeContext) -> Vec<u8> {
    let start = [
        body(Hook::Compact, false),
        field(3, &context.encode_to_vec()),
    ]
    .concat();
    framed(Hook::Compact, &start)
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_11_json_of_ours_nests_128_levels_and_no_more() {
    let bench = bench(UnknownFields::Ignore).await;
    let extra = |levels| v1::RuntimeContext {
        extra: [("k".to_owned(), nested(levels))].into(),
        ..v1::RuntimeContext::default()
    };
    let cache = |levels| v1::RuntimeContext {
        prompt_cache: Some(nested(levels)),
        ..v1::RuntimeContext::default()
    };
    for (path, of) in [
        (
            "runtime_context.extra",
            &extra as &dyn Fn(usize) -> v1::RuntimeContext,
        ),
        ("runtime_context.prompt_cache", &cache),
    ] {
        bench
            .taken(Hook::Compact, with_context(&of(limits::JSON_DEPTH)))
            .await;
        for levels in [limits::JSON_DEPTH + 1, 100_000] {
            let status = bench
                .refused(Hook::Compact, with_context(&of(levels)))
                .await;
            assert_eq!(
                refusal(&status),
                (Code::InvalidArgument, Some(Reason::InvalidRequest))
            );
            assert_eq!(violations(&status)[0].field, path);
        }
    }
    assert_eq!(bench.proxy.connections(), 1);
}

/// Groups in groups: the only thing that nests without end in messages of ours.
fn groups(levels: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    (0..levels).for_each(|_| encode_key(99, WireType::StartGroup, &mut bytes));
    (0..levels).for_each(|_| encode_key(99, WireType::EndGroup, &mut bytes));
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_11_fields_that_nest_a_hundred_thousand_levels_crash_nobody() {
    for unknown_fields in [UnknownFields::Ignore, UnknownFields::Reject] {
        let bench = bench(unknown_fields).await;
        for hook in [Hook::Ingest, Hook::Compact] {
            let with = |levels| framed(hook, &[body(hook, false), groups(levels)].concat());
            let few = call(&bench.channel, hook, [with(32)]).await;
            assert_eq!(
                few.is_ok(),
                unknown_fields == UnknownFields::Ignore,
                "{few:?}"
            );
            let status = bench.refused(hook, with(100_000)).await;
            assert_eq!(status.code(), Code::InvalidArgument, "{hook}: {status}");
        }
        bench
            .taken(Hook::Ingest, requests::ingest().encode_to_vec())
            .await;
        assert_eq!(bench.proxy.connections(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_12_metadata_of_8_kib_is_taken_by_every_hook() {
    let bench = bench(UnknownFields::Ignore).await;
    for hook in Hook::ALL {
        let request = framed(hook, &body(hook, false));
        let done = call_with(&bench.channel, hook, [request], |request| {
            let value = "x".repeat(limits::METADATA_BYTES).parse().unwrap();
            request.metadata_mut().insert("extra", value);
        });
        done.await.unwrap();
    }
    assert_eq!(bench.engine.seen.hooks().len(), Hook::ALL.len() - 1);
    assert_eq!(bench.proxy.connections(), 1);
}

/// The smallest Ingest with this merged into its call.
fn with_call(call: &v1::CallContext) -> Vec<u8> {
    [body(Hook::Ingest, false), field(1, &call.encode_to_vec())].concat()
}

fn of_session(bytes: usize) -> v1::CallContext {
    v1::CallContext {
        session: Some(v1::Session {
            session_id: "x".repeat(bytes),
            ..v1::Session::default()
        }),
        ..v1::CallContext::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_13_lists_and_ids_are_taken_up_to_their_limits_and_not_beyond() {
    type Sized = fn(usize) -> v1::CallContext;
    let rows: [(&str, usize, Sized); 3] = [
        (
            "call.must_understand",
            limits::MUST_UNDERSTAND_PATHS,
            |count| v1::CallContext {
                must_understand: vec!["call".to_owned(); count],
                ..v1::CallContext::default()
            },
        ),
        ("call.abandoned_hooks", limits::ABANDONED_HOOKS, |count| {
            v1::CallContext {
                abandoned_hooks: (0..count).map(|_| HookId::mint().to_string()).collect(),
                ..v1::CallContext::default()
            }
        }),
        ("call.session.session_id", limits::ID_BYTES, of_session),
    ];
    let bench = bench(UnknownFields::Ignore).await;
    for (path, limit, of) in rows {
        bench.taken(Hook::Ingest, with_call(&of(limit))).await;
        let status = bench.refused(Hook::Ingest, with_call(&of(limit + 1))).await;
        assert_eq!(
            refusal(&status),
            (Code::InvalidArgument, Some(Reason::InvalidRequest))
        );
        assert_eq!(violations(&status)[0].field, path);
    }
}
