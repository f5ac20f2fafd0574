//! Jobs that fail, panic, or fill the disk, alone and in company.

use std::sync::mpsc;
use std::time::Duration;

use contextwire_engine::{HookContext, Session, SessionId};

use super::*;
use crate::connection::{self, CORE, Schema, Use};

const SCHEMA: Schema = Schema {
    application_id: 7,
    engine: "test",
    steps: &[&[CORE]],
    weigh: connection::unweighed,
};

fn started(connection: Connection) -> std::io::Result<Writer> {
    Writer::start(connection, connection::unweighed)
}

fn cx() -> HookContext {
    HookContext::new(
        Session::new(SessionId::new("s").unwrap()),
        Duration::from_mins(1),
    )
}

fn file(folder: &tempfile::TempDir) -> Connection {
    let path = folder.path().join("ledger.sqlite3");
    connection::open(&path, &SCHEMA, Use::Write, Duration::ZERO).unwrap()
}

/// Stores a tombstone, whose name is as long as wanted.
fn store(tx: &Tx, name: &str) -> Outcome<()> {
    tx.execute("INSERT INTO closed (hook) VALUES (?1)", [name])
}

fn stored(tx: &Tx) -> i64 {
    let count = tx
        .connection()
        .query_row("SELECT count(*) FROM closed", (), |row| row.get(0));
    count.unwrap()
}

/// Keeps the thread at work until the sender goes, so that what comes meanwhile shares one
/// transaction.
async fn held(writer: &Arc<Writer>) -> mpsc::Sender<()> {
    let (release, wait) = mpsc::channel::<()>();
    let (started, begun) = oneshot::channel();
    let busy = Arc::clone(writer);
    tokio::spawn(async move {
        let work = move |_: &mut Tx| {
            started.send(()).unwrap();
            assert!(wait.recv().is_err(), "let go");
            Ok(())
        };
        busy.run(&cx(), work).await
    });
    begun.await.unwrap();
    release
}

/// Runs the jobs in one transaction and gives their answers.
async fn together<const N: usize>(
    writer: &Arc<Writer>,
    jobs: [fn(&mut Tx) -> Outcome<()>; N],
) -> Vec<Outcome<()>> {
    let release = held(writer).await;
    let mut answers = tokio::task::JoinSet::new();
    for (at, job) in jobs.into_iter().enumerate() {
        let shared = Arc::clone(writer);
        answers.spawn(async move { (at, shared.run(&cx(), job).await) });
        // In this order.
        while writer.queue.as_ref().unwrap().capacity() > QUEUE - at - 1 {
            tokio::task::yield_now().await;
        }
    }
    drop(release);
    let mut answers = answers.join_all().await;
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[tokio::test]
async fn a_job_that_fails_in_company_undoes_its_own_work_alone() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Arc::new(started(file(&folder)).unwrap());
    let jobs: [fn(&mut Tx) -> Outcome<()>; 4] = [
        |tx| store(tx, "first"),
        |tx| {
            store(tx, "second")?;
            Err(EngineError::rejected("no"))
        },
        |tx| {
            store(tx, "third")?;
            panic!("a bug")
        },
        |tx| store(tx, "fourth"),
    ];
    let answers = together(&writer, jobs).await;
    let kinds: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().err().map(EngineError::kind))
        .collect();
    assert_eq!(
        kinds,
        [
            None,
            Some(ErrorKind::Rejected),
            Some(ErrorKind::Failure),
            None
        ]
    );
    assert_eq!(writer.run(&cx(), |tx| Ok(stored(tx))).await.unwrap(), 2);
}

#[tokio::test]
async fn a_job_that_fails_alone_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let writer = started(file(&folder)).unwrap();
    let cx = cx();
    let failed = writer.run(&cx, |tx| {
        store(tx, "a")?;
        Err::<(), _>(EngineError::rejected("no"))
    });
    assert!(failed.await.is_err());
    assert_eq!(writer.run(&cx, |tx| Ok(stored(tx))).await.unwrap(), 0);
}

/// The disk is full after a few more pages.
fn nearly_full(folder: &tempfile::TempDir) -> Connection {
    let connection = file(folder);
    let pages: i64 = connection
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    connection
        .pragma_update(None, "max_page_count", pages + 2)
        .unwrap();
    connection
}

fn too_much(tx: &mut Tx) -> Outcome<()> {
    store(tx, &"x".repeat(1 << 20))
}

#[tokio::test]
async fn e_lif_10_a_full_disk_is_transient_for_everybody_in_the_transaction_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Arc::new(started(nearly_full(&folder)).unwrap());
    let answers = together(
        &writer,
        [|tx| store(tx, "a"), too_much, |tx| store(tx, "b")],
    )
    .await;
    for answer in &answers {
        // SQLite may give up this statement or the whole transaction.
        let kind = answer.as_ref().err().map(EngineError::kind);
        assert!(
            matches!(kind, None | Some(ErrorKind::Transient)),
            "{kind:?}"
        );
    }
    assert!(answers[1].is_err());
    let alone = writer.run(&cx(), too_much).await;
    assert_eq!(alone.unwrap_err().kind(), ErrorKind::Transient);
    let kept = answers.iter().filter(|answer| answer.is_ok()).count();
    let count = writer.run(&cx(), |tx| Ok(stored(tx))).await.unwrap();
    assert_eq!(
        usize::try_from(count).unwrap(),
        kept,
        "what was acknowledged is there"
    );
    assert!(writer.run(&cx(), |tx| store(tx, "c")).await.is_ok());
}

#[tokio::test]
async fn when_the_whole_transaction_is_given_up_nobody_in_it_is_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Arc::new(started(file(&folder)).unwrap());
    // What SQLite does by itself when the disk is full or broken in the middle.
    let give_up: fn(&mut Tx) -> Outcome<()> = |tx| {
        tx.connection().execute_batch("ROLLBACK").unwrap();
        Err(EngineError::transient("the disk is full"))
    };
    let answers = together(&writer, [|tx| store(tx, "a"), give_up, |tx| store(tx, "b")]).await;
    for answer in answers {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Transient);
    }
    assert_eq!(writer.run(&cx(), |tx| Ok(stored(tx))).await.unwrap(), 0);
}

#[tokio::test]
async fn dropping_the_handle_finishes_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let writer = started(file(&folder)).unwrap();
    for n in 0..20 {
        writer.submit(move |tx| store(tx, &n.to_string()));
    }
    drop(writer);
    let connection = file(&folder);
    assert_eq!(stored(&Tx::new(connection)), 20);
}
