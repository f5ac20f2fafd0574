//! A host that takes a call back: in every hook, in every state that the call can be in (R1.5).

use contextwire_client::Target;
use contextwire_engine::{Effect, Hook, HookId};
use contextwire_proto::{Reason, v1};
use futures_util::future::join_all;
use prost::Message as _;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

use crate::harness::bare::{call, field};
use crate::harness::requests::{body, everything, framed, list_of};
use crate::harness::{
    Odd, Place, Proxy, RawHook, Relay, channel, refusal, session, start_over, transcript,
};

const REASONS: [v1::CancelReason; 4] = [
    v1::CancelReason::CallerAbort,
    v1::CancelReason::Deadline,
    v1::CancelReason::Superseded,
    // Says nothing, and is a cancel all the same.
    v1::CancelReason::Unspecified,
];

const CANCELLED: (Code, Option<Reason>) = (Code::Cancelled, Some(Reason::Cancelled));

fn streaming() -> impl Iterator<Item = Hook> {
    Hook::ALL
        .into_iter()
        .filter(|hook| hook.profile().streaming)
}

/// What a call is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The engine's side asked for the list that the hook carries.
    WaitsForItsList,
    /// The engine asked for the host's log.
    WaitsForTheLog,
    /// The engine works and does not listen.
    Works,
}

impl State {
    const ALL: [Self; 3] = [Self::WaitsForItsList, Self::WaitsForTheLog, Self::Works];

    fn of(self, hook: Hook) -> bool {
        let carries = matches!(hook, Hook::Assemble | Hook::Bootstrap | Hook::AfterTurn);
        // A hook that carries the log has it.
        let has_the_log = matches!(hook, Hook::Bootstrap | Hook::AfterTurn);
        match self {
            Self::WaitsForItsList => carries,
            Self::WaitsForTheLog => !has_the_log,
            Self::Works => true,
        }
    }

    fn session(self) -> &'static str {
        match self {
            Self::WaitsForItsList => "waits",
            Self::WaitsForTheLog => "asks",
            Self::Works => "held",
        }
    }
}

/// The start of a call.
fn start(hook: Hook, hook_id: HookId, attempt: u32, id: &str) -> Vec<u8> {
    let call = v1::CallContext {
        hook_id: hook_id.to_string(),
        attempt,
        session: Some(v1::Session {
            session_id: id.to_owned(),
            ..v1::Session::default()
        }),
        ..v1::CallContext::default()
    };
    [body(hook, false), field(1, &call.encode_to_vec())].concat()
}

/// The list of a hook over a base that the engine's side cannot have.
fn unknown_list(hook: Hook) -> Vec<u8> {
    let list = transcript(5);
    let update = v1::TranscriptUpdate {
        list: list_of(hook).into(),
        ..start_over(&session("x"), &list, &list).transcript.unwrap()
    };
    let base = v1::TranscriptUpdate {
        segments: Vec::new(),
        ..update
    };
    field(4, &base.encode_to_vec())
}

/// A call that was taken back.
type TakenBack = (Hook, State, HookId);

/// A call that was brought into a state.
struct Held {
    call: TakenBack,
    stream: RawHook,
}

impl Held {
    async fn in_state(channel: &Channel, hook: Hook, state: State) -> Self {
        let hook_id = HookId::mint();
        let mut first = start(hook, hook_id, 1, state.session());
        if state == State::WaitsForItsList {
            first.extend(unknown_list(hook));
        }
        let mut stream = RawHook::start(channel, hook, framed(hook, &first)).await;
        if state != State::Works {
            let frame = stream.next().await.unwrap().unwrap();
            assert!(frame.need.is_some(), "{hook}, {state:?}: {frame:?}");
        }
        let call = (hook, state, hook_id);
        Self { call, stream }
    }

    async fn taken_back(mut self, reason: v1::CancelReason) -> TakenBack {
        self.stream.cancel(reason).await;
        let status = self.stream.failure().await;
        let (hook, state, _) = self.call;
        assert_eq!(refusal(&status), CANCELLED, "{hook}, {state:?}, {reason:?}");
        self.call
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_04_05_and_09_a_cancel_is_answered_in_every_state_and_the_next_attempt_works() {
    let (engine, place) = (Odd::new(), Place::new());
    let _running = place.serve(engine.clone()).await;
    let proxy = Proxy::to(&place).await;
    let channel = channel(&proxy.place().target());
    let calls: Vec<_> = streaming()
        .flat_map(|hook| {
            let states = State::ALL.into_iter().filter(move |state| state.of(hook));
            states.flat_map(move |state| REASONS.map(|reason| (hook, state, reason)))
        })
        .collect();
    // At the same time: an engine at work on an effect is given half a second.
    let held = join_all(
        calls
            .iter()
            .map(|&(hook, state, _)| Held::in_state(&channel, hook, state)),
    );
    let held = held.await;
    let at_work = calls.iter().filter(|(_, state, _)| *state == State::Works);
    let at_work = u32::try_from(at_work.count()).unwrap();
    // All of them before any is taken back: who arrived is not told apart.
    engine.gate.arrived(at_work).await;
    let taken_back = held
        .into_iter()
        .zip(&calls)
        .map(|(held, (.., reason))| held.taken_back(*reason));
    let taken_back = join_all(taken_back).await;
    engine.gate.left(at_work).await;
    let before = engine.seen.hooks();
    assert_eq!(before, [], "none had an effect");

    engine.gate.open();
    for (hook, state, hook_id) in &taken_back {
        let again = framed(*hook, &start(*hook, *hook_id, 2, state.session()));
        call(&channel, *hook, [again]).await.unwrap();
    }
    assert_eq!(engine.seen.hooks().len(), taken_back.len());
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_04_an_effect_that_happened_all_the_same_is_told_as_the_result() {
    let (engine, place) = (Odd::new(), Place::new());
    let _running = place.serve(engine.clone()).await;
    let channel = channel(&place.target());
    for hook in streaming() {
        let first = framed(hook, &start(hook, HookId::mint(), 1, "finishes"));
        let mut stream = RawHook::start(&channel, hook, first).await;
        engine.gate.arrived(1).await;
        stream.cancel(v1::CancelReason::CallerAbort).await;
        // Assemble has no effect that a host would have to know of.
        if hook.profile().effect == Effect::Read {
            assert_eq!(refusal(&stream.failure().await), CANCELLED);
            continue;
        }
        stream.result().await;
        assert_eq!(stream.next().await.unwrap(), None, "{hook}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_5_an_engine_that_has_committed_and_is_silent_is_never_said_to_have_had_no_effect() {
    let (engine, place) = (Odd::new(), Place::new());
    let _running = place.serve(engine.clone()).await;
    let channel = channel(&place.target());
    let hook = Hook::AfterTurn;
    let first = framed(hook, &start(hook, HookId::mint(), 1, "committed"));
    let mut stream = RawHook::start(&channel, hook, first).await;
    engine.gate.arrived(1).await;
    stream.cancel(v1::CancelReason::CallerAbort).await;
    let unknown = (Code::DeadlineExceeded, Some(Reason::DeadlineExceeded));
    assert_eq!(refusal(&stream.failure().await), unknown);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_06_a_cancel_after_the_result_is_ignored() {
    let (engine, place) = (Odd::new(), Place::new());
    let _running = place.serve(engine.clone()).await;
    let proxy = Proxy::to(&place).await;
    let channel = channel(&proxy.place().target());
    for hook in streaming() {
        let mut stream = RawHook::start(&channel, hook, everything(hook)).await;
        stream.result().await;
        stream.cancel(v1::CancelReason::Deadline).await;
        assert_eq!(stream.next().await.unwrap(), None, "{hook}: OK trailers");
        call(&channel, hook, [everything(hook)]).await.unwrap();
    }
    assert_eq!(proxy.connections(), 1);
}

/// What a host of many calls does when its user gives up: all of them are cancelled and reset, and
/// the server sees that in one go, as after its threads were busy.
async fn burst(calls: usize) {
    let (engine, place) = (Odd::new(), Place::tcp());
    let _running = place.serve(engine.clone()).await;
    let Target::Tcp(address) = place.target() else {
        panic!("an address")
    };
    // A relay is for one connection: were it lost, nothing could be called any more.
    let relay = Relay::to(address).await;
    let channel = channel(&Target::Tcp(relay.address));
    let held = framed(
        Hook::Compact,
        &start(Hook::Compact, HookId::mint(), 1, "held"),
    );
    let mut running = RawHook::start(&channel, Hook::Compact, held).await;
    engine.gate.arrived(1).await;

    relay.hold();
    let mut given_up = JoinSet::new();
    for _ in 0..calls {
        let channel = channel.clone();
        given_up.spawn(async move {
            let cancel = v1::Cancel::default().encode_to_vec();
            let frames = [everything(Hook::Compact), field(4, &cancel)];
            call(&channel, Hook::Compact, frames).await
        });
    }
    relay.sent(|sent| sent.opened == 1 + calls).await;
    given_up.shutdown().await;
    relay.sent(|sent| sent.reset == calls).await;
    relay.release();

    call(&channel, Hook::Compact, [everything(Hook::Compact)])
        .await
        .unwrap();
    assert_eq!(engine.gate.gone(), 0, "the running call was left alone");
    engine.gate.open();
    running.result().await;
    assert_eq!(running.next().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_08_bursts_of_cancelled_calls_cost_no_other_call() {
    burst(25).await;
    burst(200).await;
}
