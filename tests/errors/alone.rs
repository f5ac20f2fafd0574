//! A failure costs its own call: it comes before any effect, and it stays where it is.

use contextwire_engine::{Hook, HookId};
use contextwire_proto::{Reason, reason_of, v1};
use contextwire_server::{ServerOptions, UnknownFields};
use prost::Message as _;
use tonic::Code;
use tonic::transport::Channel;

use crate::harness::bare::{call, field};
use crate::harness::requests::{body, everything, framed};
use crate::harness::{Odd, Place, Proxy, RawHook, Running, channel, refusal};

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

/// Every hook but Describe, which has no session.
fn hooks() -> impl Iterator<Item = Hook> {
    Hook::ALL.into_iter().filter(|hook| *hook != Hook::Describe)
}

/// The smallest request of a hook with this merged into its call. Dispose has no session: the host
/// that it names stands for one.
fn with_call(hook: Hook, call: &v1::CallContext) -> Vec<u8> {
    let mut request = [body(hook, false), field(1, &call.encode_to_vec())].concat();
    if let (Hook::Dispose, Some(session)) = (hook, &call.session) {
        request.extend(field(4, session.session_id.as_bytes()));
    }
    framed(hook, &request)
}

fn of_session(id: &str) -> v1::CallContext {
    v1::CallContext {
        hook_id: HookId::mint().to_string(),
        session: Some(v1::Session {
            session_id: id.to_owned(),
            ..v1::Session::default()
        }),
        ..v1::CallContext::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_09_what_is_wrong_with_a_call_is_found_before_any_effect_of_any_hook() {
    let wrong = |change: fn(&mut v1::CallContext)| {
        let mut call = v1::CallContext::default();
        change(&mut call);
        call
    };
    let defects = [
        wrong(|call| call.hook_id = "no uuid".to_owned()),
        wrong(|call| call.abandoned_hooks = vec!["no uuid".to_owned()]),
        wrong(|call| call.abandoned_hooks = vec![HookId::mint().to_string(); 33]),
        wrong(|call| call.must_understand = vec!["call".to_owned(); 65]),
        wrong(|call| call.must_understand = vec!["call.audio".to_owned()]),
        wrong(|call| call.session = of_session(&"x".repeat(1025)).session),
        wrong(|call| {
            call.log_head = Some(v1::TranscriptState {
                count: 1,
                chain: vec![7; 31].into(),
            });
        }),
    ];
    for unknown_fields in [UnknownFields::Ignore, UnknownFields::Reject] {
        let bench = bench(unknown_fields).await;
        for (hook, defect) in hooks().flat_map(|hook| defects.iter().map(move |it| (hook, it))) {
            let request = with_call(hook, defect);
            let status = call(&bench.channel, hook, [request]).await.unwrap_err();
            let reason = reason_of(&status).unwrap();
            assert!(
                [Reason::InvalidRequest, Reason::NotUnderstood].contains(&reason),
                "{hook}: {status}"
            );
            assert_eq!(bench.engine.seen.hooks(), [], "{hook}: {status}");
        }
        // Their twins: the same requests without the defect.
        for hook in hooks() {
            let request = with_call(hook, &v1::CallContext::default());
            call(&bench.channel, hook, [request]).await.unwrap();
        }
        assert_eq!(bench.engine.seen.hooks(), hooks().collect::<Vec<_>>());
        assert_eq!(bench.proxy.connections(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_10_a_panic_in_any_hook_ends_that_call_and_a_running_one_goes_on() {
    let bench = bench(UnknownFields::Ignore).await;
    let held = with_call(Hook::Assemble, &of_session("held"));
    let mut held = RawHook::start(&bench.channel, Hook::Assemble, held).await;
    bench.engine.gate.arrived(1).await;
    for hook in hooks() {
        let request = with_call(hook, &of_session("panics"));
        let status = call(&bench.channel, hook, [request]).await.unwrap_err();
        let failure = (Code::Internal, Some(Reason::EngineFailure));
        assert_eq!(refusal(&status), failure, "{hook}: {status}");
        call(&bench.channel, hook, [everything(hook)])
            .await
            .unwrap();
    }
    assert_eq!(
        bench.engine.gate.gone(),
        0,
        "the running call was left alone"
    );
    bench.engine.gate.open();
    held.result().await;
    assert_eq!(held.next().await.unwrap(), None);
    assert_eq!(bench.proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_08_a_host_call_that_fails_is_not_the_status_of_its_hook() {
    let bench = bench(UnknownFields::Ignore).await;
    for hook in hooks().filter(|hook| hook.profile().streaming) {
        let request = with_call(hook, &of_session("calls"));
        let mut stream = RawHook::start(&bench.channel, hook, request).await;
        let result = loop {
            let frame = stream.next().await.unwrap().expect("a result");
            match frame.host_call {
                Some(call) => stream.send_result(&denied(call.call_id)).await,
                None => break frame.result,
            }
        };
        assert!(result.is_some(), "{hook}");
        assert_eq!(stream.next().await.unwrap(), None, "{hook}: OK trailers");
        let refused = std::mem::take(&mut *bench.engine.refused.lock().unwrap());
        assert_eq!(refused.len(), 4, "{hook}: {refused:?}");
    }
}

fn denied(call_id: String) -> v1::HostCallResult {
    let error = v1::HostCallError {
        reason: "DENIED".to_owned(),
        message: "not today".to_owned(),
        retryable: false,
    };
    v1::HostCallResult {
        call_id,
        outcome: Some(v1::host_call_result::Outcome::Error(error)),
    }
}
