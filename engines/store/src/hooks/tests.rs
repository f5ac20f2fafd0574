//! Hooks that are taken back or refused, and a store that takes no LOG.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use contextwire_engine::durable::Pair;
use contextwire_engine::{
    AfterTurn, Compact, Compacted, HostLog, LogAnswer, LogSource, Maintain, Maintained, Message,
    Order, Session, SessionId, Transcript,
};

use super::*;
use crate::connection::{CORE, CORE_2, CORE_3, Schema, unweighed};
use crate::sqlite::SqliteStore;
use crate::store::system_clock;

const SCHEMA: Schema = Schema {
    application_id: 7,
    engine: "test",
    steps: &[&[CORE, CORE_2, CORE_3]],
    weigh: unweighed,
};

fn store(folder: &tempfile::TempDir) -> SqliteStore {
    let path = folder.path().join("store.sqlite3");
    SqliteStore::open(&path, &SCHEMA, Duration::from_millis(1)).unwrap()
}

fn hooks(folder: &tempfile::TempDir) -> LogHooks<SqliteStore> {
    LogHooks::new(store(folder), Arc::new(system_clock))
}

fn cx() -> HookContext {
    let session = Session::new(SessionId::new("s").unwrap());
    HookContext::new(session, Duration::from_mins(1))
}

fn log() -> Transcript {
    let texts = ["one", "two"];
    texts.map(Message::from_payload).into_iter().collect()
}

fn after_turn() -> AfterTurn {
    AfterTurn {
        transcript: log(),
        ..AfterTurn::default()
    }
}

async fn entries(hooks: &LogHooks<SqliteStore>) -> u64 {
    let looked = hooks.store().read(|rows| {
        let name = SessionId::new("s").unwrap();
        Ok(log::state(rows, &name, None)?.count)
    });
    looked.await.unwrap()
}

#[tokio::test]
async fn r1_5_a_call_that_is_taken_back_in_the_middle_of_its_transaction_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    // The last thing before the commit, as when the host stops waiting then.
    let taken_back = hooks(&folder).settling(|_, cx| {
        cx.cancellation.cancel();
        Ok(())
    });
    let (cx, again) = (cx(), cx());
    let stopped = taken_back.after_turn(&cx, after_turn()).await;
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!cx.cancellation.is_committed());
    assert_eq!(entries(&taken_back).await, 0);
    let hooks = hooks(&folder);
    hooks.after_turn(&again, after_turn()).await.unwrap();
    assert!(again.cancellation.is_committed());
    assert_eq!(entries(&hooks).await, 2);
}

#[tokio::test]
async fn r1_5_a_claim_and_a_log_that_was_caught_up_are_not_the_effect() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks(&folder);
    let mut cx = cx();
    cx.log_head = Some(log().state());
    cx.log = HostLog::new(log());
    cx.abandoned_hooks = vec![contextwire_engine::HookId::mint()];
    hooks.attend(&cx).await.unwrap();
    assert_eq!(entries(&hooks).await, 2);
    let attempt = hooks.attempt(&cx, &Compact::default());
    let Claimed::Held(claim) = hooks.claim(&cx, attempt).await.unwrap() else {
        panic!("nobody else has the key")
    };
    assert!(!cx.cancellation.is_committed());
    let answer = Compacted::declined("done");
    claim.settle(&cx, |_| Ok(answer)).await.unwrap();
    assert!(cx.cancellation.is_committed());
}

#[tokio::test]
async fn r7_2_a_refused_call_records_the_hooks_that_it_names_as_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks(&folder);
    let ordered = |session_seq| {
        let mut cx = cx();
        cx.order = Some(Order {
            host_epoch: 1,
            session_seq: Some(session_seq),
        });
        cx
    };
    hooks.after_turn(&ordered(5), after_turn()).await.unwrap();
    let late = ordered(6);
    let mut refused = ordered(4);
    refused.abandoned_hooks = vec![late.hook_id];
    let conflict = hooks.after_turn(&refused, after_turn()).await;
    let recorded = Pair {
        host_epoch: 1,
        session_seq: 5,
    };
    assert_eq!(
        conflict.unwrap_err().kind(),
        ErrorKind::GenerationConflict { recorded }
    );
    let attempt = hooks.attempt(&late, &Maintain::default());
    let act = hooks.act(attempt, |_, _| Ok(Maintained::default()));
    assert_eq!(act.await.unwrap_err().kind(), ErrorKind::HookClosed);
}

/// A host's log that counts how often it was asked for.
struct Counted(Arc<AtomicU32>);

impl LogSource for Counted {
    fn log(&self) -> LogAnswer<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Some(log())))
    }
}

#[tokio::test]
async fn r3_3_a_store_that_takes_no_log_goes_on_without_and_does_not_ask_for_it_each_turn() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = hooks(&folder);
    let asked = Arc::new(AtomicU32::new(0));
    let behind = || {
        let mut cx = cx();
        cx.log_head = Some(log().state());
        cx.log = HostLog::new(Counted(Arc::clone(&asked)));
        cx
    };
    // Somebody holds the file; a full disk is transient in the same way.
    let other = rusqlite::Connection::open(folder.path().join("store.sqlite3")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..3 {
        hooks.attend(&behind()).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // What it owes, it does not go on without.
    let mut owing = behind();
    owing.abandoned_hooks = vec![contextwire_engine::HookId::mint()];
    let refused = hooks.attend(&owing).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Transient);
    other.execute_batch("ROLLBACK").unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(1)).await;
    tokio::time::resume();
    hooks.attend(&behind()).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(entries(&hooks).await, 2);
}
