//! Every hook reaches the engine with what the host sent, and its answer carries what the engine
//! said besides.

use std::time::Duration;

use contextwire_engine::testing::{RecordingEngine, SeenRequest};
use contextwire_engine::{
    AfterTurn, Bootstrap, CommitTurn, Dispose, EndSubagent, Hook, HookId, Ingest, IngestBatch,
    LateHook, Maintain, MaintainReason, Order, PrepareSubagentSpawn, Reply, ResolveSubagentSpawn,
    SpawnOutcome, TurnCommitted,
};
use contextwire_proto::convert::{
    AfterTurnResult, AfterTurnStart, AssembleResult, AssembleStart, BootstrapResult,
    BootstrapStart, CommitTurnRequest, CommitTurnResponse, CompactResult, CompactStart,
    DisposeRequest, DisposeResponse, EndSubagentRequest, EndSubagentResponse, IngestBatchRequest,
    IngestBatchResponse, IngestRequest, IngestResponse, MaintainResult, MaintainStart,
    PrepareSubagentSpawnRequest, PrepareSubagentSpawnResponse, ResolveSubagentSpawnRequest,
    ResolveSubagentSpawnResponse,
};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::sync::List;
use contextwire_proto::{CallContext, ConvertError, v1};
use tonic::Status;

use crate::harness::{Raw, Stub, call, list, message, open, serve, whole};

fn said() -> Reply {
    let late = LateHook {
        hook_id: HookId::mint(),
        method: "Compact".to_owned(),
        session_target: None,
    };
    Reply {
        late: vec![late],
        log_state: Some(list(&["a"]).state()),
    }
}

/// Runs a streaming hook from its start to its result.
async fn run<S, R, Q, A>(hook: Result<Raw<Q, A>, Status>, start: S) -> R
where
    Q: From<HostFrame<S>> + Send + 'static,
    A: Send + 'static,
    EngineFrame<R>: TryFrom<A, Error = ConvertError>,
{
    let mut hook = hook.unwrap();
    hook.send(HostFrame::Start(Box::new(start))).await;
    hook.result::<R>().await.unwrap()
}

/// Runs a unary hook.
macro_rules! ask {
    ($stub:expr, $method:ident, $request:expr, $wire:ident, $response:ty) => {{
        let request = v1::$wire::from($request);
        let response = $stub.clone().$method(request).await.unwrap();
        <$response>::try_from(response.into_inner()).unwrap()
    }};
}

async fn streaming(stub: &Stub) -> Vec<Reply> {
    let log = whole(List::Log, &list(&["a", "b"]));
    let bootstrap = BootstrapStart {
        call: call(),
        request: Bootstrap::default(),
        update: log.clone(),
    };
    let after_turn = AfterTurnStart {
        call: call(),
        request: AfterTurn {
            pre_prompt_message_count: 1,
            ..AfterTurn::default()
        },
        update: log.clone(),
    };
    let assemble = AssembleStart {
        call: call(),
        request: <_>::default(),
        update: whole(List::View, &list(&["a"])),
    };
    let compact = CompactStart {
        call: call(),
        request: <_>::default(),
    };
    let maintain = MaintainStart {
        call: call(),
        request: Maintain {
            reason: MaintainReason::Compaction,
            ..Maintain::default()
        },
    };
    let bootstrapped = run::<_, BootstrapResult, _, _>(open!(stub, bootstrap), bootstrap).await;
    assert_eq!(bootstrapped.bootstrapped.imported_messages, Some(2));
    vec![
        bootstrapped.reply,
        run::<_, AfterTurnResult, _, _>(open!(stub, after_turn), after_turn)
            .await
            .reply,
        run::<_, AssembleResult, _, _>(open!(stub, assemble), assemble)
            .await
            .reply,
        run::<_, CompactResult, _, _>(open!(stub, compact), compact)
            .await
            .reply,
        run::<_, MaintainResult, _, _>(open!(stub, maintain), maintain)
            .await
            .reply,
    ]
}

fn commit() -> CommitTurnRequest {
    CommitTurnRequest {
        call: call(),
        request: CommitTurn {
            advancement_key: "turn".to_owned(),
            messages: vec![message("a")],
            ..CommitTurn::default()
        },
    }
}

async fn unary(stub: &Stub) -> Vec<Reply> {
    let ingest = IngestRequest {
        call: call(),
        request: Ingest {
            message: message("c"),
            is_heartbeat: true,
        },
    };
    let batch = IngestBatchRequest {
        call: call(),
        request: IngestBatch {
            messages: vec![message("c"), message("d")],
            is_heartbeat: false,
        },
    };
    let batch = ask!(
        stub,
        ingest_batch,
        batch,
        IngestBatchRequest,
        IngestBatchResponse
    );
    assert_eq!(batch.ingested.ingested_count, 2);
    let committed = ask!(
        stub,
        commit_turn,
        commit(),
        CommitTurnRequest,
        CommitTurnResponse
    );
    assert_eq!(committed.committed, TurnCommitted::Committed);
    let again = ask!(
        stub,
        commit_turn,
        commit(),
        CommitTurnRequest,
        CommitTurnResponse
    );
    assert_eq!(again.committed, TurnCommitted::Duplicate);
    let mut replies = vec![ask!(stub, ingest, ingest, IngestRequest, IngestResponse).reply];
    replies.extend([batch.reply, committed.reply, again.reply]);
    replies
}

async fn lifecycle(stub: &Stub) -> Vec<Reply> {
    let prepare = PrepareSubagentSpawnRequest {
        call: call(),
        request: PrepareSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            child_session_key: "child".to_owned(),
            ..PrepareSubagentSpawn::default()
        },
    };
    let resolve = ResolveSubagentSpawnRequest {
        call: call(),
        request: ResolveSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            outcome: SpawnOutcome::Started,
        },
    };
    let end = EndSubagentRequest {
        call: call(),
        request: EndSubagent {
            child_session_key: "child".to_owned(),
            reason: "completed".to_owned(),
            ..EndSubagent::default()
        },
    };
    let dispose = DisposeRequest {
        call: CallContext::of_host(HookId::mint(), "h1").unwrap(),
        request: Dispose {
            host_instance: "h1".to_owned(),
        },
    };
    let prepared = ask!(
        stub,
        prepare_subagent_spawn,
        prepare,
        PrepareSubagentSpawnRequest,
        PrepareSubagentSpawnResponse
    );
    assert!(prepared.prepared.prepared);
    vec![
        prepared.reply,
        ask!(
            stub,
            resolve_subagent_spawn,
            resolve,
            ResolveSubagentSpawnRequest,
            ResolveSubagentSpawnResponse
        )
        .reply,
        ask!(
            stub,
            end_subagent,
            end,
            EndSubagentRequest,
            EndSubagentResponse
        )
        .reply,
        ask!(stub, dispose, dispose, DisposeRequest, DisposeResponse).reply,
    ]
}

#[tokio::test]
async fn r7_2_every_answer_carries_what_the_engine_said_besides() {
    let said = said();
    let engine = RecordingEngine::new().saying(said.clone());
    let (stub, _running) = serve(engine.clone()).await;
    let mut replies = streaming(&stub).await;
    replies.extend(unary(&stub).await);
    replies.extend(lifecycle(&stub).await);
    assert_eq!(replies, vec![said; replies.len()]);
    let mut hooks = engine.hooks();
    hooks.sort();
    hooks.dedup();
    let all: Vec<_> = Hook::ALL
        .into_iter()
        .filter(|hook| *hook != Hook::Describe)
        .collect();
    assert_eq!(hooks, all);
}

#[tokio::test]
async fn r3_1_bootstrap_and_after_turn_hand_the_log_to_the_engine() {
    let engine = RecordingEngine::new();
    let (stub, _running) = serve(engine.clone()).await;
    streaming(&stub).await;
    let seen = engine.seen();
    let SeenRequest::Bootstrap(bootstrap) = &seen[0].request else {
        panic!("{:?}", seen[0])
    };
    assert_eq!(bootstrap.transcript, list(&["a", "b"]));
    let SeenRequest::AfterTurn(after) = &seen[1].request else {
        panic!("{:?}", seen[1])
    };
    assert_eq!(after.transcript, list(&["a", "b"]));
    assert_eq!(after.pre_prompt_message_count, 1);
}

#[tokio::test]
async fn r7_9_order_and_abandoned_hooks_reach_the_engine() {
    let engine = RecordingEngine::new();
    let (stub, _running) = serve(engine.clone()).await;
    let mut commit = commit();
    let order = Order {
        host_epoch: 9,
        session_seq: Some(4),
    };
    let abandoned = HookId::mint();
    commit.call.order = Some(order);
    commit.call.abandoned_hooks = vec![abandoned];
    ask!(
        stub,
        commit_turn,
        commit,
        CommitTurnRequest,
        CommitTurnResponse
    );
    let seen = engine.seen();
    assert_eq!(seen[0].cx.order, Some(order));
    assert_eq!(seen[0].cx.abandoned_hooks, [abandoned]);
}

#[tokio::test]
async fn a_background_hook_without_a_budget_gets_the_longer_one() {
    let engine = RecordingEngine::new();
    let (stub, _running) = serve(engine.clone()).await;
    for background in [false, true] {
        let maintain = MaintainStart {
            call: call(),
            request: Maintain {
                background,
                ..Maintain::default()
            },
        };
        run::<_, MaintainResult, _, _>(open!(stub, maintain), maintain).await;
        let after_turn = AfterTurnStart {
            call: call(),
            request: AfterTurn {
                background,
                ..AfterTurn::default()
            },
            update: whole(List::Log, &list(&["a"])),
        };
        run::<_, AfterTurnResult, _, _>(open!(stub, after_turn), after_turn).await;
    }
    let long: Vec<_> = engine
        .seen()
        .into_iter()
        .map(|seen| seen.cx.remaining() > Duration::from_secs(20))
        .collect();
    assert_eq!(long, [false, false, true, true]);
}

#[tokio::test]
async fn dispose_comes_without_a_session_and_the_engine_sees_the_host() {
    let engine = RecordingEngine::new();
    let (stub, _running) = serve(engine.clone()).await;
    lifecycle(&stub).await;
    let seen = engine.seen();
    let last = seen.last().unwrap();
    assert_eq!(last.request.hook(), Hook::Dispose);
    assert_eq!(last.cx.session.id.as_str(), "h1");
}
