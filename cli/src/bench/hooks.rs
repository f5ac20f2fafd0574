//! What a hook costs beside what gRPC costs anyway.

use std::time::Duration;

use contextwire_client::EngineClient;
use contextwire_engine::{
    Assemble, Assembled, Effect, Hook, HookId, Ingest, Order, Reply, Session,
};
use contextwire_legacy::LegacyEngine;
use contextwire_proto::call::CallContext;
use contextwire_proto::convert::{AssembleResult, AssembleStart, IngestRequest};
use contextwire_proto::frame::{EngineFrame, HostFrame};
use contextwire_proto::sync::{List, Part, TranscriptUpdate, UpdateBody, diff};
use contextwire_proto::{limits, v1};
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

use super::apart::Apart;
use super::bare::{self, Bare, BareStub};
use super::conversation::{by_engine, message, session, transcript};
use super::engine::KeepAll;
use super::measure::{Plan, Subject, pair};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "hooks",
    about: "a hook over a socket, against bare tonic with the same bytes",
    run: |bench| Box::pin(run(bench)),
};

/// Payload of the ingested message in bytes.
const INGEST_BYTES: usize = 1_024;
/// The assembled list.
const MESSAGES: usize = 50;
/// Payload of each of its messages in bytes.
const MESSAGE_BYTES: usize = 1_600;

/// The session of a single host.
const SESSION: &str = "assemble";
/// What gRPC puts before each message.
const FRAMING_BYTES: usize = 5;

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let plan = Plan {
        batches: bench.effort.pick(80, 8),
        candidate: 25,
        baseline: 25,
    };
    let request = keep_all();
    let bare = Apart::bare(Bare {
        assembled: result(&request),
        ..Bare::default()
    })
    .await?;
    let mut rows = Rows::of(GROUP.name);

    bench.says("Ingest");
    let server = Apart::engine(KeepAll).await?;
    let mut ours = OurIngest::new(&server)?;
    let mut theirs = BareIngest {
        stub: bare::connect(&bare).await?,
        request: ours.wire(),
    };
    ours.must_send(theirs.request.encoded_len()).await?;
    let measured = pair(plan, &mut ours, &mut theirs).await?;
    let target = Target::RatioAtMost(1.3);
    rows.add(
        "Ingest of 1 KB, p50, against a bare unary echo",
        "µs",
        measured,
        target,
    );

    bench.says("Assemble");
    let server = Apart::engine(LegacyEngine::default()).await?;
    let client = EngineClient::new(server.target())?;
    let mut ours = OurAssemble::new(&client, SESSION, request)?;
    let mut theirs = BareAssemble {
        stub: bare::connect(&bare).await?,
        start: ours.wire(),
    };
    ours.must_send(theirs.start.encoded_len()).await?;
    let measured = pair(plan, &mut ours, &mut theirs).await?;
    let target = Target::RatioAtMost(1.5);
    rows.add(
        "Assemble keeping 50 messages, p50, against a bare bidi echo",
        "µs",
        measured,
        target,
    );
    Ok(rows.into_rows())
}

/// An Assemble as a host sends it, of a list that does not change.
pub(super) fn keep_all() -> Assemble {
    Assemble {
        transcript: transcript(MESSAGES, MESSAGE_BYTES),
        ..Assemble::default()
    }
}

/// The frame with which the legacy engine answers.
pub(super) fn result(request: &Assemble) -> v1::AssembleResponse {
    EngineFrame::Result(Box::new(AssembleResult {
        reply: Reply::default(),
        outcome: request.reply(Assembled::keep(0..MESSAGES)),
    }))
    .into()
}

/// The call as our client's first one of a session says it: reads carry the session's number,
/// everything else counts.
fn call(hook: Hook, session: &Session, client: &EngineClient) -> CallContext {
    let counts = hook.profile().effect != Effect::Read;
    CallContext {
        order: Some(Order {
            host_epoch: client.host_epoch(),
            session_seq: Some(u64::from(counts)),
        }),
        budget: Some(limits::share(hook.profile().deadline)),
        ..CallContext::new(HookId::mint(), session.clone())
    }
}

struct OurIngest {
    client: EngineClient,
    session: Session,
    request: Ingest,
}

impl OurIngest {
    fn new(server: &Apart) -> anyhow::Result<Self> {
        Ok(Self {
            client: EngineClient::new(server.target())?,
            session: session("ingest")?,
            request: Ingest {
                message: message(0, INGEST_BYTES),
                is_heartbeat: false,
            },
        })
    }

    /// The request on the wire.
    fn wire(&self) -> v1::IngestRequest {
        IngestRequest {
            call: call(Hook::Ingest, &self.session, &self.client),
            request: self.request.clone(),
        }
        .into()
    }

    /// The baseline is one only for the same bytes.
    async fn must_send(&self, bytes: usize) -> anyhow::Result<()> {
        let served = self
            .client
            .ingest(&self.session, self.request.clone())
            .await?;
        same_bytes(by_engine(served)?.traffic.bytes_sent(), bytes)
    }
}

impl Subject for OurIngest {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let request = self.request.clone();
        let started = Instant::now();
        let served = self.client.ingest(&self.session, request).await?;
        let elapsed = started.elapsed();
        anyhow::ensure!(by_engine(served)?.result.ingested, "nothing was ingested");
        Ok(elapsed)
    }
}

struct BareIngest {
    stub: BareStub,
    request: v1::IngestRequest,
}

impl Subject for BareIngest {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let request = self.request.clone();
        let started = Instant::now();
        let answer = self.stub.ingest(request).await?;
        let elapsed = started.elapsed();
        anyhow::ensure!(answer.into_inner().ingested, "nothing was ingested");
        Ok(elapsed)
    }
}

/// A list that does not change, again and again.
pub(super) struct OurAssemble {
    client: EngineClient,
    session: Session,
    request: Assemble,
}

impl OurAssemble {
    pub(super) fn new(
        client: &EngineClient,
        id: impl Into<String>,
        request: Assemble,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            client: client.clone(),
            session: session(id)?,
            request,
        })
    }

    /// The first frame on the wire, once the engine has the list.
    pub(super) fn wire(&self) -> v1::AssembleRequest {
        let list = &self.request.transcript;
        let update = TranscriptUpdate {
            seq: 1,
            list: List::View,
            body: UpdateBody::Part(Part {
                base: list.state(),
                segments: diff(list, list),
                head: list.state(),
                more: false,
            }),
        };
        let start = AssembleStart {
            call: call(Hook::Assemble, &self.session, &self.client),
            request: self.request.clone(),
            update,
        };
        HostFrame::Start(Box::new(start)).into()
    }

    /// The baseline is one only for the same bytes.
    pub(super) async fn must_send(&mut self, bytes: usize) -> anyhow::Result<()> {
        // The first call uploads the list.
        self.call().await?;
        let served = self
            .client
            .assemble(&self.session, self.request.clone())
            .await?;
        same_bytes(by_engine(served)?.traffic.bytes_sent(), bytes)
    }
}

impl Subject for OurAssemble {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let request = self.request.clone();
        let started = Instant::now();
        let served = self.client.assemble(&self.session, request).await?;
        let elapsed = started.elapsed();
        let kept = by_engine(served)?.result.messages().count();
        anyhow::ensure!(kept == MESSAGES, "{kept} messages came back");
        Ok(elapsed)
    }
}

/// The same frames with nothing behind them.
pub(super) struct BareAssemble {
    pub(super) stub: BareStub,
    pub(super) start: v1::AssembleRequest,
}

impl Subject for BareAssemble {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let start = self.start.clone();
        let started = Instant::now();
        // The host's side stays open until the result, as the contract has it (R1.4).
        let (frames, outgoing) = mpsc::channel(1);
        frames.send(start).await?;
        let opened = self.stub.assemble(ReceiverStream::new(outgoing)).await?;
        let mut answers = opened.into_inner();
        let result = answers.message().await?;
        drop(frames);
        let end = answers.message().await?;
        let elapsed = started.elapsed();
        anyhow::ensure!(result.is_some() && end.is_none(), "not one result");
        Ok(elapsed)
    }
}

fn same_bytes(sent: u64, bare: usize) -> anyhow::Result<()> {
    let bare = (bare + FRAMING_BYTES) as u64;
    anyhow::ensure!(
        sent == bare,
        "the baseline sends {bare} bytes where the client sends {sent}"
    );
    Ok(())
}
