//! What the lossless engine costs in a session of any length: a commit, the index, an assembly, an
//! import, and a cold start. CPU time of the whole process, medians.

mod driver;
mod fresh;
mod stub;
mod talk;

use std::time::Duration;

use tokio::time::Instant;

use self::driver::Driver;
pub use self::fresh::Fresh;
use self::talk::Talk;
use super::measure::{Measured, median};
use super::row::{Rows, Target};
use super::worked::by_process;
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "lossless",
    about: "commits, index, assemblies, imports and cold starts of the lossless engine by length",
    run: |bench| Box::pin(run(bench)),
};

/// Messages of the sessions.
const LENGTHS: [usize; 4] = [100, 1_000, 10_000, 50_000];
/// Turns that are measured at each length.
const TURNS: usize = 40;
/// What the model takes for a summary while something else is measured.
const MODEL: Duration = Duration::from_millis(40);

/// What one length costs, in milliseconds of CPU time; the prefix in percent of the turns.
struct Costs {
    commit: f64,
    index: f64,
    assemble: f64,
    assemble_p99: f64,
    stable: f64,
    /// A summary's, where one was written.
    summary: Option<f64>,
    import: Duration,
    import_clock: Duration,
    cold: Duration,
}

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut costs = Vec::with_capacity(LENGTHS.len());
    for length in LENGTHS.iter().take(bench.effort.pick(4, 2)) {
        bench.says(format!("a session of {length} messages"));
        costs.push((
            *length,
            Box::pin(measure(*length, bench.effort.pick(TURNS, 8))).await?,
        ));
    }
    let mut rows = Rows::of(GROUP.name);
    for (length, cost) in &costs {
        add(&mut rows, *length, cost);
    }
    if let (Some((_, first)), Some((length, last))) = (costs.first(), costs.last()) {
        rows.add(
            format!("commit a message at {length}, CPU, against one at 100"),
            "ms",
            Measured::against(last.commit, first.commit),
            Target::RatioAtMost(1.5),
        );
        rows.add(
            format!("import of {length} messages, CPU"),
            "s",
            Measured::alone(last.import.as_secs_f64()),
            Target::Under(10.0),
        );
        rows.add(
            format!("import of {length} messages, by the clock"),
            "s",
            Measured::alone(last.import_clock.as_secs_f64()),
            Target::Under(10.0),
        );
        rows.add(
            format!("cold start and first assembly on a store of {length} messages"),
            "s",
            Measured::alone(last.cold.as_secs_f64()),
            Target::Under(2.0),
        );
    }
    bench.says("a process of its own on a large store");
    for row in fresh::rows(bench.effort).await? {
        rows.add(row.name, row.unit, Measured::alone(row.value), row.target);
    }
    bench.says("an assembly while a compaction runs");
    let (beside, idle) = beside(bench.effort.pick(4_800, 2_400)).await?;
    rows.add(
        "assemble while a compaction runs, by the clock, p50, against none",
        "ms",
        Measured::against(beside, idle),
        Target::RatioAtMost(2.0),
    );
    Ok(rows.into_rows())
}

fn add(rows: &mut Rows, length: usize, cost: &Costs) {
    let mut row = |name: &str, value: f64, unit: &str, target: Target| {
        let name = format!("{name} at {length} messages");
        rows.add(name, unit, Measured::alone(value), target);
    };
    row(
        "commit a message, CPU",
        cost.commit,
        "ms",
        Target::Under(0.2),
    );
    row("index a message, CPU", cost.index, "ms", Target::Under(0.5));
    row(
        "assemble at 200 000 tokens, CPU p50",
        cost.assemble,
        "ms",
        Target::Under(5.0),
    );
    row(
        "assemble at 200 000 tokens, CPU p99",
        cost.assemble_p99,
        "ms",
        Target::Under(15.0),
    );
    if let Some(summary) = cost.summary {
        row(
            "bookkeeping of a summary, CPU",
            summary,
            "ms",
            Target::Under(2.0),
        );
    }
    row(
        "turns whose context begins with the one before",
        cost.stable,
        "%",
        Target::AtLeast(100.0),
    );
}

/// With a model that takes a while, in a session that is far over its budget.
async fn beside(length: usize) -> anyhow::Result<(f64, f64)> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lossless.sqlite3");
    let mut driver = Driver::open(&file, Talk::default(), MODEL)?;
    driver.import(length).await?;
    driver.beside_compaction(TURNS).await
}

async fn measure(length: usize, turns: usize) -> anyhow::Result<Costs> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lossless.sqlite3");
    let mut driver = Driver::open(&file, Talk::default(), Duration::ZERO)?;
    // Whole turns: in the middle of one, a call waits for its result.
    let before = (length / Talk::TURN).saturating_sub(turns);
    let (started, clock) = (by_process(), Instant::now());
    driver.import(before * Talk::TURN).await?;
    let import = by_process().saturating_sub(started);
    let import_clock = clock.elapsed();
    // What the import left to do is not a turn's.
    driver.index().await?;
    let summary = driver.compact().await?;
    let (mut commits, mut indexes, mut assemblies) = (Vec::new(), Vec::new(), Vec::new());
    let mut stable = 0;
    for turn in 0..turns {
        let (cost, is_stable) = driver.assemble().await?;
        if turn > 0 {
            assemblies.push(cost);
            stable += usize::from(is_stable);
        }
        commits.push(driver.commit().await?);
        indexes.push(driver.index().await?);
    }
    drop(driver);
    let talk = Talk::of(length, 0);
    let (_, cold) = Driver::cold(&file, talk, talk.so_far().collect()).await?;
    Ok(Costs {
        commit: median(commits),
        index: median(indexes),
        assemble_p99: highest(&assemblies),
        summary,
        stable: 100.0 * share(stable, assemblies.len()),
        assemble: median(assemblies),
        import,
        import_clock,
        cold,
    })
}

/// The highest of so few values is their p99.
fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

fn share(part: usize, whole: usize) -> f64 {
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    count(part) / count(whole.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_short_session_has_every_number() {
        let costs = Box::pin(measure(30, 3)).await.unwrap();
        for number in [
            costs.commit,
            costs.index,
            costs.assemble,
            costs.assemble_p99,
        ] {
            assert!(number.is_finite() && number > 0.0);
        }
        assert!(
            (costs.stable - 100.0).abs() < f64::EPSILON,
            "{}",
            costs.stable
        );
    }
}
