//! What a process of its own takes that opens a large store: its time, and its memory.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use contextwire_engine::Transcript;
use contextwire_engine::tokens::{ModelFamily, count_text};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::driver::{Driver, SESSION};
use super::talk::Talk;
use crate::bench::Effort;
use crate::bench::row::Target;

/// Messages that the host of a large store shows; it compacted the others.
const SHOWN: usize = 600;
/// Turns that the process goes on for, so that its memory is one at work.
const TURNS: usize = 20;

/// What the process has to open. Only the bench starts one.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub struct Fresh {
    /// The store of a session of the bench.
    #[arg(long = "fresh", hide = true, value_name = "FILE", requires = "length")]
    file: Option<PathBuf>,
    /// Its messages.
    #[arg(long, hide = true, default_value_t = 0)]
    length: usize,
    /// What its results have beyond their 300 tokens, in bytes.
    #[arg(long, hide = true, default_value_t = 0)]
    wide: usize,
}

/// What it took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// From the closed file to the first context.
    cold_ms: f64,
    /// The most memory that it held between two calls, beyond the host's list and the tokenizer.
    memory_kb: Option<u32>,
}

pub(super) struct FreshRow {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) value: f64,
    pub(super) target: Target,
}

impl Fresh {
    /// Opens the store and goes on with its session; none where none was asked for.
    ///
    /// # Errors
    /// When the store is not one of the bench.
    pub async fn run(&self) -> anyhow::Result<Option<Taken>> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let talk = Talk::of(self.length, self.wide);
        // Both are not the engine's: the tokenizer's tables, and what the host holds.
        let list: Transcript = talk.newest(SHOWN).collect();
        count_text(ModelFamily::Other, "warm");
        let before = held();
        let (mut driver, cold) = Driver::cold(file, talk, list).await?;
        let mut most = held();
        for _ in 0..TURNS {
            driver.assemble().await?;
            driver.commit().await?;
            driver.index().await?;
            most = most.max(held());
        }
        driver.compact().await?;
        most = most.max(held());
        Ok(Some(Taken {
            cold_ms: cold.as_secs_f64() * 1e3,
            memory_kb: most
                .zip(before)
                .map(|(most, before)| most.saturating_sub(before)),
        }))
    }

    async fn in_a_process(&self) -> anyhow::Result<Taken> {
        let file = self.file.as_deref().context("no store to open")?;
        let (length, wide) = (self.length.to_string(), self.wide.to_string());
        let output = Command::new(std::env::current_exe()?)
            .args(["bench", "--length", &length, "--wide", &wide, "--fresh"])
            .arg(file)
            .kill_on_drop(true)
            .output()
            .await?;
        let told = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "the process failed: {told}");
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// The rows of both stores: one session of many messages, and many sessions of large ones.
pub(super) async fn rows(effort: Effort) -> anyhow::Result<Vec<FreshRow>> {
    let length = effort.pick(8_333, 333) * Talk::TURN;
    let (_, long) = taken_by(1, length, 0).await?;
    let sessions = effort.pick(16, 2);
    let (bytes, large) = taken_by(sessions, effort.pick(1_000, 100) * Talk::TURN, 30_000).await?;
    let size = f64::from(u32::try_from(bytes / 1_000_000)?) / 1e3;
    let mut rows = vec![FreshRow {
        name: format!("cold start and first assembly on a store of {size:.2} GB"),
        unit: "s",
        value: large.cold_ms / 1e3,
        target: Target::Under(2.0),
    }];
    let memory = [
        (format!("a session of {length} messages"), long.memory_kb),
        (format!("a store of {size:.2} GB"), large.memory_kb),
    ];
    for (of, kilobytes) in memory {
        rows.extend(kilobytes.map(|kilobytes| FreshRow {
            name: format!("memory at {of} and its compaction, beyond list and tokenizer"),
            unit: "MB",
            value: f64::from(kilobytes) / 1e3,
            target: Target::Under(150.0),
        }));
    }
    Ok(rows)
}

/// The size of such a store in bytes, and what a process takes that goes on with its last session.
async fn taken_by(sessions: usize, length: usize, wide: usize) -> anyhow::Result<(u64, Taken)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lossless.sqlite3");
    let mut driver = Driver::open(&file, Talk::of(0, wide), Duration::ZERO)?;
    for other in 1..sessions {
        driver.another(&format!("bench-{other}"), Talk::of(0, wide))?;
        driver.import(length).await?;
    }
    driver.another(SESSION, Talk::of(0, wide))?;
    driver.import(length).await?;
    driver.index().await?;
    drop(driver);
    let size = std::fs::metadata(&file)?.len();
    let fresh = Fresh {
        file: Some(file),
        length,
        wide,
    };
    Ok((size, fresh.in_a_process().await?))
}

/// Kilobytes of memory that are this process's own, where the system tells: pages of a mapped file are
/// the system's to take back.
fn held() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
