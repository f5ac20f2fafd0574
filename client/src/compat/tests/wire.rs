//! The far end: requests on the wire, judged by the test.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleReply, Bootstrap, Bootstrapped, Compact, Compacted, Hook, Ingest,
    IngestBatch, Ingested, IngestedBatch, KnownProjection, Maintain, Maintained, Message,
    RuntimeContext, RuntimeSettings, SessionTarget, TokenBudget,
};
use contextwire_proto::frame::HostFrame;
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::omit::set_fields;
use contextwire_proto::schema::RequestField;
use contextwire_proto::v1;
use futures_util::future::BoxFuture;
use prost::Message as _;
use tokio::time::Instant;
use tonic::Status;
use tower::{Layer, Service, ServiceExt};

use crate::call::{Answer, Call};
use crate::classify::classify;
use crate::compat::{Adaptation, Compat, CompatLayer, Strip};
use crate::describe::KnownCall;
use crate::error::CallError;
use crate::request::{EngineReply, EngineRequest};
use crate::script::session;
use crate::sync::{Sync, SyncLayer};
use crate::transport::{WireCall, WireReply, WireRequest};

/// What arrived.
type Seen = Arc<Mutex<Vec<(Hook, Vec<u8>)>>>;

type Judge = Arc<dyn Fn(Hook, &[u8]) -> Result<(), Status> + Send + std::marker::Sync>;

/// An engine that answers what its judge lets pass. Clones are one.
#[derive(Clone)]
pub(super) struct Engine {
    judge: Judge,
    slow: Duration,
    seen: Seen,
}

/// The layers between a call and the engine's end of the wire.
#[derive(Clone)]
pub(super) struct Stack {
    service: Compat<Sync<Engine>>,
    engine: Arc<EngineDescription>,
}

impl Stack {
    pub(super) async fn call(&self, call: Call) -> Result<Answer, CallError> {
        let known = KnownCall {
            call,
            engine: Arc::clone(&self.engine),
            adaptation: Adaptation::default(),
        };
        self.service.clone().oneshot(known).await
    }

    /// The same host, after the engine described itself anew.
    pub(super) fn describes(&self, engine: EngineDescription) -> Self {
        Self {
            service: self.service.clone(),
            engine: Arc::new(engine),
        }
    }
}

impl Engine {
    pub(super) fn new(
        judge: impl Fn(Hook, &[u8]) -> Result<(), Status> + Send + std::marker::Sync + 'static,
    ) -> Self {
        Self {
            judge: Arc::new(judge),
            slow: Duration::ZERO,
            seen: Arc::default(),
        }
    }

    /// The same, taking this long.
    pub(super) fn slow(self, slow: Duration) -> Self {
        Self { slow, ..self }
    }

    /// A new host of it.
    pub(super) fn describes(&self, engine: EngineDescription) -> Stack {
        self.stack(engine, Strip::Reactively)
    }

    pub(super) fn stack(&self, engine: EngineDescription, strip: Strip) -> Stack {
        let sync = SyncLayer::new(1 << 20).layer(self.clone());
        Stack {
            service: CompatLayer::new(strip).layer(sync),
            engine: Arc::new(engine),
        }
    }

    /// What arrived, in order.
    pub(super) fn requests(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|(_, request)| request.clone()).collect()
    }

    /// The numbers of the tries that arrived.
    pub(super) fn attempts(&self) -> Vec<u32> {
        self.calls().iter().map(|call| call.attempt).collect()
    }

    pub(super) fn budgets(&self) -> Vec<u64> {
        self.calls().iter().map(|call| call.budget_ms).collect()
    }

    /// The different hooks that arrived.
    pub(super) fn hook_ids(&self) -> std::collections::BTreeSet<String> {
        self.calls().into_iter().map(|call| call.hook_id).collect()
    }

    fn calls(&self) -> Vec<v1::CallContext> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .map(|(hook, request)| call_of(*hook, request))
            .collect()
    }
}

/// Whether a request on the wire sets a field.
pub(super) fn is_set(hook: Hook, request: &[u8], path: &str) -> bool {
    let field = RequestField {
        path: path.to_owned(),
        since: 0,
        critical: false,
    };
    !set_fields(hook, &[field], request).unwrap().is_empty()
}

impl Service<WireCall> for Engine {
    type Response = WireReply;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<WireReply, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: WireCall) -> Self::Future {
        let engine = self.clone();
        Box::pin(async move {
            let (hook, request, result) = written(call.request, &call.adaptation)?;
            let outcome = (engine.judge)(hook, &request);
            engine.seen.lock().unwrap().push((hook, request));
            tokio::time::sleep(engine.slow).await;
            outcome.map_err(|status| classify(status, Instant::now() + Duration::from_secs(1)))?;
            Ok(WireReply {
                result,
                said: <_>::default(),
            })
        })
    }
}

/// The hook, its request as bytes, and a good answer.
fn written(
    request: WireRequest,
    adaptation: &Adaptation,
) -> Result<(Hook, Vec<u8>, EngineReply), CallError> {
    /// The first frame of a stream.
    macro_rules! frame {
        ($wire:ident, $start:ident) => {
            adaptation
                .apply(v1::$wire::from(HostFrame::Start($start)))?
                .encode_to_vec()
        };
    }
    /// A unary request.
    macro_rules! unary {
        ($wire:ident, $request:ident) => {
            adaptation
                .apply(v1::$wire::from(*$request))?
                .encode_to_vec()
        };
    }
    use EngineReply as R;
    use WireRequest as W;
    let (bytes, reply) = match request {
        W::Assemble(start, _) => (
            frame!(AssembleRequest, start),
            R::Assembled(AssembleReply::default().into()),
        ),
        W::Bootstrap(start, _) => (
            frame!(BootstrapRequest, start),
            R::Bootstrapped(Bootstrapped::default()),
        ),
        W::AfterTurn(start, _) => (frame!(AfterTurnRequest, start), R::TurnNoted(())),
        W::Compact(start, _) => (
            frame!(CompactRequest, start),
            R::Compacted(Compacted::declined("as the test says")),
        ),
        W::Maintain(start, _) => (
            frame!(MaintainRequest, start),
            R::Maintained(Maintained::default()),
        ),
        W::Ingest(request) => (
            unary!(IngestRequest, request),
            R::Ingested(Ingested { ingested: true }),
        ),
        W::IngestBatch(request) => (
            unary!(IngestBatchRequest, request),
            R::IngestedBatch(IngestedBatch { ingested_count: 1 }),
        ),
        W::CommitTurn(_)
        | W::PrepareSubagentSpawn(_)
        | W::ResolveSubagentSpawn(_)
        | W::EndSubagent(_)
        | W::Dispose(_) => panic!("not in these tests"),
    };
    Ok((hook_of(&reply), bytes, reply))
}

fn hook_of(reply: &EngineReply) -> Hook {
    match reply {
        EngineReply::Assembled(_) => Hook::Assemble,
        EngineReply::Bootstrapped(_) => Hook::Bootstrap,
        EngineReply::TurnNoted(()) => Hook::AfterTurn,
        EngineReply::Compacted(_) => Hook::Compact,
        EngineReply::Maintained(_) => Hook::Maintain,
        EngineReply::Ingested(_) => Hook::Ingest,
        EngineReply::IngestedBatch(_) => Hook::IngestBatch,
        EngineReply::TurnCommitted(_)
        | EngineReply::SpawnPrepared(_)
        | EngineReply::SpawnResolved(())
        | EngineReply::SubagentEnded(())
        | EngineReply::Disposed(()) => panic!("not in these tests"),
    }
}

/// The call in a request; it is the first field of each, inside of the start where there is one.
fn call_of(hook: Hook, request: &[u8]) -> v1::CallContext {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Outer {
        #[prost(bytes = "vec", tag = "1")]
        first: Vec<u8>,
    }
    let outer = Outer::decode(request).unwrap().first;
    if hook.profile().streaming {
        let start = Outer::decode(&*outer).unwrap().first;
        return v1::CallContext::decode(&*start).unwrap();
    }
    v1::CallContext::decode(&*outer).unwrap()
}

/// A call of a hook with everything set that a host can set.
pub(super) fn everything(hook: Hook) -> Call {
    let runtime_settings = Some(RuntimeSettings::default());
    let runtime_context = Some(RuntimeContext {
        cwd: Some("/w".to_owned()),
        ..RuntimeContext::default()
    });
    macro_rules! with_settings {
        ($request:ident) => {
            $request {
                runtime_settings,
                runtime_context,
                ..$request::default()
            }
            .into()
        };
    }
    let message = Message::from_payload("{}");
    let request: EngineRequest = match hook {
        Hook::Assemble => Assemble {
            runtime_settings,
            runtime_context,
            token_budget: TokenBudget::new(9_000),
            prompt: Some("hello".to_owned()),
            known_projection: Some(KnownProjection {
                epoch: "e".to_owned(),
                fingerprint: None,
            }),
            ..Assemble::default()
        }
        .into(),
        Hook::Bootstrap => with_settings!(Bootstrap),
        Hook::Compact => with_settings!(Compact),
        Hook::AfterTurn => with_settings!(AfterTurn),
        Hook::Maintain => with_settings!(Maintain),
        Hook::Ingest => Ingest {
            message,
            is_heartbeat: true,
        }
        .into(),
        Hook::IngestBatch => IngestBatch {
            messages: vec![message],
            is_heartbeat: false,
        }
        .into(),
        Hook::Describe
        | Hook::CommitTurn
        | Hook::PrepareSubagentSpawn
        | Hook::ResolveSubagentSpawn
        | Hook::EndSubagent
        | Hook::Dispose => panic!("not in these tests"),
    };
    let mut session = session("s");
    session.key = Some("agent:main:main".to_owned());
    session.target = Some(SessionTarget {
        agent_id: Some("main".to_owned()),
        ..SessionTarget::default()
    });
    let log = contextwire_engine::Transcript::new();
    Call::new(session, request, Duration::from_secs(5)).with_log(Some(log))
}
