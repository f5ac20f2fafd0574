//! What one new message costs on a long history, and what it saves.

use std::time::Duration;

use contextwire_client::EngineClient;
use contextwire_engine::{Assemble, Session, Transcript};
use tokio::time::Instant;

use super::apart::Apart;
use super::conversation::{by_engine, message, session, transcript};
use super::engine::KeepAll;
use super::measure::{Measured, Plan, Subject, pair};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "sync",
    about: "one new message on 100 to 100,000 messages, and against a full send",
    run: |bench| Box::pin(run(bench)),
};

/// Payload of each message in bytes: 10,000 of them are 16 MB.
const MESSAGE_BYTES: usize = 1_600;

/// Long enough to upload the longest history.
const DEADLINE: Duration = Duration::from_mins(1);

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);
    length(&bench, &mut rows).await?;
    full_send(&bench, &mut rows).await?;
    Ok(rows.into_rows())
}

/// Neither bytes nor time depend on how long the conversation is (R3.11).
async fn length(bench: &Bench, rows: &mut Rows) -> anyhow::Result<()> {
    let server = Apart::engine(KeepAll).await?;
    let client = EngineClient::new(server.target())?;
    let history = |len| {
        bench.says(format!("a history of {len} messages"));
        Growing::new(&client, transcript(len, MESSAGE_BYTES))
    };
    let (mut shortest, mut longest) = (history(100)?, history(100_000)?);
    let (mut short, mut long) = (history(1_000)?, history(10_000)?);
    let times = pair(plan(bench), &mut longest, &mut shortest).await?;
    pair(few(), &mut long, &mut short).await?;
    let sent = [&shortest, &short, &long, &longest].map(Growing::bytes);
    let most = sent.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let least = sent.into_iter().fold(f64::INFINITY, f64::min);
    rows.add(
        "one new message on 10^2, 10^3, 10^4, 10^5: most bytes, against fewest",
        "B",
        Measured::against(most, least),
        Target::RatioAtMost(1.05),
    );
    rows.add(
        "one new message on 10^5, p50, against 10^2",
        "µs",
        times,
        Target::RatioAtMost(2.0),
    );
    Ok(())
}

/// What a host pays that sends everything each time.
async fn full_send(bench: &Bench, rows: &mut Rows) -> anyhow::Result<()> {
    bench.says("full sends of 10000 messages");
    let server = Apart::engine(KeepAll).await?;
    let client = EngineClient::new(server.target())?;
    let list = transcript(10_000, MESSAGE_BYTES);
    let mut growing = Growing::new(&client, list.clone())?;
    let mut full = Full {
        client,
        transcript: list,
        sessions: 0,
        sent: 0,
    };
    let plan = Plan {
        batches: bench.effort.pick(4, 1),
        candidate: 1,
        baseline: 25,
    };
    let times = pair(plan, &mut full, &mut growing).await?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = Measured::against(full.sent as f64, growing.bytes());
    rows.add(
        "a full send of 10^4, bytes, against one new message",
        "B",
        bytes,
        Target::RatioAtLeast(200.0),
    );
    rows.add(
        "a full send of 10^4, p50, against one new message",
        "µs",
        times,
        Target::RatioAtLeast(30.0),
    );
    Ok(())
}

fn plan(bench: &Bench) -> Plan {
    Plan {
        batches: bench.effort.pick(10, 2),
        candidate: 20,
        baseline: 20,
    }
}

/// Where only the bytes count.
fn few() -> Plan {
    Plan {
        batches: 1,
        candidate: 2,
        baseline: 2,
    }
}

/// A session that gets one message more with each call.
struct Growing {
    client: EngineClient,
    session: Session,
    transcript: Transcript,
    /// Bytes of the newest call.
    sent: u64,
}

impl Growing {
    fn new(client: &EngineClient, transcript: Transcript) -> anyhow::Result<Self> {
        Ok(Self {
            client: client.clone(),
            session: session(format!("growing from {}", transcript.len()))?,
            transcript,
            sent: 0,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn bytes(&self) -> f64 {
        self.sent as f64
    }
}

impl Subject for Growing {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        self.transcript
            .push(message(self.transcript.len(), MESSAGE_BYTES));
        let (elapsed, sent) = assemble(&self.client, &self.session, &self.transcript).await?;
        self.sent = sent;
        Ok(elapsed)
    }
}

/// A session that the engine has never seen, with each call.
struct Full {
    client: EngineClient,
    transcript: Transcript,
    sessions: usize,
    sent: u64,
}

impl Subject for Full {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        self.sessions += 1;
        let session = session(format!("full {}", self.sessions))?;
        let (elapsed, sent) = assemble(&self.client, &session, &self.transcript).await?;
        self.sent = sent;
        Ok(elapsed)
    }
}

async fn assemble(
    client: &EngineClient,
    session: &Session,
    list: &Transcript,
) -> anyhow::Result<(Duration, u64)> {
    let request = Assemble {
        transcript: list.clone(),
        ..Assemble::default()
    };
    let started = Instant::now();
    let served = client.assemble_within(session, request, DEADLINE).await?;
    let elapsed = started.elapsed();
    Ok((elapsed, by_engine(served)?.traffic.bytes_sent()))
}
