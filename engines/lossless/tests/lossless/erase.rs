//! Erasing: nothing of it is left in any table, index or file, and what was made of it is made anew.

use std::path::Path;
use std::sync::Arc;

use contextwire_engine::{
    Compact, ContextEngine, EngineAdmin, EntryId, EraseSession, Erasure, HookContext, Maintain,
    Message, Order, PinEntry, TokenBudget, Transcript,
};
use contextwire_lossless::{LosslessEngine, LosslessOptions, PastSession, look, open_file};

use super::stub::Stub;
use super::support::*;

/// Said once, in the entry that is erased.
const SECRET: &str = "zq7vphrasewhichnobodyelsesays";

fn open(place: &Place) -> LosslessEngine {
    let options = LosslessOptions {
        // Its summaries quote what they are of.
        summarizer: Arc::new(contextwire_legacy::Extract),
        ..LosslessOptions::default()
    };
    LosslessEngine::open(&place.path(), options).unwrap()
}

/// A long session with the secret in the middle of an early entry, and a large one.
fn secret_log() -> Vec<Message> {
    let mut log = long(120, 60);
    let padding = "y".repeat(20_000);
    log[4] = said("user", &format!("keep {SECRET} for me")).with_entry_id("e4");
    log[6] = said("user", &format!("{padding} {SECRET} {padding}")).with_entry_id("e6");
    log
}

/// Imported, indexed and compacted, beside another session.
async fn told(engine: &LosslessEngine) -> Transcript {
    let log: Transcript = secret_log().into_iter().collect();
    after_turn(engine, &of("other"), long(40, 60).into_iter().collect()).await;
    after_turn(engine, &call(), log.clone()).await;
    engine.maintain(&call(), Maintain::default()).await.unwrap();
    let room = Compact {
        token_budget: TokenBudget::new(6_000),
        force: true,
        ..Compact::default()
    };
    assert!(engine.compact(&call(), room).await.unwrap().compacted);
    log
}

/// A call that may have its log replace the stored one.
fn ordered(session_seq: u64) -> HookContext {
    let mut cx = call();
    cx.order = Some(Order {
        host_epoch: 1,
        session_seq: Some(session_seq),
    });
    cx
}

fn files(path: &Path) -> Vec<u8> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let mut bytes = std::fs::read(path).unwrap();
    bytes.extend(std::fs::read(wal).unwrap_or_default());
    bytes
}

fn holds(path: &Path, needle: &[u8]) -> bool {
    memchr::memmem::find(&files(path), needle).is_some()
}

fn all() -> EraseSession {
    EraseSession {
        session: name("s"),
        entry_ids: Vec::new(),
    }
}

fn only(ids: &[&str]) -> EraseSession {
    EraseSession {
        entry_ids: ids
            .iter()
            .map(|id| EntryId::from((*id).to_owned()))
            .collect(),
        ..all()
    }
}

fn removed(erasure: &Erasure, what: &str) -> u64 {
    let rows = erasure.erased.iter().find(|rows| rows.what == what);
    rows.unwrap_or_else(|| panic!("{what}: {erasure:?}"))
        .removed
}

#[tokio::test]
async fn f09_br_134_an_erased_session_is_in_no_table_index_or_file() {
    let place = Place::new();
    let engine = open(&place);
    let log = told(&engine).await;
    let path = place.path();
    let digests: Vec<_> = log.iter().map(Message::digest).collect();
    assert!(holds(&path, SECRET.as_bytes()) && holds(&path, &digests[4].0));
    let before = engine.admin().store_status().await.unwrap().unwrap();
    assert!(before.summaries > 0 && before.plans > 0, "{before:?}");

    let erasure = engine.admin().erase_session(all()).await.unwrap();
    assert!(erasure.found && erasure.proof.is_clean(), "{erasure:?}");
    assert_eq!(removed(&erasure, "bodies"), 120);
    assert_eq!(removed(&erasure, "large payloads"), 1);
    assert_eq!(removed(&erasure, "texts in the index"), 120);
    assert!(removed(&erasure, "summaries") > 0 && removed(&erasure, "plans") > 0);
    assert!(erasure.proof.pieces > 120 && erasure.proof.searched_bytes > 0);

    // Its words are not in the index either, whose pages hold them without their beginnings.
    assert!(!holds(&path, &SECRET.as_bytes()[4..]));
    let shared: Vec<_> = long(40, 60).iter().map(Message::digest).collect();
    for digest in digests.iter().filter(|digest| !shared.contains(digest)) {
        assert!(!holds(&path, &digest.0));
    }
    let after = engine.admin().store_status().await.unwrap().unwrap();
    assert_eq!((after.sessions, after.entries, after.retired), (1, 40, 0));
    assert_eq!((after.summaries, after.plans, after.debts), (0, 0, 0));
    // The other session is what it was, in the index too.
    let file = open_file(&path).unwrap();
    assert_eq!(
        look::sessions(file.rows()).unwrap()[0].session,
        name("other")
    );
    let reply = assemble(&engine, &call(), &Transcript::new(), None).await;
    assert_eq!(
        texts(&reply, &Transcript::new()),
        [""; 0],
        "no cache shows it"
    );

    let again = engine.admin().erase_session(all()).await.unwrap();
    assert!(!again.found && again.proof.is_clean());
}

#[tokio::test]
async fn what_is_stored_after_an_erasure_is_found_by_its_words() {
    let place = Place::new();
    let engine = open(&place);
    told(&engine).await;
    engine.admin().erase_session(all()).await.unwrap();
    // The numbers of the erased rows are given again.
    after_turn(&engine, &of("next"), list(&["fresh", "words"])).await;
    engine
        .maintain(&of("next"), Maintain::default())
        .await
        .unwrap();
    let store = place.store();
    let found = contextwire_store::Store::read(&store, |rows| {
        use contextwire_lossless::rows::Rows;
        use contextwire_store::LogRows;
        let session = rows.session(&name("next"))?.unwrap();
        Ok((
            rows.find(session.id, &["fresh"], 9)?,
            rows.indexed()?.behind,
        ))
    });
    assert_eq!(found.await.unwrap(), (vec![0], 0));
}

#[tokio::test]
async fn f09_e_syn_20_an_erased_entry_takes_its_summaries_along_and_the_rest_stands() {
    let place = Place::new();
    let engine = open(&place);
    let log = told(&engine).await;
    let path = place.path();
    let before = assemble(&engine, &call(), &Transcript::new(), Some(6_000)).await;
    let version = version(&place);

    let erasure = engine
        .admin()
        .erase_session(only(&["e4", "e6"]))
        .await
        .unwrap();
    assert!(erasure.found && erasure.proof.is_clean(), "{erasure:?}");
    assert_eq!(removed(&erasure, "bodies"), 2);
    assert!(removed(&erasure, "summaries") > 0);
    assert!(!holds(&path, &SECRET.as_bytes()[4..]));
    for place in [4, 6] {
        assert!(!holds(&path, &log.get(place).unwrap().digest().0));
    }

    // Every entry is still in exactly one place, of a new plan.
    let file = open_file(&path).unwrap();
    let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
    assert_eq!(past.faults(file.rows()).unwrap(), []);
    assert_eq!(past.entries(), 120);
    assert!(past.plan().version() > version);
    drop(file);
    let debt = &engine.admin().list_sessions().await.unwrap()[1].debt;
    assert!(debt.as_deref().unwrap().contains("erased"), "{debt:?}");

    // A compaction writes anew what is left, and the debt is paid.
    let after = assemble(&engine, &call(), &Transcript::new(), Some(6_000)).await;
    let epoch = |reply: &contextwire_engine::AssembleReply| {
        reply.context_projection.as_ref().unwrap().epoch.clone()
    };
    assert_ne!(epoch(&before), epoch(&after));
    let room = Compact {
        token_budget: TokenBudget::new(6_000),
        force: true,
        ..Compact::default()
    };
    assert!(engine.compact(&call(), room).await.unwrap().compacted);
    engine.maintain(&call(), Maintain::default()).await.unwrap();
    assert_eq!(engine.admin().list_sessions().await.unwrap()[1].debt, None);
    assert!(!holds(&path, &SECRET.as_bytes()[4..]));
}

fn version(place: &Place) -> u64 {
    let file = open_file(&place.path()).unwrap();
    let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
    past.plan().version()
}

#[tokio::test]
async fn an_erased_entry_stays_out_also_where_its_host_sends_it_again() {
    let place = Place::new();
    let engine = open(&place);
    let log = told(&engine).await;
    engine
        .admin()
        .erase_session(only(&["e4", "e6"]))
        .await
        .unwrap();
    // The same log, one that grew, one that was rewritten from its start, and a single message.
    after_turn(&engine, &call(), log.clone()).await;
    let mut grown: Vec<Message> = log.iter().cloned().collect();
    grown.push(entry("new"));
    after_turn(&engine, &call(), grown.iter().cloned().collect()).await;
    grown[0] = said("user", "another beginning").with_entry_id("e0");
    after_turn(&engine, &ordered(1), grown.iter().cloned().collect()).await;
    let one = turn("late", 200, vec![grown[4].clone()]);
    commit(&engine, one).await;
    after_turn(&engine, &ordered(2), grown.iter().cloned().collect()).await;
    engine.maintain(&call(), Maintain::default()).await.unwrap();
    assert!(!holds(&place.path(), SECRET.as_bytes()));
    let file = open_file(&place.path()).unwrap();
    let stored = file.log(&name("s")).unwrap().unwrap();
    assert_eq!(stored.entries.len(), 121);
    let erased: Vec<&str> = stored
        .entries
        .iter()
        .filter(|entry| entry.erased)
        .map(|entry| entry.entry_id.as_str())
        .collect();
    assert_eq!(erased, ["e4", "e6"]);
    // The host and the engine agree on the log all the same.
    let hosts: Transcript = grown.into_iter().collect();
    assert_eq!(stored.total, hosts.state());
}

/// C14: the summary of an entry that is erased while a model writes it is not published.
#[tokio::test]
async fn c14_nothing_is_published_of_an_entry_that_was_erased_meanwhile() {
    let place = Place::new();
    let stub = Stub::held();
    let options = LosslessOptions {
        summarizer: Arc::new(stub.clone()),
        ..LosslessOptions::default()
    };
    let engine = Arc::new(LosslessEngine::open(&place.path(), options).unwrap());
    let log: Transcript = secret_log().into_iter().collect();
    after_turn(&engine, &call(), log).await;
    let compacting = {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            let room = Compact {
                token_budget: TokenBudget::new(6_000),
                force: true,
                ..Compact::default()
            };
            engine.compact(&call(), room).await.unwrap()
        })
    };
    stub.asked().await;
    let erasure = engine.admin().erase_session(only(&["e4"])).await.unwrap();
    assert!(erasure.proof.is_clean(), "{erasure:?}");
    stub.release();
    compacting.await.unwrap();
    let file = open_file(&place.path()).unwrap();
    let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
    assert_eq!(past.faults(file.rows()).unwrap(), []);
    let secret = secret_log()[4].digest();
    assert!(!holds(&place.path(), &secret.0), "no source names it");
}

#[tokio::test]
async fn what_another_session_says_too_is_no_remnant() {
    let place = Place::new();
    let engine = open(&place);
    let log: Transcript = secret_log().into_iter().collect();
    after_turn(&engine, &call(), log.clone()).await;
    after_turn(&engine, &of("other"), log.clone()).await;
    let erasure = engine.admin().erase_session(all()).await.unwrap();
    assert!(erasure.proof.is_clean(), "{erasure:?}");
    assert!(erasure.proof.shared > 0);
    assert_eq!(removed(&erasure, "large payloads"), 0);
    let other = open_file(&place.path())
        .unwrap()
        .log(&name("other"))
        .unwrap();
    assert_eq!(other.unwrap().total, log.state());
}

/// A26, as an operator has it.
#[tokio::test]
async fn a26_a_pinned_entry_is_shown_verbatim_until_it_is_unpinned() {
    let place = Place::new();
    let engine = open(&place);
    told(&engine).await;
    let nothing = Transcript::new();
    let is_shown = async || {
        let reply = assemble(&engine, &call(), &nothing, Some(4_000)).await;
        payloads(&reply, &nothing)
            .iter()
            .any(|payload| payload.contains("keep zq7v"))
    };
    assert!(!is_shown().await);
    let pin = |pinned| PinEntry {
        session: name("s"),
        entry_id: EntryId::from("e4".to_owned()),
        pinned,
    };
    let pins = engine.admin().pin_entry(pin(true)).await.unwrap().unwrap();
    assert_eq!(pins, [EntryId::from("e4".to_owned())]);
    assert!(is_shown().await);
    // It is stored: another engine on the same file shows it too.
    let other = place.open();
    let reply = assemble(&other, &call(), &nothing, Some(4_000)).await;
    assert!(
        payloads(&reply, &nothing)
            .iter()
            .any(|payload| payload.contains("keep zq7v"))
    );
    assert_eq!(
        engine.admin().pin_entry(pin(false)).await.unwrap(),
        Some(Vec::new())
    );
    assert!(!is_shown().await);
    let unknown = PinEntry {
        entry_id: EntryId::from("nobody".to_owned()),
        ..pin(true)
    };
    assert_eq!(engine.admin().pin_entry(unknown).await.unwrap(), None);
}

#[tokio::test]
async fn an_erased_entry_cannot_be_pinned_any_more() {
    let place = Place::new();
    let engine = open(&place);
    told(&engine).await;
    let e4 = || EntryId::from("e4".to_owned());
    let asked = EraseSession {
        session: name("s"),
        entry_ids: vec![e4()],
    };
    assert!(engine.admin().erase_session(asked).await.unwrap().found);
    let pin = PinEntry {
        session: name("s"),
        entry_id: e4(),
        pinned: true,
    };
    let refused = engine.admin().pin_entry(pin).await.unwrap_err();
    assert!(refused.to_string().contains("is erased"), "{refused}");
}
