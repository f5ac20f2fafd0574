//! Methods that an engine does not have (R1.1).

use contextwire_proto::{Reason, v1};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Response, Status, Streaming};

use crate::harness::{Place, Stub, TestEngine, refusal, soon, stub};

type Answers = Vec<(&'static str, Status)>;
type Opened<W> = BoxFuture<'static, Result<Response<Streaming<W>>, Status>>;

async fn unary(stub: &Stub) -> Answers {
    let mut stub = stub.clone();
    let batch = stub
        .ingest_batch(v1::IngestBatchRequest::default())
        .await
        .map(drop);
    let commit = stub
        .commit_turn(v1::CommitTurnRequest::default())
        .await
        .map(drop);
    let prepare = v1::PrepareSubagentSpawnRequest::default();
    let prepare = stub.prepare_subagent_spawn(prepare).await.map(drop);
    let resolve = v1::ResolveSubagentSpawnRequest::default();
    let resolve = stub.resolve_subagent_spawn(resolve).await.map(drop);
    let end = stub
        .end_subagent(v1::EndSubagentRequest::default())
        .await
        .map(drop);
    let dispose = stub.dispose(v1::DisposeRequest::default()).await.map(drop);
    vec![
        ("IngestBatch", batch.unwrap_err()),
        ("CommitTurn", commit.unwrap_err()),
        ("PrepareSubagentSpawn", prepare.unwrap_err()),
        ("ResolveSubagentSpawn", resolve.unwrap_err()),
        ("EndSubagent", end.unwrap_err()),
        ("Dispose", dispose.unwrap_err()),
    ]
}

/// The status of a stream on which the host says nothing.
async fn silent<Q: Send + 'static, W>(
    open: impl FnOnce(Stub, ReceiverStream<Q>) -> Opened<W>,
    stub: &Stub,
) -> Status {
    let (_held_open, frames) = mpsc::channel(1);
    match soon(open(stub.clone(), ReceiverStream::new(frames))).await {
        Err(status) => status,
        Ok(mut answer) => soon(answer.get_mut().message())
            .await
            .err()
            .expect("a status"),
    }
}

async fn streaming(stub: &Stub) -> Answers {
    let bootstrap = silent(
        |mut stub, frames| Box::pin(async move { stub.bootstrap(frames).await }),
        stub,
    );
    let after_turn = silent(
        |mut stub, frames| Box::pin(async move { stub.after_turn(frames).await }),
        stub,
    );
    let maintain = silent(
        |mut stub, frames| Box::pin(async move { stub.maintain(frames).await }),
        stub,
    );
    vec![
        ("Bootstrap", bootstrap.await),
        ("AfterTurn", after_turn.await),
        ("Maintain", maintain.await),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn e_neg_05_absent_methods_say_so_at_once_also_streaming_ones() {
    for place in Place::each() {
        let _engine = place.serve(TestEngine::keep()).await;
        let stub = stub(&place.target());
        for (method, status) in [unary(&stub).await, streaming(&stub).await].concat() {
            assert_eq!(
                refusal(&status),
                (Code::Unimplemented, Some(Reason::MethodAbsent)),
                "{method}"
            );
        }
    }
}
