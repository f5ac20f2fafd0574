//! What a turn of a persistent thread costs: the text once an epoch, next to nothing afterwards.

use std::time::Duration;

use contextwire_client::EngineClient;
use contextwire_client::projection::{
    Assembly, Binding, BindingStep, Content, Planner, ProjectionOptions, Prompt, Step, ToolSurface,
    Turn,
};
use contextwire_engine::{
    Assemble, AssembleReply, ContextProjection, EngineInfo, KnownProjection, Message,
    ProjectionMode, Session, Transcript,
};
use tokio::time::Instant;

use super::apart::Apart;
use super::conversation::{by_engine, message, session, transcript};
use super::engine::Bootstrapping;
use super::measure::{Measured, Subject, alone};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "projection",
    about: "planning and framing of a context of 1 MB, and a turn of a thread that has it",
    run: |bench| Box::pin(run(bench)),
};

/// Payload of each message in bytes.
const MESSAGE_BYTES: usize = 1_600;
/// Messages of a context of 1 MB.
const CONTEXT: usize = 655;
/// Histories that a thread's turn must not notice.
const HISTORIES: [usize; 2] = [100, 10_000];
/// Long enough to upload the longer history.
const DEADLINE: Duration = Duration::from_mins(1);

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);
    bench.says("a context of 1 MB");
    let mut framing = Framing::new();
    let measured = alone(bench.effort.pick(50, 5), &mut framing).await?;
    rows.add(
        "planning and framing of a context of 1 MB, p50",
        "ms",
        Measured::alone(measured.value / 1_000.0),
        Target::Under(10.0),
    );
    let server = Apart::engine(Bootstrapping).await?;
    for length in HISTORIES {
        bench.says(format!("a thread over {length} messages"));
        let client = EngineClient::new(server.target())?;
        let mut thread = Thread::new(client, length)?;
        alone(bench.effort.pick(20, 3), &mut thread).await?;
        rows.add(
            format!("a turn on an unchanged epoch over {length} messages, most bytes both ways"),
            "B",
            Measured::alone(thread.most_bytes()),
            Target::Under(2_049.0),
        );
    }
    Ok(rows.into_rows())
}

/// A decision and a text, from a context that is there.
struct Framing {
    planner: Planner,
    engine: EngineInfo,
    tools: ToolSurface,
    reply: AssembleReply,
    messages: Vec<Message>,
}

impl Framing {
    fn new() -> Self {
        Self {
            planner: planner(),
            engine: EngineInfo::new("bench", "Bench", "1.0.0"),
            tools: ToolSurface::of(["read", "write"]),
            reply: AssembleReply {
                context_projection: Some(projection()),
                ..AssembleReply::default()
            },
            messages: (0..CONTEXT).map(mixed).collect(),
        }
    }
}

impl Subject for Framing {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let step = self.planner.plan(&Turn {
            engine: Some(&self.engine),
            bound: None,
            tools: &self.tools,
            assembly: Assembly::Answered(&self.reply),
        });
        let Step::Run(plan) = step else {
            anyhow::bail!("a context was given and asked for again");
        };
        let Content::Projected(framing) = &plan.content else {
            anyhow::bail!("a thread without a context was not sent one");
        };
        let framed = framing.turn_text(&self.messages, &Prompt::new("go on"));
        let elapsed = started.elapsed();
        anyhow::ensure!(framed.context_chars > 900_000, "the context was cut");
        Ok(elapsed)
    }
}

/// Every third message is a tool's output, which is searched for secrets.
fn mixed(place: usize) -> Message {
    let said = message(place, MESSAGE_BYTES);
    if !place.is_multiple_of(3) {
        return said;
    }
    let text = String::from_utf8_lossy(said.payload()).replace('"', "'");
    let payload = serde_json::json!({
        "role": "toolResult",
        "toolCallId": format!("c{place}"),
        "content": [{"type": "text", "text": text}],
    });
    Message::from_payload(payload.to_string())
}

fn planner() -> Planner {
    Planner::new(ProjectionOptions {
        window_tokens: Some(1_000_000),
        ..ProjectionOptions::default()
    })
}

fn projection() -> ContextProjection {
    ContextProjection {
        mode: ProjectionMode::ThreadBootstrap,
        epoch: Some(Bootstrapping::EPOCH.to_owned()),
        fingerprint: None,
    }
}

/// Turns of a session whose thread shows the epoch, each with one message more.
struct Thread {
    client: EngineClient,
    planner: Planner,
    tools: ToolSurface,
    session: Session,
    list: Transcript,
    bound: Option<Binding>,
    bytes: Vec<u64>,
}

impl Thread {
    fn new(client: EngineClient, length: usize) -> anyhow::Result<Self> {
        Ok(Self {
            client,
            planner: planner(),
            tools: ToolSurface::of(["read", "write"]),
            session: session(format!("thread over {length}"))?,
            list: transcript(length, MESSAGE_BYTES),
            bound: None,
            bytes: Vec::new(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn most_bytes(&self) -> f64 {
        self.bytes
            .iter()
            .max()
            .map_or(f64::NAN, |most| *most as f64)
    }

    fn known(&self) -> Option<KnownProjection> {
        let engine = self.client.active_info();
        self.planner
            .known(engine.as_ref(), self.bound.as_ref(), &self.tools)
    }
}

impl Subject for Thread {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        // What a turn adds is small; the history is not.
        self.list.push(message(self.list.len(), 100));
        let known = self.known();
        let request = Assemble {
            transcript: self.list.clone(),
            known_projection: known.clone(),
            ..Assemble::default()
        };
        let started = Instant::now();
        let served = self
            .client
            .assemble_within(&self.session, request, DEADLINE)
            .await?;
        let elapsed = started.elapsed();
        let answer = Ok(by_engine(served)?);
        let engine = self.client.active_info();
        let step = self.planner.plan(&Turn {
            engine: engine.as_ref(),
            bound: self.bound.as_ref(),
            tools: &self.tools,
            assembly: Assembly::of(&answer, known.as_ref()),
        });
        let Step::Run(plan) = step else {
            anyhow::bail!("the thread was not believed");
        };
        if let BindingStep::Begin(draft) = plan.binding {
            self.bound = Some(draft.confirmed("thread"));
        } else {
            anyhow::ensure!(plan.content == Content::Bare, "a context was sent again");
            let traffic = answer.map(|served| served.traffic)?;
            self.bytes
                .push(traffic.bytes_sent() + traffic.bytes_received());
        }
        Ok(elapsed)
    }
}
