use contextwire_engine::{Assemble, Ingest, Message, Transcript};
use tokio::time::Instant;
use tower::{Layer, ServiceExt};

use super::*;
use crate::layer::Outcome;
use crate::script::{Line, Script, call, ingest, well};

fn admit(limits: CallLimits) -> Admit {
    Admit::new(limits, vec![Arc::new(Book::new())], None)
}

fn limits(calls: usize, waiting: usize) -> CallLimits {
    CallLimits {
        calls,
        waiting,
        ..CallLimits::default()
    }
}

/// A call that is on its way; it takes its permit when it is first polled.
fn sent(admit: &Admit, script: &Script, call: Call) -> tokio::task::JoinHandle<Outcome> {
    let service = admit.layer(script.clone());
    tokio::spawn(async move { service.oneshot(call).await })
}

/// Lets everything run that can run now.
async fn settled() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

fn lasting(secs: u64) -> Line {
    let Line::Ends(_, outcome) = well() else {
        panic!("an answer")
    };
    Line::Ends(Duration::from_secs(secs), outcome)
}

fn code(outcome: &Outcome) -> &'static str {
    outcome.as_ref().map_or_else(CallError::code, |_| "OK")
}

#[tokio::test(start_paused = true)]
async fn a_call_over_the_limit_waits_for_its_turn_and_is_refused_in_time() {
    let (admit, script) = (admit(limits(1, 1)), Script::new([lasting(1)]));
    let started = Instant::now();
    let first = sent(&admit, &script, ingest());
    settled().await;
    let waiting = sent(&admit, &script, ingest());
    settled().await;
    assert_eq!(admit.load().calls, 1);
    assert_eq!(admit.load().waiting, 1);
    // The line is full: at once.
    let third = sent(&admit, &script, ingest()).await.unwrap();
    assert_eq!((code(&third), started.elapsed()), ("BUSY", Duration::ZERO));
    // Not for ever, and the engine never saw it.
    let waited = waiting.await.unwrap();
    assert_eq!((code(&waited), started.elapsed()), ("BUSY", LONGEST_WAIT));
    assert_eq!(code(&first.await.unwrap()), "OK");
    assert_eq!(script.calls().len(), 1);
    assert_eq!(admit.load(), Load::default());
}

#[tokio::test(start_paused = true)]
async fn who_waits_goes_as_soon_as_there_is_room() {
    let (admit, script) = (admit(limits(1, 1)), Script::default());
    let Line::Ends(_, outcome) = well() else {
        panic!("an answer")
    };
    script.add([Line::Ends(Duration::from_millis(300), outcome), well()]);
    let first = sent(&admit, &script, ingest());
    settled().await;
    let second = sent(&admit, &script, ingest());
    assert_eq!(code(&first.await.unwrap()), "OK");
    assert_eq!(code(&second.await.unwrap()), "OK");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_gives_its_room_back() {
    let (admit, script) = (admit(limits(1, 1)), Script::new([Line::Hang, well()]));
    let first = sent(&admit, &script, ingest());
    settled().await;
    let second = sent(&admit, &script, ingest());
    settled().await;
    first.abort();
    assert_eq!(code(&second.await.unwrap()), "OK");
    assert_eq!(admit.load(), Load::default());
}

fn large(bytes: usize) -> Call {
    let message = Message::from_payload("x".repeat(bytes));
    call(Ingest {
        message,
        is_heartbeat: false,
    })
}

#[tokio::test(start_paused = true)]
async fn bytes_are_limited_as_calls_are_and_one_that_is_larger_alone_goes_alone() {
    let limits = CallLimits {
        bytes: 1 << 20,
        waiting: 0,
        ..CallLimits::default()
    };
    let (admit, script) = (
        admit(limits),
        Script::new([lasting(1), lasting(1), lasting(1)]),
    );
    let first = sent(&admit, &script, large(900 << 10));
    settled().await;
    let small = sent(&admit, &script, ingest());
    let over = sent(&admit, &script, large(200 << 10));
    assert_eq!(code(&over.await.unwrap()), "BUSY");
    assert_eq!(code(&first.await.unwrap()), "OK");
    assert_eq!(code(&small.await.unwrap()), "OK");
    let alone = sent(&admit, &script, large(5 << 20));
    assert_eq!(code(&alone.await.unwrap()), "OK");
}

#[test]
fn a_list_weighs_what_the_engine_does_not_have() {
    let book = Arc::new(Book::new());
    let admit = Admit::new(CallLimits::default(), vec![Arc::clone(&book)], None);
    let message = || Message::from_payload("x".repeat(1000));
    let list: Transcript = (0..10).map(|_| message()).collect();
    let asking = |len| {
        call(Assemble {
            transcript: list.prefix(len),
            ..Assemble::default()
        })
    };
    let rt = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let _inside = rt.enter();
    assert_eq!(admit.0.weight(&asking(10)), 10_000);
    let session = asking(9).session.id;
    book.acknowledge(&session, List::View, Site::BeforePrompt, list.prefix(9));
    assert_eq!(admit.0.weight(&asking(10)), 1_000);
    assert_eq!(admit.0.weight(&asking(3)), 0);
}

#[tokio::test(start_paused = true)]
async fn the_smaller_limit_of_both_sides_holds_as_soon_as_the_engine_has_said_it() {
    let known = Acquaintance::of_nobody();
    let admit = Admit::new(
        limits(8, 0),
        vec![Arc::new(Book::new())],
        Some(Arc::clone(&known)),
    );
    let script = Script::new((0..5).map(|_| lasting(1)));
    let running: Vec<_> = (0..3).map(|_| sent(&admit, &script, ingest())).collect();
    settled().await;
    assert_eq!(admit.load().calls, 3);
    let mut engine = crate::script::description();
    engine.limits.max_concurrent_hooks = Some(2);
    known.learn(engine.clone());
    let over = sent(&admit, &script, ingest()).await.unwrap();
    assert_eq!(code(&over), "BUSY");
    for call in running {
        assert_eq!(code(&call.await.unwrap()), "OK");
    }
    let running: Vec<_> = (0..3).map(|_| sent(&admit, &script, ingest())).collect();
    let mut codes = Vec::new();
    for call in running {
        codes.push(code(&call.await.unwrap()));
    }
    assert_eq!(codes, ["OK", "OK", "BUSY"]);
    // Another build bears more.
    engine.limits.max_concurrent_hooks = Some(100);
    known.learn(engine);
    admit.0.heed_the_engine();
    assert_eq!(*admit.0.granted(), 8);
}
