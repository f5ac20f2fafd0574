//! Calls in the wire's terms: who calls, with which lists.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, Bootstrap, RuntimeContext, Transcript, TranscriptSync,
};
use contextwire_proto::CallContext;
use contextwire_proto::convert::{
    AfterTurnStart, AssembleStart, BootstrapStart, CommitTurnRequest, CompactStart, DisposeRequest,
    EndSubagentRequest, IngestBatchRequest, IngestRequest, MaintainStart,
    PrepareSubagentSpawnRequest, ResolveSubagentSpawnRequest,
};
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::sync::PartLimits;

use super::upload::{Peer, Upload};
use super::{Debt, SyncLayer, turn};
use crate::affinity::affinity;
use crate::call::Call;
use crate::compat::Adaptation;
use crate::request::EngineRequest;
use crate::trace_parent::TraceParent;
use crate::transport::{Metadata, WireCall, WireRequest};

/// Room in the first frame for everything beside the transcript and the texts counted below.
const START_ROOM: usize = 16 << 10;

/// What the lists of a call need to know of it.
struct Lists<'a> {
    layer: &'a SyncLayer,
    call: CallContext,
    full: bool,
    max_bytes: usize,
    log: Option<Transcript>,
    debt: Debt,
}

impl SyncLayer {
    pub(super) fn wire_call(&self, call: Call, engine: &EngineDescription) -> WireCall {
        self.book.follow(&call.session);
        let idle = idle(&call, engine);
        let mut cx = CallContext::new(call.hook_id, call.session.clone());
        cx.attempt = call.attempt;
        cx.budget = Some(call.share());
        cx.order = call.order;
        cx.abandoned_hooks = call.abandoned_hooks;
        cx.scope = call.scope;
        cx.operation = call.operation;
        cx.log_head = call.log.as_ref().map(Transcript::state);
        let max_bytes = self.max_bytes(engine);
        let lists = Lists {
            layer: self,
            call: cx,
            full: engine.info.transcript_sync == TranscriptSync::Full,
            max_bytes,
            log: call.log,
            debt: call.traffic.debt().clone(),
        };
        WireCall {
            metadata: Metadata {
                trace: call.trace.map(TraceParent::child),
                affinity: affinity(&self.affinity_key, &call.session),
            },
            hook: call.request.hook(),
            attempt: call.attempt,
            request: lists.wire_request(call.request),
            hook_id: call.hook_id,
            host: call.host,
            share_ends: call.share_ends,
            idle,
            max_bytes,
            traffic: call.traffic,
            adaptation: Adaptation::default(),
        }
    }

    /// Both sides advertise limits, the smaller holds.
    fn max_bytes(&self, engine: &EngineDescription) -> usize {
        let theirs = engine
            .limits
            .max_message_bytes
            .and_then(|bytes| usize::try_from(bytes).ok());
        theirs.unwrap_or(usize::MAX).min(self.max_message_bytes)
    }
}

/// How long the engine may be silent while the host owes it nothing (R7.1). A caller that waits
/// longer than the hook's own deadline bears as much longer a silence.
fn idle(call: &Call, engine: &EngineDescription) -> Option<Duration> {
    let profile = call.hook().profile();
    let usual = engine.info.max_silence.or(profile.idle)?;
    let deadline = call.request.deadline().as_secs_f64();
    let patience = call.budget.as_secs_f64() / deadline;
    Some(usual.mul_f64(patience.clamp(1.0, 1000.0)))
}

impl Lists<'_> {
    fn wire_request(self, request: EngineRequest) -> WireRequest {
        /// The wire's form of a request that carries no list.
        macro_rules! bare {
            ($wire:ident, $request:expr) => {
                Box::new($wire {
                    call: self.call,
                    request: $request,
                })
            };
        }
        match request {
            EngineRequest::Assemble(request) => self.assemble(request),
            EngineRequest::Bootstrap(request) => self.bootstrap(request),
            EngineRequest::AfterTurn(request) => self.after_turn(request),
            EngineRequest::Compact(request) => {
                let upload = self.on_demand();
                WireRequest::Compact(bare!(CompactStart, request), upload)
            }
            EngineRequest::Maintain(request) => {
                let upload = self.on_demand();
                WireRequest::Maintain(bare!(MaintainStart, request), upload)
            }
            EngineRequest::Ingest(request) => WireRequest::Ingest(bare!(IngestRequest, request)),
            EngineRequest::IngestBatch(request) => {
                WireRequest::IngestBatch(bare!(IngestBatchRequest, request))
            }
            EngineRequest::CommitTurn(request) => {
                let beside = START_ROOM + context(request.runtime_context.as_ref());
                let request = turn::fit(*request, self.max_bytes.saturating_sub(beside));
                WireRequest::CommitTurn(bare!(CommitTurnRequest, request))
            }
            EngineRequest::PrepareSubagentSpawn(request) => {
                WireRequest::PrepareSubagentSpawn(bare!(PrepareSubagentSpawnRequest, request))
            }
            EngineRequest::ResolveSubagentSpawn(request) => {
                WireRequest::ResolveSubagentSpawn(bare!(ResolveSubagentSpawnRequest, request))
            }
            EngineRequest::EndSubagent(request) => {
                WireRequest::EndSubagent(bare!(EndSubagentRequest, request))
            }
            EngineRequest::Dispose(request) => WireRequest::Dispose(bare!(DisposeRequest, request)),
        }
    }

    fn assemble(self, request: Assemble) -> WireRequest {
        let beside = [
            text(request.prompt.as_ref()),
            text(request.memory_prompt.as_ref()),
            context(request.runtime_context.as_ref()),
        ];
        let peer = self.peer(&beside);
        let view = request.transcript.clone();
        let (upload, update) = Upload::of_view(&peer, request.site, view, self.log);
        let start = AssembleStart {
            call: self.call,
            request,
            update,
        };
        WireRequest::Assemble(Box::new(start), Box::new(upload))
    }

    fn bootstrap(self, request: Bootstrap) -> WireRequest {
        let peer = self.peer(&[context(request.runtime_context.as_ref())]);
        let (upload, update) = Upload::of_log(&peer, request.transcript.clone());
        let start = BootstrapStart {
            call: self.call,
            request,
            update,
        };
        WireRequest::Bootstrap(Box::new(start), Box::new(upload))
    }

    fn after_turn(self, request: AfterTurn) -> WireRequest {
        let beside = [
            text(request.auto_compaction_summary.as_ref()),
            context(request.runtime_context.as_ref()),
        ];
        let peer = self.peer(&beside);
        let (upload, update) = Upload::of_log(&peer, request.transcript.clone());
        let start = AfterTurnStart {
            call: self.call,
            request,
            update,
        };
        WireRequest::AfterTurn(Box::new(start), Box::new(upload))
    }

    fn on_demand(&self) -> Box<Upload> {
        Box::new(Upload::on_demand(&self.peer(&[]), self.log.clone()))
    }

    /// The receiving end, with room in the first frame for what stands beside the list.
    fn peer(&self, beside: &[usize]) -> Peer {
        let beside = START_ROOM + beside.iter().sum::<usize>();
        Peer {
            book: Arc::clone(&self.layer.book),
            session: self.call.session.id.clone(),
            full: self.full,
            limits: PartLimits {
                first: self.max_bytes.saturating_sub(beside),
                rest: self.max_bytes,
            },
            debt: self.debt.clone(),
        }
    }
}

fn text(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

/// The parts of a context that have no bound.
fn context(context: Option<&RuntimeContext>) -> usize {
    let Some(context) = context else { return 0 };
    let cache = context.prompt_cache.as_ref().map_or(0, bytes);
    let extra = context
        .extra
        .iter()
        .map(|(key, value)| key.len() + bytes(value) + TAG_BYTES);
    cache + extra.sum::<usize>()
}

/// A key and its value besides their bytes at most.
const TAG_BYTES: usize = 16;

fn bytes(value: impl AsRef<[u8]>) -> usize {
    value.as_ref().len()
}
