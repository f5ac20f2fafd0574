//! A closed turn in a host's outbox, and the same bytes as one row of plain SQLite.

use std::path::Path;
use std::time::Duration;

use contextwire_client::outbox::{
    AcceptedTurn, Addressee, NewRow, Outbox, OutboxCall, OutboxOptions,
};
use contextwire_engine::Session;
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::time::Instant;

use super::conversation::{message, session};
use super::measure::{Plan, Subject, pair};
use super::row::{Rows, Target};
use super::{Bench, Group};
use crate::report::BenchRow;

/// The group.
pub(super) const GROUP: Group = Group {
    name: "outbox",
    about: "a turn written to a host's outbox, against a bare transaction that is as durable",
    run: |bench| Box::pin(run(bench)),
};

/// Payload of each of the turn's two messages in bytes.
const MESSAGE_BYTES: usize = 1_024;

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let mut rows = Rows::of(GROUP.name);
    bench.says("appends");
    let folder = tempfile::tempdir()?;
    let (mut outbox, mut bare) = subjects(folder.path())?;
    // One by one: what else the disk has to do meets both alike.
    let plan = Plan {
        batches: bench.effort.pick(400, 40),
        candidate: 1,
        baseline: 1,
    };
    let measured = pair(plan, &mut outbox, &mut bare).await?;
    rows.add(
        "append of a turn of 2 messages of 1 KiB, p50, against a bare transaction",
        "µs",
        measured,
        Target::RatioAtMost(1.3),
    );
    Ok(rows.into_rows())
}

/// An outbox and a plain database in files of their own in one folder.
fn subjects(folder: &Path) -> anyhow::Result<(Appends, Bare)> {
    let file = folder.join("outbox.sqlite3");
    let appends = Appends {
        outbox: Outbox::open(file, OutboxOptions::default())?,
        session: session("outbox")?,
        turns: 0,
    };
    let bare = Bare {
        connection: bare(&folder.join("bare.sqlite3"))?,
        turns: 0,
    };
    Ok((appends, bare))
}

/// From the call until the turn is on the disk.
struct Appends {
    outbox: Outbox,
    session: Session,
    turns: usize,
}

impl Subject for Appends {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let mut turn = AcceptedTurn::default();
        turn.admission.logical_turn_id = format!("turn-{}", self.turns);
        let messages = [2 * self.turns, 2 * self.turns + 1];
        let messages = messages.map(|place| message(place, MESSAGE_BYTES));
        self.turns += 1;
        let row = NewRow {
            to: Addressee::new("lossless"),
            session: self.session.clone(),
            scope: <_>::default(),
            call: OutboxCall::CommitTurn(Box::new(turn.with_messages(messages.into()))),
        };
        let started = Instant::now();
        self.outbox.append(row).await?;
        Ok(started.elapsed())
    }
}

/// One row in one transaction, on this thread.
struct Bare {
    connection: Connection,
    turns: usize,
}

/// A database whose commits survive what the outbox's survive.
fn bare(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    for (name, value) in [
        ("journal_mode", "WAL"),
        ("synchronous", "FULL"),
        ("fullfsync", "ON"),
        ("checkpoint_fullfsync", "ON"),
    ] {
        connection.pragma_update(None, name, value)?;
    }
    let table = "CREATE TABLE turn (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT";
    connection.execute_batch(table)?;
    Ok(connection)
}

impl Bare {
    fn insert(&mut self, body: &[u8]) -> rusqlite::Result<()> {
        let immediate = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(immediate)?;
        let mut insert = transaction.prepare_cached("INSERT INTO turn (body) VALUES (?1)")?;
        insert.execute(params![body])?;
        drop(insert);
        transaction.commit()
    }
}

impl Subject for Bare {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let messages = [2 * self.turns, 2 * self.turns + 1];
        let bodies = messages.map(|place| message(place, MESSAGE_BYTES).payload().clone());
        let body = bodies.concat();
        self.turns += 1;
        let started = Instant::now();
        self.insert(&body)?;
        Ok(started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_write_every_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (mut outbox, mut bare) = subjects(folder.path()).unwrap();
        for _ in 0..3 {
            outbox.call().await.unwrap();
            bare.call().await.unwrap();
        }
        let rows = outbox.outbox.rows().unwrap();
        assert_eq!(rows.len(), 3);
        let count = "SELECT count(*), min(length(body)) FROM turn";
        let plain: (i64, u64) = bare
            .connection
            .query_row(count, (), |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })
            .unwrap();
        assert_eq!(plain.0, 3);
        assert!(rows.iter().all(|row| row.bytes >= plain.1));
    }
}
