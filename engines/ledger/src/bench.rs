//! What a commit costs against the least that SQLite can do at equal durability.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use contextwire_engine::{CommitTurn, ContextEngine, HookContext, Message, Session, SessionId};
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::time::Instant;

use crate::connection::{self, Use};
use crate::engine::{LedgerEngine, LedgerOptions};

/// Bytes of each of the two bodies.
const BODY: usize = 1024;
const BUSY: Duration = Duration::from_secs(5);

/// Medians of commits that were measured in turns.
#[derive(Clone, Copy, Debug)]
pub struct CommitCost {
    /// `CommitTurn` of two messages of 1 KiB, from the call to `COMMITTED`.
    pub ledger: Duration,
    /// Two rows of 1 KiB into two tables of a file of their own, in one transaction on this thread.
    pub bare: Duration,
}

/// Commits `rounds` turns to a ledger in `folder`, and each time two rows to a plain database with
/// the same settings beside it.
///
/// # Errors
/// When one of the files cannot be used.
pub async fn commit_cost(
    folder: &Path,
    rounds: usize,
) -> Result<CommitCost, Box<dyn Error + Send + Sync>> {
    let engine = LedgerEngine::open(&folder.join("ledger.sqlite3"), LedgerOptions::default())?;
    let mut bare = bare_file(&folder.join("bare.sqlite3"))?;
    let session = Session::new(SessionId::new("bench")?);
    let (mut ledger_times, mut bare_times) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let cx = HookContext::new(session.clone(), BUSY);
        let turn = turn(round);
        let start = Instant::now();
        engine.commit_turn(&cx, turn).await?;
        ledger_times.push(start.elapsed());
        let start = Instant::now();
        two_rows(&mut bare, round)?;
        bare_times.push(start.elapsed());
    }
    Ok(CommitCost {
        ledger: median(ledger_times),
        bare: median(bare_times),
    })
}

fn body(round: usize, role: &str) -> String {
    let padding = "x".repeat(BODY);
    format!(r#"{{"role":"{role}","content":"{round} {padding}"}}"#)
}

fn turn(round: usize) -> CommitTurn {
    let message = |role: &str| {
        Message::from_payload(body(round, role)).with_entry_id(format!("{round}-{role}"))
    };
    let mut turn = CommitTurn {
        advancement_key: format!("turn-{round}"),
        messages: vec![message("user"), message("assistant")],
        ..CommitTurn::default()
    };
    turn.admission.anchor.raw_seq = i64::try_from(round).unwrap_or(i64::MAX);
    turn
}

fn bare_file(path: &Path) -> Result<Connection, Box<dyn Error + Send + Sync>> {
    let connection = connection::open(path, Use::Write, BUSY)?;
    connection.execute_batch(
        "CREATE TABLE state (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
         CREATE TABLE outbox (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;",
    )?;
    Ok(connection)
}

fn two_rows(connection: &mut Connection, round: usize) -> rusqlite::Result<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (sql, role) in [
        ("INSERT INTO state (body) VALUES (?1)", "user"),
        ("INSERT INTO outbox (body) VALUES (?1)", "assistant"),
    ] {
        tx.prepare_cached(sql)?
            .execute(params![body(round, role).as_bytes()])?;
    }
    tx.commit()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
