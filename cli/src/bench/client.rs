//! What the client itself costs, and many sessions at once.

use std::time::Duration;

use contextwire_client::{CallError, ClientOptions, EngineClient};
use contextwire_engine::{Compact, Session};
use prost::Message as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::apart::Apart;
use super::bare::{self, Bare};
use super::conversation::session;
use super::engine::KeepAll;
use super::hooks::{BareAssemble, OurAssemble, keep_all, result};
use super::measure::{Measured, ROUNDS, Subject, alone};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "client",
    about: "the client's layers alone, and 64 sessions at once against bare tonic",
    run: |bench| Box::pin(run(bench)),
};

/// Sessions that call at the same time.
const SESSIONS: usize = 64;

/// Largest message of the client whose transport refuses one; Describe has to fit.
const SMALL: usize = 4 * 1_024;

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);
    bench.says("the layers");
    let server = Apart::engine(KeepAll).await?;
    let mut layers = Layers::new(&server)?;
    let measured = alone(bench.effort.pick(5_000, 500), &mut layers).await?;
    rows.add(
        "all layers around a leaf in this process, p50",
        "µs",
        measured,
        Target::Under(8.0),
    );

    bench.says("sessions at once");
    let measured = sessions(bench.effort.pick(100, 10)).await?;
    rows.add(
        format!("{SESSIONS} sessions at once, Assembles a second, against a bare bidi echo"),
        "1/s",
        measured,
        Target::RatioAtLeast(0.55),
    );
    Ok(rows.into_rows())
}

/// Calls whose message is over the limit: each goes through every layer and is made a message of the
/// wire, and the transport refuses it in place of a socket.
struct Layers {
    client: EngineClient,
    session: Session,
    request: Compact,
}

impl Layers {
    fn new(server: &Apart) -> anyhow::Result<Self> {
        let options = ClientOptions {
            max_message_bytes: SMALL,
            ..ClientOptions::default()
        };
        Ok(Self {
            client: EngineClient::with_options(server.target(), &options)?,
            session: session("layers")?,
            request: Compact {
                custom_instructions: Some("x".repeat(SMALL)),
                ..Compact::default()
            },
        })
    }
}

impl Subject for Layers {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let request = self.request.clone();
        let started = Instant::now();
        let outcome = self.client.compact(&self.session, request).await;
        let elapsed = started.elapsed();
        anyhow::ensure!(
            matches!(outcome, Err(CallError::MessageTooLarge { .. })),
            "the transport did not refuse the message: {outcome:?}"
        );
        Ok(elapsed)
    }
}

/// Calls a second of all sessions together, medians over rounds; both sides one connection and the
/// same bytes.
async fn sessions(calls: usize) -> anyhow::Result<Measured> {
    let request = keep_all();
    let echo = Bare {
        assembled: result(&request),
        ..Bare::default()
    };
    let (server, bare) = (Apart::engine(KeepAll).await?, Apart::bare(echo).await?);
    let client = EngineClient::new(server.target())?;
    let stub = bare::connect(&bare).await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..SESSIONS {
        // Ids of one length, so that all send the same bytes.
        let mut our = OurAssemble::new(&client, format!("session-{n:03}"), request.clone())?;
        let their = BareAssemble {
            stub: stub.clone(),
            start: our.wire(),
        };
        our.must_send(their.start.encoded_len()).await?;
        ours.push(our);
        theirs.push(their);
    }
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let our_rate;
        (ours, our_rate) = rate(ours, calls).await?;
        let their_rate;
        (theirs, their_rate) = rate(theirs, calls).await?;
        rounds.push((our_rate, their_rate));
    }
    Ok(Measured::of_rounds(&rounds))
}

/// Calls a second while each of them makes so many, one after the other.
async fn rate<S: Subject + 'static>(
    subjects: Vec<S>,
    calls: usize,
) -> anyhow::Result<(Vec<S>, f64)> {
    let all = subjects.len() * calls;
    let mut running = JoinSet::new();
    let started = Instant::now();
    for mut subject in subjects {
        running.spawn(async move {
            for _ in 0..calls {
                subject.call().await?;
            }
            anyhow::Ok(subject)
        });
    }
    let mut subjects = Vec::new();
    while let Some(done) = running.join_next().await {
        subjects.push(done??);
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let rate = all as f64 / started.elapsed().as_secs_f64();
    Ok((subjects, rate))
}
