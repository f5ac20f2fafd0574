//! A closed turn on the disk: as the ledger stores it, and as two rows of plain SQLite.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use contextwire_engine::{CommitTurn, ContextEngine, HookContext, Message, Session, TurnCommitted};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::time::Instant;

use crate::bench::conversation::{message, session};
use crate::bench::measure::Subject;

/// Payload of each of the turn's two messages in bytes.
const MESSAGE_BYTES: usize = 1_024;

/// Longer than any commit.
const BUDGET: Duration = Duration::from_mins(1);

/// A ledger and a plain database in files of their own in one folder.
pub(super) fn subjects(folder: &Path) -> anyhow::Result<(Ledger, Bare)> {
    let file = folder.join("ledger.sqlite3");
    let ledger = Ledger {
        engine: LedgerEngine::open(&file, LedgerOptions::default())?,
        session: session("commit")?,
        turns: 0,
    };
    let bare = Bare {
        connection: bare(&folder.join("bare.sqlite3"))?,
        turns: 0,
    };
    Ok((ledger, bare))
}

/// The turn's messages.
fn messages(turn: usize) -> [Message; 2] {
    [2 * turn, 2 * turn + 1].map(|place| message(place, MESSAGE_BYTES))
}

/// From the call to COMMITTED.
pub(super) struct Ledger {
    engine: LedgerEngine,
    session: Session,
    turns: usize,
}

impl Subject for Ledger {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let mut turn = CommitTurn {
            advancement_key: format!("turn-{}", self.turns),
            messages: messages(self.turns).into(),
            ..CommitTurn::default()
        };
        turn.admission.anchor.raw_seq = i64::try_from(self.turns)?;
        self.turns += 1;
        let cx = HookContext::new(self.session.clone(), BUDGET);
        let started = Instant::now();
        let committed = self.engine.commit_turn(&cx, turn).await?;
        let elapsed = started.elapsed();
        anyhow::ensure!(committed == TurnCommitted::Committed, "{committed:?}");
        Ok(elapsed)
    }
}

/// Two rows into two tables in one transaction, on this thread.
pub(super) struct Bare {
    connection: Connection,
    turns: usize,
}

/// A database whose commits survive what the ledger's survive.
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
    connection.execute_batch(
        "CREATE TABLE state (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
         CREATE TABLE outbox (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
    )?;
    Ok(connection)
}

impl Bare {
    fn insert(&mut self, [first, second]: &[Bytes; 2]) -> rusqlite::Result<()> {
        let immediate = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(immediate)?;
        for (sql, body) in [
            ("INSERT INTO state (body) VALUES (?1)", first),
            ("INSERT INTO outbox (body) VALUES (?1)", second),
        ] {
            let mut insert = transaction.prepare_cached(sql)?;
            insert.execute(params![&**body])?;
        }
        transaction.commit()
    }
}

impl Subject for Bare {
    async fn call(&mut self) -> anyhow::Result<Duration> {
        let bodies = messages(self.turns).map(|message| message.payload().clone());
        self.turns += 1;
        let started = Instant::now();
        self.insert(&bodies)?;
        Ok(started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use contextwire_ledger::open_file;

    use super::*;

    #[tokio::test]
    async fn both_store_every_turn_with_the_same_bodies() {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, mut bare) = subjects(folder.path()).unwrap();
        for _ in 0..3 {
            ledger.call().await.unwrap();
            bare.call().await.unwrap();
        }
        let file = open_file(&folder.path().join("ledger.sqlite3")).unwrap();
        let session = session("commit").unwrap().id;
        let rows = "SELECT body FROM state UNION ALL SELECT body FROM outbox";
        let mut rows = bare.connection.prepare(rows).unwrap();
        let rows = rows.query_map((), |row| row.get::<_, Vec<u8>>(0)).unwrap();
        let mut plain: Vec<_> = rows.map(Result::unwrap).collect();
        let stored = |place| file.message(&session, place).unwrap();
        let mut stored: Vec<_> = (0..)
            .map_while(stored)
            .map(|message| message.payload().to_vec())
            .collect();
        stored.sort();
        plain.sort();
        assert_eq!(stored.len(), 6);
        assert_eq!(stored, plain);
    }
}
