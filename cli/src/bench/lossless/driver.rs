//! A host that speaks to the engine in this process, and a clock of what that costs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::{
    Assemble, AssembleOutcome, Bootstrap, CommitTurn, Compact, CompactionTarget, ContextEngine,
    Digest, HookContext, Maintain, Message, Session, TokenBudget, Transcript,
};
use contextwire_lossless::compaction::Settings;
use contextwire_lossless::{LosslessEngine, LosslessOptions};
use tokio::time::Instant;

use super::stub::Stub;
use super::talk::Talk;
use crate::bench::conversation::session;
use crate::bench::measure::{median, micros};
use crate::bench::worked::by_process;

/// Longer than any call.
const BUDGET: Duration = Duration::from_mins(5);
const TOKENS: u64 = 200_000;
/// The session of a new driver.
pub(super) const SESSION: &str = "bench";

/// An engine, a conversation, and its host's list.
pub(super) struct Driver {
    engine: Arc<LosslessEngine>,
    session: Session,
    talk: Talk,
    list: Transcript,
    /// What the last context showed.
    shown: Vec<Digest>,
}

impl Driver {
    /// A host of this conversation, whose model takes so long for a summary.
    pub(super) fn open(file: &Path, talk: Talk, model: Duration) -> anyhow::Result<Self> {
        let options = LosslessOptions {
            summarizer: Arc::new(Stub(model)),
            compaction: Settings {
                parallel: 1,
                ..Settings::default()
            },
            ..LosslessOptions::default()
        };
        Ok(Self {
            engine: Arc::new(LosslessEngine::open(file, options)?),
            session: session(SESSION)?,
            list: talk.so_far().collect(),
            talk,
            shown: Vec::new(),
        })
    }

    /// The same engine at the start of another session.
    pub(super) fn another(&mut self, name: &str, talk: Talk) -> anyhow::Result<()> {
        self.session = session(name)?;
        self.list = talk.so_far().collect();
        self.talk = talk;
        Ok(())
    }

    fn cx(&self) -> HookContext {
        HookContext::new(self.session.clone(), BUDGET)
    }

    /// The next messages by one Bootstrap.
    pub(super) async fn import(&mut self, messages: usize) -> anyhow::Result<()> {
        self.list.extend(self.talk.take(messages));
        let request = Bootstrap {
            transcript: self.list.clone(),
            ..Bootstrap::default()
        };
        let done = self.engine.bootstrap(&self.cx(), request).await?;
        anyhow::ensure!(done.bootstrapped, "{done:?}");
        Ok(())
    }

    /// The next turn: CPU time a message, in milliseconds.
    pub(super) async fn commit(&mut self) -> anyhow::Result<f64> {
        let mut turn = CommitTurn {
            advancement_key: format!("turn-{}", self.talk.turn()),
            ..CommitTurn::default()
        };
        turn.admission.anchor.raw_seq = i64::try_from(self.talk.turn())?;
        turn.messages = self.talk.take(Talk::TURN);
        self.list.extend(turn.messages.iter().cloned());
        let started = by_process();
        self.engine.commit_turn(&self.cx(), turn).await?;
        Ok(each(started, Talk::TURN))
    }

    /// What is not in the index yet, at most a turn: CPU time a message, in milliseconds.
    pub(super) async fn index(&mut self) -> anyhow::Result<f64> {
        let started = by_process();
        self.engine
            .maintain(&self.cx(), Maintain::default())
            .await?;
        Ok(each(started, Talk::TURN))
    }

    /// Room for the next turns: CPU time a summary, in milliseconds; none where nothing was due.
    pub(super) async fn compact(&mut self) -> anyhow::Result<Option<f64>> {
        let started = by_process();
        let done = self.engine.compact(&self.cx(), room()).await?;
        let spent = each(started, 1);
        anyhow::ensure!(done.ok, "{:?}", done.reason);
        let details = done.result.and_then(|result| result.details);
        let Some(details) = details else {
            return Ok(None);
        };
        // What was shown before is not what is shown now.
        self.shown.clear();
        let details: serde_json::Value = serde_json::from_slice(&details)?;
        let summaries = details
            .get("summaries")
            .and_then(serde_json::Value::as_array)
            .map_or(0, Vec::len);
        anyhow::ensure!(summaries > 0, "a compaction without a summary");
        Ok(Some(
            spent / f64::from(u32::try_from(summaries).unwrap_or(u32::MAX)),
        ))
    }

    /// Milliseconds of an assembly by the clock while a compaction runs, and without one.
    pub(super) async fn beside_compaction(&mut self, count: usize) -> anyhow::Result<(f64, f64)> {
        let idle = self.assemblies(count).await?;
        let (engine, cx) = (Arc::clone(&self.engine), self.cx());
        let running = tokio::spawn(async move { engine.compact(&cx, room()).await });
        let mut beside = Vec::new();
        while !running.is_finished() {
            beside.extend(self.assemblies(1).await?);
        }
        let done = running.await??;
        anyhow::ensure!(done.compacted, "{:?}", done.reason);
        self.shown.clear();
        Ok((median(beside), median(idle)))
    }

    async fn assemblies(&mut self, count: usize) -> anyhow::Result<Vec<f64>> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            self.assemble().await?;
            times.push(micros(started.elapsed()) / 1e3);
        }
        Ok(times)
    }

    /// A context: CPU time in milliseconds, and whether it begins with the one before.
    pub(super) async fn assemble(&mut self) -> anyhow::Result<(f64, bool)> {
        let request = Assemble {
            transcript: self.list.clone(),
            token_budget: TokenBudget::new(TOKENS),
            ..Assemble::default()
        };
        let started = by_process();
        let answer = self.engine.assemble(&self.cx(), request).await?;
        let cost = each(started, 1);
        let AssembleOutcome::Messages(reply) = answer else {
            anyhow::bail!("no context was asked to stay as it is");
        };
        let messages = reply.messages.messages(&self.list);
        let shown: Vec<Digest> = messages.map(Message::digest).collect();
        let is_stable = shown.starts_with(&self.shown);
        self.shown = shown;
        Ok((cost, is_stable))
    }

    /// From a closed file to the first context, for a host that shows its newest messages only.
    pub(super) async fn cold(
        file: &Path,
        talk: Talk,
        list: Transcript,
    ) -> anyhow::Result<(Self, Duration)> {
        let started = Instant::now();
        let mut driver = Self::open(file, Talk::default(), Duration::ZERO)?;
        driver.list = list;
        driver.talk = talk;
        driver.assemble().await?;
        Ok((driver, started.elapsed()))
    }
}

fn room() -> Compact {
    Compact {
        token_budget: TokenBudget::new(TOKENS),
        target: CompactionTarget::Threshold,
        ..Compact::default()
    }
}

/// Milliseconds of work since then for each of so many.
fn each(started: Duration, count: usize) -> f64 {
    let spent = by_process().saturating_sub(started);
    micros(spent) / 1e3 / f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
