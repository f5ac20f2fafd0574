//! What the contract's promises cost: strictness beside decoding, a durable commit beside the least
//! that is as durable, a call back beside an echo.

mod commit;
mod host_call;
mod strict;

use self::host_call::{Calls, Echo};
use super::measure::{Plan, pair};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "contract",
    about: "a strict scan against decoding, a ledger's commit against bare SQLite, a call back against an echo",
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);

    bench.says("strict scans");
    let (mut scan, mut decode) = strict::subjects()?;
    let plan = Plan {
        batches: bench.effort.pick(40, 8),
        candidate: 25,
        baseline: 25,
    };
    let measured = pair(plan, &mut scan, &mut decode).await?;
    rows.add(
        "strict scan of 620 messages of 1.5 KiB, p50, against decoding them",
        "µs",
        measured,
        Target::RatioAtMost(0.15),
    );

    bench.says("commits");
    let folder = tempfile::tempdir()?;
    let (mut ledger, mut bare) = commit::subjects(folder.path())?;
    // One by one: what else the disk has to do meets both alike.
    let plan = Plan {
        batches: bench.effort.pick(400, 40),
        candidate: 1,
        baseline: 1,
    };
    let measured = pair(plan, &mut ledger, &mut bare).await?;
    rows.add(
        "ledger commit of 2 messages of 1 KiB, p50, against a bare transaction",
        "µs",
        measured,
        Target::RatioAtMost(1.5),
    );
    bench.says("host calls");
    let (mut calls, mut echo) = (Calls::open().await?, Echo::open().await?);
    let plan = Plan {
        batches: bench.effort.pick(80, 8),
        candidate: 25,
        baseline: 25,
    };
    let measured = pair(plan, &mut calls, &mut echo).await?;
    rows.add(
        "host call and its result within a hook, p50, against an echo on an open bare stream",
        "µs",
        measured,
        Target::RatioAtMost(2.5),
    );
    Ok(rows.into_rows())
}
