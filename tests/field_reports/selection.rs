//! Selection and fallback, and the cases of HOST-SEMANTICS 3 that need a wire.

use contextwire_client::lifecycle::{Delivered, FinishedTurn, Opening, TurnDelta, finish, open};
use contextwire_client::{
    Call, ClientOptions, EngineClient, HostProfile, OnEngineFailure, Policy, QuarantineOptions,
    Quarantines, ServedBy,
};
use contextwire_engine::testing::{RecordingEngine, SeenRequest};
use contextwire_engine::{
    Assemble, AssembleOutcome, CommitTurn, Compact, Hook, HostRequirement, Message,
    RuntimeSettings, Scope, TokenBudget, Transcript,
};
use contextwire_proto::status::Refusal;
use contextwire_proto::{Reason, v1};
use contextwire_windowed::{Window, fit};
use tonic::Status;

use super::{by, in_process, origin};
use crate::harness::{
    Failing, Gate, Listener, PATIENT, Place, TestEngine, session, soon, transcript, view,
};
use crate::hostile::engine::{Hostile, Talk, described};
use crate::lifecycle::Host;

/// A guarded host of whatever is there, with a list of its own.
fn guarded(place: &Place) -> (EngineClient, Quarantines) {
    with_policy(place, Policy::Guarded)
}

fn with_policy(place: &Place, policy: Policy) -> (EngineClient, Quarantines) {
    let list = Quarantines::new();
    let client = place.client_with(&ClientOptions {
        policy,
        quarantine: QuarantineOptions {
            list: list.clone(),
            ..QuarantineOptions::default()
        },
        ..ClientOptions::default()
    });
    (client, list)
}

async fn never(talk: Talk) {
    drop(talk);
}

/// What two turns come to with an engine that describes itself so, and what is recorded of it.
async fn two_turns(
    answer: Result<v1::DescribeResponse, Status>,
) -> (Vec<Option<&'static str>>, Vec<(String, String)>) {
    let place = Place::new();
    let _engine = Hostile::new(never)
        .describing(answer)
        .serve_at(&place)
        .await;
    let (client, list) = guarded(&place);
    let mut reasons = Vec::new();
    for _ in 0..2 {
        let (by, reason) = origin(&client).await;
        assert_eq!(by, ServedBy::InProcess);
        reasons.push(reason);
    }
    let records = list.records().into_iter();
    let records = records.map(|record| (record.operation, record.reason));
    (reasons, records.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn br_001_an_engine_that_is_not_there_or_none_costs_no_turn_and_says_why() {
    // Nobody listens.
    let (client, list) = guarded(&Place::new());
    for _ in 0..2 {
        assert_eq!(origin(&client).await, in_process("UNREACHABLE"));
    }
    assert_eq!(list.records(), []);
    // What answers fails without a word of its own: it may be a dying connection.
    let (reasons, records) = two_turns(Err(Status::internal("no"))).await;
    assert_eq!(reasons, [Some("UNREACHABLE"); 2]);
    assert_eq!(records, []);
    // It says nothing of itself.
    let mut nameless = described();
    let engine = nameless.engine.as_mut().unwrap();
    engine.id.clear();
    engine.name.clear();
    let (reasons, records) = two_turns(Ok(nameless)).await;
    assert_eq!(reasons, [Some("CONTRACT_VIOLATION"), Some("QUARANTINED")]);
    let [(operation, reason)] = &*records else {
        panic!("one record, not {records:?}")
    };
    assert_eq!(operation, "contract-validation");
    assert!(reason.contains("info.id") && reason.contains("info.name"));
}

#[tokio::test(flavor = "multi_thread")]
async fn c021_an_engine_that_fails_to_describe_itself_is_recorded_with_its_own_text() {
    let failure = Refusal::new(Reason::EngineFailure, "the store is gone").into_status();
    let (reasons, records) = two_turns(Err(failure)).await;
    assert_eq!(reasons, [Some("ENGINE_FAILURE"), Some("QUARANTINED")]);
    let record = ("factory".to_owned(), "the store is gone".to_owned());
    assert_eq!(records, [record]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c025_a_description_without_its_parts_is_recorded_and_crashes_nobody() {
    for unreadable in [
        v1::DescribeResponse {
            engine: None,
            ..described()
        },
        v1::DescribeResponse {
            protocol: None,
            ..described()
        },
    ] {
        let (reasons, records) = two_turns(Ok(unreadable)).await;
        assert_eq!(reasons, [Some("CONTRACT_VIOLATION"), Some("QUARANTINED")]);
        assert_eq!(records[0].0, "contract-validation");
        assert!(records[0].1.starts_with("Describe: "), "{}", records[0].1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c012_c013_folders_arrive_as_the_host_gave_them_or_not_at_all() {
    let host = Host::with(&[], Policy::Guarded).await;
    let folders = Scope {
        agent_dir: Some("/agent".to_owned()),
        workspace_dir: Some("/work".to_owned()),
    };
    for scope in [Scope::default(), folders] {
        let request = view(&transcript(1)).into();
        let mut call = Call::new(session("s"), request, PATIENT);
        call.scope.clone_from(&scope);
        // The engine looks at none of it, and serves.
        let served = host.client.call(call).await.unwrap();
        assert!(served.reason.is_none());
        let seen = host.engine.seen.seen().pop().unwrap();
        assert_eq!(seen.cx.scope, scope);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c030_a_caller_that_leaves_while_the_engine_is_asked_what_it_is_leaves_no_record() {
    for policy in [Policy::Guarded, Policy::Lease] {
        let place = Place::new();
        let (client, list) = with_policy(&place, policy);
        let listener = Listener::bind(&place.target()).await;
        let id = session("s");
        let call = client.assemble(&id, view(&transcript(1)));
        let asked = tokio::select! {
            served = call => panic!("{served:?}"),
            socket = listener.accept() => socket,
        };
        assert_eq!(list.records(), []);
        drop((asked, listener));
        let _running = place.serve(TestEngine::keep()).await;
        soon(async { while origin(&client).await != by("test") {} }).await;
        assert_eq!(list.records(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c052_an_engine_that_stops_when_it_is_told_to_is_not_barred() {
    let gate = Gate::new();
    let engine = Failing::with(&[]).holding(Hook::Compact, &gate);
    let host = Host::of(engine, Policy::Guarded).await;
    let id = session("s");
    let call = host.client.compact(&id, Compact::default());
    tokio::select! {
        served = call => panic!("{served:?}"),
        () = gate.arrived(1) => {}
    }
    gate.left(1).await;
    assert_eq!(host.client.quarantine(), None);
    assert_eq!(origin(&host.client).await, by("recording"));
}

#[tokio::test(flavor = "multi_thread")]
async fn c060_c061_an_answer_without_a_context_is_no_failure_of_the_engine_and_names_the_field() {
    let nothing = |mut talk: Talk| async move {
        talk.start().await;
        let result = v1::AssembleResult::default();
        let frame = v1::assemble_response::Frame::Result(result);
        talk.send(frame).await;
    };
    let place = Place::new();
    let _engine = Hostile::new(nothing).serve_at(&place).await;
    let (client, list) = guarded(&place);
    let request = view(&transcript(3));
    let served = client.assemble(&session("s"), request).await.unwrap();
    let reason = served.reason.unwrap();
    assert_eq!(reason.code(), "CONTRACT_VIOLATION");
    assert!(reason.to_string().contains("outcome"), "{reason}");
    assert_eq!(served.result.messages().count(), 3);
    assert_eq!(list.records(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn c114_the_in_process_answer_has_what_the_engine_did_not_accept() {
    for policy in [Policy::Guarded, Policy::Lease] {
        let engine = RecordingEngine::new()
            .with_methods([])
            .describing(|info| info.accepted_host_params = Some(Vec::new()));
        let engine = Failing::of(engine);
        let host = Host::of(engine, policy).await;
        host.engine.fail_next(Hook::Assemble);
        // By the model in the settings, thinking of another one is left out.
        let settings = RuntimeSettings {
            resolved_model: Some("claude-sonnet-4".to_owned()),
            provider: Some("anthropic".to_owned()),
            ..RuntimeSettings::default()
        };
        let list = long_talk();
        let request = Assemble {
            runtime_settings: Some(settings),
            token_budget: TokenBudget::new(1_000),
            ..view(&list)
        };
        let estimate = |reply: &AssembleOutcome| match reply {
            AssembleOutcome::Messages(reply) => reply.clone(),
            AssembleOutcome::Unchanged(_) => panic!("messages"),
        };
        let served = host.client.assemble(&session("s"), request.clone()).await;
        let served = served.unwrap();
        assert_eq!(served.reason.as_ref().unwrap().code(), "ENGINE_FAILURE");
        let window = Window::of(&request);
        let own = fit(&list, &window);
        assert_eq!(estimate(&served.result.outcome).messages, own.messages);
        let without = Assemble {
            runtime_settings: None,
            ..request
        };
        let window = Window::of(&without);
        let other = fit(&list, &window);
        assert_ne!(own.messages, other.messages, "the settings matter");
    }
}

/// A list that a small window cannot hold, whose place depends on how tokens are counted.
fn long_talk() -> Transcript {
    let text = "fn main() { println!(\"{:?}\", std::env::args()); } ".repeat(3);
    let message = |n: usize| {
        let role = ["user", "assistant"][n % 2];
        let text = text.replace('"', "'");
        let payload = format!(r#"{{"role":"{role}","content":"{n} {text}"}}"#);
        Message::from_payload(payload)
    };
    (0..200).map(message).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn br_002_an_engine_that_was_never_reached_is_not_said_to_be_in_use() {
    let place = Place::new();
    let (client, _) = guarded(&place);
    let served = origin(&client).await;
    assert_eq!(served, in_process("UNREACHABLE"));
    assert!(client.known().is_none() && client.active_info().is_none());
    let _running = place.serve(TestEngine::keep()).await;
    soon(async { while origin(&client).await != by("test") {} }).await;
    assert_eq!(client.active_info().unwrap().id, "test");
}

#[tokio::test(flavor = "multi_thread")]
async fn br_006_the_first_turn_of_a_session_is_the_engines_from_its_start_to_its_end() {
    for policy in [Policy::Guarded, Policy::Lease] {
        let methods = [Hook::Bootstrap, Hook::Maintain, Hook::AfterTurn];
        let host = Host::with(&methods, policy).await;
        let (client, id) = (&host.client, session("new"));
        let opening = Opening {
            log: transcript(2),
            ..Opening::default()
        };
        assert!(open(client, &id, opening).await.failure.is_none());
        let served = client.assemble(&id, view(&transcript(3))).await.unwrap();
        assert!(served.reason.is_none());
        let turn = FinishedTurn {
            delta: TurnDelta::new(transcript(4), 2),
            ..FinishedTurn::default()
        };
        let end = finish(client, &id, &turn).await;
        assert!(end.is_maintenance_due);
        let hooks = [
            Hook::Bootstrap,
            Hook::Maintain,
            Hook::Assemble,
            Hook::AfterTurn,
        ];
        assert_eq!(host.engine.hooks(), hooks);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_007_an_engine_that_cannot_commit_says_so_and_is_told_by_what_it_has() {
    let host = Host::with(&[Hook::AfterTurn], Policy::Lease).await;
    let id = session("s");
    let error = host.client.commit_turn(&id, CommitTurn::default()).await;
    assert_eq!(error.unwrap_err().code(), "METHOD_ABSENT");
    let turn = FinishedTurn {
        delta: TurnDelta::new(transcript(4), 2),
        ..FinishedTurn::default()
    };
    let end = finish(&host.client, &id, &turn).await;
    assert_eq!(end.delivered, Delivered::AfterTurn);
}

fn few() -> HostProfile {
    HostProfile {
        id: "cli:it".to_owned(),
        label: "CLI backend \"it\"".to_owned(),
        capabilities: vec!["bootstrap".to_owned(), "compact".to_owned()],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn br_010_what_a_host_lacks_is_said_before_anything_runs() {
    let requirement = HostRequirement {
        capabilities: vec!["assemble-before-prompt".to_owned()],
        unsupported_message: Some("Use the embedded runner.".to_owned()),
    };
    let engine = RecordingEngine::new().describing(|info| {
        let required = [("agent-run".to_owned(), requirement)];
        info.host_requirements = required.into();
    });
    let host = Host::of(Failing::of(engine), Policy::Lease).await;
    let info = host.client.active_info().unwrap();
    let text = few().unmet(&info, "agent-run").unwrap().to_string();
    assert!(text.contains("lacks assemble-before-prompt"), "{text}");
    assert!(text.ends_with("Use the embedded runner."), "{text}");
    assert_eq!(host.engine.hooks(), [], "before any hook");
    assert_eq!(few().unmet(&info, "manual-compact"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn br_011_where_nothing_is_substituted_a_dead_engine_fails_the_turn() {
    let place = Place::new();
    let running = place.serve(TestEngine::keep()).await;
    let client = place.client_with(&ClientOptions {
        on_engine_failure: OnEngineFailure::Fail,
        ..ClientOptions::default()
    });
    assert_eq!(origin(&client).await, by("test"));
    running.kill().await;
    let request = view(&transcript(3));
    let error = client.assemble(&session("s"), request).await.unwrap_err();
    assert_eq!(error.code(), "UNREACHABLE");
}

/// What an engine is told of a turn has the settings that its host knew, and nothing where it knew
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn br_034_budgets_travel_with_the_turn_and_absent_ones_stay_absent() {
    let host = Host::with(&[Hook::AfterTurn], Policy::Guarded).await;
    for budget in [TokenBudget::new(900_000), None] {
        let mut turn = FinishedTurn {
            delta: TurnDelta::new(transcript(4), 2),
            ..FinishedTurn::default()
        };
        turn.delta.token_budget = budget;
        finish(&host.client, &session("s"), &turn).await;
        let seen = host.engine.seen.seen().pop().unwrap();
        let SeenRequest::AfterTurn(told) = seen.request else {
            panic!("the turn")
        };
        assert_eq!(told.token_budget, budget);
        assert_eq!(told.runtime_settings, None);
    }
}
