//! A whole session through an engine process.

use std::sync::Arc;
use std::time::Duration;

use contextwire_client::EngineClient;
use contextwire_engine::TokenBudget;
use tokio::time::Instant;

use super::measure::{Measured, ROUNDS, median, micros};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::engine::EngineChoice;
use crate::replay::{OwnEngine, Replay, Settings};
use crate::report::BenchRow;
use crate::session::{self, HistoryView, Session, Strictness};

/// The group.
pub(super) const GROUP: Group = Group {
    name: "replay",
    about: "a whole session through the windowed engine in a process of its own",
    run: |bench| Box::pin(run(bench)),
};

const BUDGET: u64 = 60_000;

/// User turns of the generated session: about as many messages as a long working day has.
const TURNS: usize = 160;

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let recording = match &bench.session {
        Some(session) => Arc::clone(session),
        None => Arc::new(generated()?),
    };
    let settings = Settings {
        budget: TokenBudget::new(BUDGET),
        deadline: Duration::from_secs(5),
        model: recording.model().map(|model| model.id),
        history: HistoryView::Full,
        ..Settings::default()
    };
    let turns = recording.turns(settings.history).len();
    let messages = recording.view(settings.history).messages().count();
    let mut times = Vec::new();
    for round in 1..=bench.effort.pick(ROUNDS, 1) {
        bench.says(format!("round {round}"));
        times.push(micros(replay(&recording, &settings).await?) / 1_000.0);
    }
    let mut rows = Rows::of(GROUP.name);
    rows.add(
        format!("{turns} turns up to {messages} messages, budget {BUDGET}, all in all"),
        "ms",
        Measured::alone(median(times)),
        Target::Under(3_000.0),
    );
    Ok(rows.into_rows())
}

fn generated() -> anyhow::Result<Session> {
    let text = session::generate(session::SAMPLE_SEED, TURNS);
    Ok(session::read_from(text.as_bytes(), Strictness::Strict)?)
}

/// From the first turn to the last, each ingested as a host would; starting the process does not
/// count, and nothing is known to it.
async fn replay(recording: &Session, settings: &Settings) -> anyhow::Result<Duration> {
    let engine = OwnEngine::start(EngineChoice::Windowed).await?;
    let client = EngineClient::new(engine.target())?;
    let replay = Replay::new(&client, recording, settings)?;
    let started = Instant::now();
    let report = replay.run(recording, |_| ()).await?;
    let elapsed = started.elapsed();
    let totals = report.totals;
    anyhow::ensure!(
        totals.turns > 0 && totals.by_fallback == 0,
        "{} of {} turns were answered in-process",
        totals.by_fallback,
        totals.turns
    );
    Ok(elapsed)
}
