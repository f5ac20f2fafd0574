//! How soon the host answers itself when its engine does not.

use std::time::Duration;

use contextwire_client::{ClientOptions, EngineClient, Policy, Target as Address};
use contextwire_engine::{Assemble, Session};
use contextwire_proto::limits;
use tokio::time::Instant;

use super::apart::{Apart, Refusing};
use super::conversation::{in_process, session, transcript};
use super::engine::Hanging;
use super::measure::{Measured, Subject, alone, micros};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "fallback",
    about: "the in-process answer while nobody listens, a breaker is open, or an engine hangs",
    run: |bench| Box::pin(run(bench)),
};

/// The list of each call.
const MESSAGES: usize = 50;
/// Payload of each of its messages in bytes.
const MESSAGE_BYTES: usize = 1_600;

const PATIENCE: Duration = Duration::from_secs(5);
const OVERRUN: Duration = Duration::from_millis(100);

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);

    bench.says("refused connections");
    let nobody = Refusing::new()?;
    let mut refused = Failing::new(nobody.target(), (Policy::Direct, PATIENCE, "UNREACHABLE"))?;
    let measured = alone(bench.effort.pick(1_000, 100), &mut refused).await?;
    rows.add(
        "refused connection, answer p50",
        "ms",
        millis(measured),
        Target::Under(1.0),
    );

    bench.says("an open breaker");
    let mut left_alone =
        Failing::new(nobody.target(), (Policy::Guarded, PATIENCE, "BREAKER_OPEN"))?;
    let measured = alone(bench.effort.pick(2_000, 200), &mut left_alone).await?;
    rows.add(
        "breaker open, answer p50",
        "µs",
        measured,
        Target::Under(100.0),
    );

    bench.says("overruns");
    let server = Apart::engine(Hanging).await?;
    let mut overrun = Failing::new(
        server.target(),
        (Policy::Direct, OVERRUN, "DEADLINE_EXCEEDED"),
    )?;
    let measured = alone(bench.effort.pick(20, 3), &mut overrun).await?;
    // Not before the engine had its share, and not after the host's caller gave up.
    let due = [limits::share(OVERRUN), OVERRUN].map(|at| micros(at) / 1_000.0);
    rows.add(
        "overrun of a 100 ms deadline, answer p50",
        "ms",
        millis(measured),
        Target::Within(due[0], due[1]),
    );
    Ok(rows.into_rows())
}

fn millis(measured: Measured) -> Measured {
    Measured::alone(measured.value / 1_000.0)
}

/// Calls whose engine fails in one way.
struct Failing {
    client: EngineClient,
    session: Session,
    request: Assemble,
    deadline: Duration,
    code: &'static str,
}

impl Failing {
    /// Under `Direct` no breaker ever answers, under `Guarded` soon nobody else does.
    fn new(
        target: &Address,
        (policy, deadline, code): (Policy, Duration, &'static str),
    ) -> anyhow::Result<Self> {
        let options = ClientOptions {
            policy,
            ..ClientOptions::default()
        };
        Ok(Self {
            client: EngineClient::with_options(target, &options)?,
            session: session("failing")?,
            request: Assemble {
                transcript: transcript(MESSAGES, MESSAGE_BYTES),
                ..Assemble::default()
            },
            deadline,
            code,
        })
    }
}

impl Subject for Failing {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        loop {
            let request = self.request.clone();
            let started = Instant::now();
            let served = self
                .client
                .assemble_within(&self.session, request, self.deadline)
                .await?;
            let elapsed = started.elapsed();
            // Before a breaker opens, and when it is time to look again, a call goes out.
            let goes_out =
                self.code == "BREAKER_OPEN" && in_process(&served, "UNREACHABLE").is_ok();
            if !goes_out {
                in_process(&served, self.code)?;
                return Ok(elapsed);
            }
        }
    }
}
