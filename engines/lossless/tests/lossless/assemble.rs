//! What the model sees: the view matched to the log, the plan in force, and nothing twice.

use contextwire_engine::{
    Assemble, AssembleOutcome, ContextEngine, Ingest, KnownProjection, Message, Segment, Site,
    Transcript,
};
use contextwire_lossless::publish::{Publication, publish};
use contextwire_lossless::rows::MemoryStore;
use contextwire_lossless::{LosslessEngine, LosslessOptions, Plan};
use contextwire_store::{LogRows, Store};

use super::support::*;

/// Publishes one summary over session `s`.
async fn summarise(place: &Place, log: &[Message], (start, end): (u64, u64), text: &str) {
    let node = leaf(log, start, end, text);
    let work = move |rows: &mut contextwire_store::Tx| {
        let session = rows.session(&name("s"))?.unwrap();
        let plan = Plan::entries().with((&node).into()).unwrap();
        let publication = Publication {
            base: 0,
            plan,
            nodes: vec![node],
            replaced: Vec::new(),
        };
        publish(rows, &session, &publication)
    };
    place.store().write(&call(), work).await.unwrap().unwrap();
}

#[tokio::test]
async fn r3_1_what_the_host_shows_of_the_log_is_kept_and_not_sent_again() {
    let place = Place::new();
    let engine = place.open();
    let log: Transcript = long(40, 20).into_iter().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let reply = assemble(&engine, &call(), &log, Some(100_000)).await;
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..40)]);
    let decorated: Transcript = log
        .iter()
        .enumerate()
        .map(|(n, entry)| {
            let text = format!("[10:3{}] {}", n % 10, "decorated");
            said(entry.role(), &text).with_log_entry_id(Some(entry.entry_id().clone()))
        })
        .collect();
    let reply = assemble(&engine, &call(), &decorated, Some(100_000)).await;
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..40)]);
}

#[tokio::test]
async fn a_host_without_ids_is_matched_by_content_time_and_key() {
    let place = Place::new();
    let engine = place.open();
    let said = |text: &str, time: u64| {
        Message::from_payload(format!(
            r#"{{"role":"user","content":"{text}","timestamp":{time}}}"#
        ))
    };
    let log: Transcript = [said("ok", 1), said("ok", 1), said("go", 2), said("ok", 1)]
        .into_iter()
        .collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let reply = assemble(&engine, &call(), &log, Some(9_000)).await;
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..4)]);
    let view: Transcript = [
        said("ok", 1),
        said("ok", 1),
        said("[ann] go", 2),
        said("ok", 1),
    ]
    .into_iter()
    .collect();
    let reply = assemble(&engine, &call(), &view, Some(9_000)).await;
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..4)]);
}

#[tokio::test]
async fn a15_a_current_message_that_the_host_appends_itself_is_not_shown_from_the_log() {
    let place = Place::new();
    let engine = place.open();
    let log = list(&["a", "b", "c"]);
    bootstrap(&engine, &call(), log.clone()).await;
    let request = Ingest {
        message: entry("current"),
        is_heartbeat: false,
    };
    engine.ingest(&call(), request).await.unwrap();
    let reply = assemble(&engine, &call(), &log, Some(9_000)).await;
    assert_eq!(texts(&reply, &log), ["a", "b", "c"]);
}

#[tokio::test]
async fn i12_what_the_host_leaves_out_of_its_view_is_not_shown_from_the_log() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &call(), list(&["a", "b", "failed", "c"])).await;
    let view = list(&["a", "b", "c"]);
    let reply = assemble(&engine, &call(), &view, Some(9_000)).await;
    assert_eq!(texts(&reply, &view), ["a", "b", "c"]);
}

#[tokio::test]
async fn what_the_log_does_not_have_yet_is_shown_behind_it() {
    let place = Place::new();
    let engine = place.open();
    bootstrap(&engine, &call(), list(&["a", "b"])).await;
    let view: Transcript = list(&["a", "b"])
        .iter()
        .cloned()
        .chain([said("user", "new")])
        .collect();
    let reply = assemble(&engine, &call(), &view, Some(9_000)).await;
    assert_eq!(texts(&reply, &view), ["a", "b", "new"]);
    // The same message is in the log a turn later.
    after_turn(&engine, &call(), view.clone()).await;
    let reply = assemble(&engine, &call(), &view, Some(9_000)).await;
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..3)]);
}

#[tokio::test]
async fn a_summary_stands_for_its_entries_and_another_engine_on_the_store_sees_it() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let entries = long(20, 20);
    let log: Transcript = entries.iter().cloned().collect();
    bootstrap(&one, &call(), log.clone()).await;
    let before = assemble(&one, &call(), &log, Some(90_000)).await;
    summarise(&place, &entries, (0, 10), "they agreed on port 48213").await;
    let mut epochs = Vec::new();
    for engine in [&one, &other, &one] {
        let reply = assemble(engine, &call(), &log, Some(90_000)).await;
        let shown = payloads(&reply, &log);
        assert!(shown[0].contains("they agreed on port 48213"));
        assert_eq!(reply.messages.segments()[1..], [Segment::Keep(10..20)]);
        assert_eq!(reply.reasons.len(), reply.messages.segments().len());
        epochs.push(reply.context_projection.unwrap().epoch);
    }
    // E02: once, and the same on another replica.
    assert_ne!(before.context_projection.unwrap().epoch, epochs[0]);
    assert!(epochs.iter().all(|epoch| *epoch == epochs[0]));
}

#[tokio::test]
async fn a18_and_a27_assembling_changes_nothing_and_equal_questions_have_equal_answers() {
    let place = Place::new();
    let engine = place.open();
    let log: Transcript = long(400, 60).into_iter().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let first = assemble(&engine, &call(), &log, Some(8_000)).await;
    let wide = assemble(&engine, &call(), &log, Some(200_000)).await;
    assert_eq!(wide.messages.segments(), [Segment::Keep(0..400)]);
    for _ in 0..5 {
        assert_eq!(assemble(&engine, &call(), &log, Some(8_000)).await, first);
    }
    // A cold start answers the same.
    assert_eq!(
        assemble(&place.open(), &call(), &log, Some(8_000)).await,
        first
    );
    assert!(first.estimated_tokens <= 8_000);
}

#[tokio::test]
async fn a19_and_e01_turns_without_a_compaction_only_grow_the_context_at_its_end() {
    let place = Place::new();
    let engine = place.open();
    let entries = long(60, 20);
    let mut before: Vec<String> = Vec::new();
    let mut epoch = None;
    for turns in (4..60).step_by(2) {
        let log: Transcript = entries[..turns].iter().cloned().collect();
        after_turn(&engine, &call(), log.clone()).await;
        let reply = assemble(&engine, &call(), &log, Some(60_000)).await;
        let now = payloads(&reply, &log);
        assert!(now.starts_with(&before));
        before = now;
        let projection = reply.context_projection.unwrap();
        assert!(epoch.is_none() || epoch == projection.epoch);
        epoch = projection.epoch;
    }
}

#[tokio::test]
async fn r10_2_a_thread_that_shows_the_same_already_gets_it_said() {
    let place = Place::new();
    let engine = place.open();
    let log: Transcript = long(20, 20).into_iter().collect();
    bootstrap(&engine, &call(), log.clone()).await;
    let reply = assemble(&engine, &call(), &log, Some(9_000)).await;
    let projection = reply.context_projection.unwrap();
    let mut request = Assemble {
        known_projection: Some(KnownProjection {
            epoch: projection.epoch.unwrap(),
            fingerprint: projection.fingerprint,
        }),
        ..question(&log, Some(9_000))
    };
    let same = engine.assemble(&call(), request.clone()).await.unwrap();
    let AssembleOutcome::Unchanged(unchanged) = same else {
        panic!("the thread shows it");
    };
    assert_eq!(unchanged.estimated_tokens, reply.estimated_tokens);
    // A rewritten message is another fingerprint.
    let mut entries: Vec<Message> = log.iter().cloned().collect();
    entries[19] = said("assistant", "corrected").with_entry_id("e19");
    let correction = Ingest {
        message: entries[19].clone(),
        is_heartbeat: false,
    };
    engine.ingest(&call(), correction).await.unwrap();
    request.transcript = entries.into_iter().collect();
    let other = engine.assemble(&call(), request).await.unwrap();
    assert!(matches!(other, AssembleOutcome::Messages(_)));
}

#[tokio::test]
async fn the_model_in_memory_answers_as_the_tables_do() {
    let place = Place::new();
    let (file, memory) = (
        place.open(),
        LosslessEngine::over(MemoryStore::new(), <_>::default()),
    );
    let log: Transcript = long(120, 40).into_iter().collect();
    bootstrap(&file, &call(), log.clone()).await;
    bootstrap(&memory, &call(), log.clone()).await;
    for budget in [500, 2_000, 5_000, 100_000] {
        let one = assemble(&file, &call(), &log, Some(budget)).await;
        assert_eq!(
            one,
            assemble(&memory, &call(), &log, Some(budget)).await,
            "{budget}"
        );
    }
}

#[tokio::test]
async fn l05_while_another_process_writes_assemblies_go_on_and_commits_are_transient() {
    let place = Place::new();
    let options = LosslessOptions {
        busy_timeout: std::time::Duration::ZERO,
        ..<_>::default()
    };
    let engine = LosslessEngine::open(&place.path(), options).unwrap();
    let log = list(&["a", "b"]);
    bootstrap(&engine, &call(), log.clone()).await;
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let reply = assemble(&engine, &call(), &log, Some(9_000)).await;
    assert_eq!(texts(&reply, &log), ["a", "b"]);
    let refused = engine
        .commit_turn(&call(), turn("k", 1, vec![entry("c")]))
        .await;
    let transient = contextwire_engine::ErrorKind::Transient;
    assert_eq!(refused.unwrap_err().kind(), transient);
    other.execute_batch("ROLLBACK").unwrap();
    commit(&engine, turn("k", 1, vec![entry("c")])).await;
}

#[tokio::test]
async fn f06_a_damaged_summary_is_not_shown_and_its_entries_are() {
    let place = Place::new();
    let entries = long(20, 20);
    let log: Transcript = entries.iter().cloned().collect();
    bootstrap(&place.open(), &call(), log.clone()).await;
    summarise(&place, &entries, (0, 10), "they agreed on port 48213").await;
    let other = rusqlite::Connection::open(place.path()).unwrap();
    let damaged = other.execute("UPDATE summary SET text = 'something else'", ());
    assert_eq!(damaged.unwrap(), 1);
    let reply = assemble(&place.open(), &call(), &log, Some(90_000)).await;
    let shown = payloads(&reply, &log);
    assert!(
        !shown
            .iter()
            .any(|payload| payload.contains("something else"))
    );
}

#[tokio::test]
async fn an_upload_is_answered_with_nothing() {
    let place = Place::new();
    let engine = place.open();
    let request = Assemble {
        site: Site::Sync,
        ..question(&list(&["a"]), None)
    };
    let AssembleOutcome::Messages(reply) = engine.assemble(&call(), request).await.unwrap() else {
        panic!("no projection was known");
    };
    assert!(reply.messages.is_empty());
}

/// E03: what the tables number is nothing that a model or a thread sees.
#[tokio::test]
async fn e03_a_file_that_is_written_anew_gives_the_same_epoch_and_bytes() {
    let place = Place::new();
    let options = LosslessOptions {
        summarizer: std::sync::Arc::new(super::stub::Stub::default()),
        ..LosslessOptions::default()
    };
    let log: Transcript = long(120, 60).into_iter().collect();
    let before = {
        let engine = LosslessEngine::open(&place.path(), options).unwrap();
        after_turn(&engine, &of("first"), list(&["x"])).await;
        after_turn(&engine, &call(), log).await;
        let room = contextwire_engine::Compact {
            token_budget: contextwire_engine::TokenBudget::new(6_000),
            force: true,
            ..contextwire_engine::Compact::default()
        };
        assert!(engine.compact(&call(), room).await.unwrap().compacted);
        // What stands before it goes, so that the numbers of rows and pages are others.
        let erase = contextwire_engine::EraseSession {
            session: name("first"),
            entry_ids: Vec::new(),
        };
        let before = assemble(&engine, &call(), &Transcript::new(), Some(6_000)).await;
        contextwire_engine::EngineAdmin::erase_session(&engine.admin(), erase)
            .await
            .unwrap();
        before
    };
    let file = rusqlite::Connection::open(place.path()).unwrap();
    file.execute_batch("VACUUM").unwrap();
    drop(file);
    let after = assemble(&place.open(), &call(), &Transcript::new(), Some(6_000)).await;
    assert_eq!(after.context_projection, before.context_projection);
    let nothing = Transcript::new();
    assert_eq!(payloads(&after, &nothing), payloads(&before, &nothing));
}
