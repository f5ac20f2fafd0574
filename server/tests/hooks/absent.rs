//! Methods that an engine does not have (R1.1).

use contextwire_engine::Hook;
use contextwire_engine::testing::{RecordingEngine, ScriptedEngine};
use contextwire_proto::convert::MaintainStart;
use contextwire_proto::frame::HostFrame;
use contextwire_proto::{Reason, reason_of, status, v1};
use tonic::Status;

use crate::harness::{Stub, call, open, serve};

/// The status of a call that carries nothing that could be read: no frame, no request.
async fn empty_call(stub: &Stub, hook: Hook) -> Status {
    macro_rules! streaming {
        ($method:ident, $request:ident, $response:ident) => {{
            let opened: Result<crate::harness::Raw<v1::$request, v1::$response>, _> =
                open!(stub, $method);
            opened.unwrap_err()
        }};
    }
    macro_rules! unary {
        ($method:ident, $request:ident) => {{
            let request = v1::$request::default();
            stub.clone().$method(request).await.unwrap_err()
        }};
    }
    match hook {
        Hook::Bootstrap => streaming!(bootstrap, BootstrapRequest, BootstrapResponse),
        Hook::AfterTurn => streaming!(after_turn, AfterTurnRequest, AfterTurnResponse),
        Hook::Maintain => streaming!(maintain, MaintainRequest, MaintainResponse),
        Hook::IngestBatch => unary!(ingest_batch, IngestBatchRequest),
        Hook::CommitTurn => unary!(commit_turn, CommitTurnRequest),
        Hook::PrepareSubagentSpawn => unary!(prepare_subagent_spawn, PrepareSubagentSpawnRequest),
        Hook::ResolveSubagentSpawn => unary!(resolve_subagent_spawn, ResolveSubagentSpawnRequest),
        Hook::EndSubagent => unary!(end_subagent, EndSubagentRequest),
        Hook::Dispose => unary!(dispose, DisposeRequest),
        Hook::Describe | Hook::Ingest | Hook::Assemble | Hook::Compact => panic!("{hook}"),
    }
}

#[tokio::test]
async fn r1_1_an_absent_method_is_refused_before_anything_is_read() {
    let (stub, _running) = serve(ScriptedEngine::default()).await;
    for hook in Hook::ALL
        .into_iter()
        .filter(|hook| !hook.profile().required)
    {
        let refused = empty_call(&stub, hook).await;
        assert_eq!(reason_of(&refused), Some(Reason::MethodAbsent), "{hook}");
        assert_eq!(status::metadata(&refused)["method"], hook.name());
    }
}

#[tokio::test]
async fn r1_1_each_method_is_there_once_it_is_advertised() {
    for hook in Hook::ALL
        .into_iter()
        .filter(|hook| !hook.profile().required)
    {
        let engine = RecordingEngine::new().with_methods([hook]);
        let (stub, _running) = serve(engine).await;
        if hook.profile().streaming {
            // Its stream opens; the others' do not.
            let maintain = open!(stub, maintain);
            let maintain: Result<crate::harness::Raw<v1::MaintainRequest, _>, _> = maintain;
            assert_eq!(maintain.is_ok(), hook == Hook::Maintain);
        } else {
            let refused = empty_call(&stub, hook).await;
            assert_eq!(reason_of(&refused), Some(Reason::InvalidRequest), "{hook}");
        }
    }
}

#[tokio::test]
async fn r1_1_an_engine_that_denies_what_it_advertises_is_absent_too() {
    let engine = RecordingEngine::new()
        .with_methods([])
        .advertising([Hook::Maintain, Hook::Dispose]);
    let (stub, _running) = serve(engine).await;
    let mut maintain = open!(stub, maintain).unwrap();
    let start = MaintainStart {
        call: call(),
        request: <_>::default(),
    };
    maintain.send(HostFrame::Start(Box::new(start))).await;
    let refused = maintain
        .result::<contextwire_proto::convert::MaintainResult>()
        .await
        .unwrap_err();
    assert_eq!(reason_of(&refused), Some(Reason::MethodAbsent));
    let dispose = v1::DisposeRequest {
        call: Some(call().into()),
        host_instance: "h1".to_owned(),
    };
    let refused = stub.clone().dispose(dispose).await.unwrap_err();
    assert_eq!(reason_of(&refused), Some(Reason::MethodAbsent));
}
