//! The states of a row (HOST-SEMANTICS 9.1).

use contextwire_engine::EndSubagent;

use super::*;

fn is_collision<T>(outcome: &Result<T, OutboxError>) -> bool {
    matches!(outcome, Err(OutboxError::Collision { .. }))
}

#[tokio::test]
async fn a_turn_goes_from_admitted_over_accepted_to_ready_in_one_row() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    let first = outbox.admit(to(), session("s"), admission("t1")).await;
    assert_eq!(desk.shown(), ["t1 admitted"]);
    let then = outbox.accept(to(), session("s"), accepted("t1")).await;
    assert_eq!(desk.shown(), ["t1 accepted"]);
    let last = desk.commit("s", "t1").await;
    assert_eq!(desk.shown(), ["t1 ready"]);
    assert_eq!((first.unwrap(), then.unwrap()), (last, last));
}

#[tokio::test]
async fn the_identical_row_again_is_nothing_and_any_other_step_is_a_collision() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    desk.commit("s", "t1").await;
    desk.commit("s", "t1").await;
    assert_eq!(desk.shown(), ["t1 ready"]);
    let back = outbox.accept(to(), session("s"), accepted("t1")).await;
    assert!(is_collision(&back));
    let mut other = turn("t1");
    other.messages.pop();
    let changed = NewRow {
        call: OutboxCall::CommitTurn(Box::new(other)),
        ..commit("s", "t1")
    };
    assert!(is_collision(&outbox.append(changed).await));
    outbox
        .accept(to(), session("s"), accepted("t2"))
        .await
        .unwrap();
    let other_end = AcceptedTurn {
        terminal: EntryAnchor {
            entry_id: "elsewhere".to_owned(),
            ..EntryAnchor::default()
        },
        ..accepted("t2")
    };
    let moved = outbox.accept(to(), session("s"), other_end).await;
    assert!(is_collision(&moved));
    assert_eq!(desk.shown(), ["t1 ready", "t2 accepted"]);
}

#[tokio::test]
async fn c192_the_key_of_another_engine_or_owner_is_a_collision() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    for to in [
        Addressee::new("other"),
        Addressee {
            owner: Some("plugin".to_owned()),
            ..to()
        },
    ] {
        let row = NewRow {
            to,
            ..commit("s", "t1")
        };
        let outcome = desk.outbox.append(row).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("advancement key collision"), "{error}");
    }
    assert_eq!(desk.shown(), ["t1 ready"]);
}

#[tokio::test]
async fn c178_a_turn_that_was_only_admitted_is_forgotten_and_the_next_one_recorded() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    outbox
        .admit(to(), session("s"), admission("t1"))
        .await
        .unwrap();
    outbox
        .admit(to(), session("x"), admission("t0"))
        .await
        .unwrap();
    outbox
        .accept(to(), session("s"), accepted("t2"))
        .await
        .unwrap();
    let left = outbox.recover(&to(), &session("s")).await.unwrap();
    assert_eq!(left.len(), 1);
    outbox
        .admit(to(), session("s"), admission("t3"))
        .await
        .unwrap();
    assert_eq!(desk.shown(), ["t0 admitted", "t2 accepted", "t3 admitted"]);
}

#[tokio::test]
async fn c193_a_turn_that_did_not_complete_is_discarded_and_an_accepted_one_is_not() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    outbox
        .admit(to(), session("s"), admission("t1"))
        .await
        .unwrap();
    outbox.discard("t1").await.unwrap();
    assert!(desk.shown().is_empty());
    outbox
        .accept(to(), session("s"), accepted("t2"))
        .await
        .unwrap();
    outbox.discard("t2").await.unwrap();
    assert_eq!(desk.shown(), ["t2 accepted"]);
}

#[tokio::test]
async fn a_spawn_is_settled_once_and_the_other_way_is_a_collision() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    outbox.append(resolve(SpawnOutcome::Started)).await.unwrap();
    outbox.append(resolve(SpawnOutcome::Started)).await.unwrap();
    let other = outbox.append(resolve(SpawnOutcome::RolledBack)).await;
    assert!(is_collision(&other));
    let end = EndSubagent {
        child_session_key: "child".to_owned(),
        ..EndSubagent::default()
    };
    let end = NewRow {
        call: OutboxCall::EndSubagent(end),
        ..commit("child-1", "-")
    };
    outbox.append(end).await.unwrap();
    let child = NewRow {
        session: key_session("child-1", "child"),
        ..commit("-", "t1")
    };
    outbox.append(child).await.unwrap();
    let lanes: Vec<_> = outbox
        .rows()
        .unwrap()
        .into_iter()
        .map(|row| row.lane)
        .collect();
    assert_eq!(lanes, ["key child"; 3]);
}

#[tokio::test]
async fn a_full_disk_refuses_the_row_and_what_is_there_is_delivered_and_makes_room() {
    let desk = Desk::with(|options| options.max_bytes = Some(200_000));
    let outbox = &desk.outbox;
    let large = |key: &str| {
        let payload = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(50_000));
        let turn = accepted(key).with_messages(vec![Message::from_payload(payload)]);
        NewRow {
            call: OutboxCall::CommitTurn(Box::new(turn)),
            ..commit("s", key)
        }
    };
    let mut written = 0;
    let refused = loop {
        match outbox.append(large(&format!("t{written}"))).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, OutboxError::Full), "{refused}");
    assert!((1..=4).contains(&written), "{written}");
    assert_eq!(outbox.rows().unwrap().len(), written);
    let passed = outbox.pass("lossless", &Engine::default()).await.unwrap();
    assert_eq!(passed.delivered, written);
    outbox.append(large("later")).await.unwrap();
}

#[tokio::test]
async fn r9_3_a_spawn_is_in_the_journal_before_it_is_asked_for_until_it_is_settled() {
    let desk = Desk::new();
    let outbox = &desk.outbox;
    let request = contextwire_engine::PrepareSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        child_session_key: "child".to_owned(),
        ..<_>::default()
    };
    let parent = session("parent");
    outbox.journal_spawn(to(), &parent, &request).await.unwrap();
    outbox.journal_spawn(to(), &parent, &request).await.unwrap();
    let open = outbox.open_spawns().await.unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!((&open[0].request, open[0].is_orphan), (&request, false));
    assert_eq!(outbox.status("lossless").unwrap().open_spawns, 1);

    let outcome = SpawnOutcome::RolledBack;
    outbox.settle_spawn("spawn", outcome).await.unwrap();
    assert!(outbox.open_spawns().await.unwrap().is_empty());
    outbox.settle_spawn("spawn", outcome).await.unwrap();
    let other = outbox.settle_spawn("spawn", SpawnOutcome::Started).await;
    assert!(is_collision(&other));
    let engine = Engine::default();
    outbox.pass("lossless", &engine).await.unwrap();
    assert_eq!(engine.keys(), ["resolve spawn"]);
    let unknown = outbox.settle_spawn("spawn", outcome).await;
    assert!(matches!(unknown, Err(OutboxError::UnknownSpawn { .. })));
}

#[tokio::test]
async fn r2_3_a_native_id_keeps_its_lineage_and_only_what_differs_is_kept() {
    let desk = Desk::new();
    let lineage = desk.outbox.lineage(session("s").id);
    let native = |id: &str| crate::store::NativeId::new(id).unwrap();
    let pairs = vec![(native("n1"), "n1".into()), (native("n2"), "e2".into())];
    lineage.record(pairs).await.unwrap();
    lineage
        .record(vec![(native("n2"), "other".into())])
        .await
        .unwrap();
    let map = lineage.map().await.unwrap();
    assert_eq!(map, [("n2".to_owned(), "e2".into())].into());
    let next = session("s-2").id;
    desk.outbox.succeed(&session("s").id, &next).await.unwrap();
    assert_eq!(desk.outbox.lineage(next).map().await.unwrap(), map);
}

#[tokio::test]
async fn r2_3_a_rewrite_is_in_the_map_before_the_engine_hears_of_it() {
    use contextwire_engine::{HostCall, HostCalls as _, RewriteEntries};

    use crate::session_host::SessionHost;
    use crate::store::{AnyStore, MemoryStore, NewEntry, TranscriptStore as _};

    let desk = Desk::new();
    let store = AnyStore::new(MemoryStore::with_entry_ids());
    let said =
        |text: &str| NewEntry::message(format!(r#"{{"role":"user","content":"{text}"}}"#), 0);
    let ids = store.append(vec![said("long"), said("b")]).await.unwrap();
    let lineage = desk.outbox.lineage(session("s").id);
    let host = SessionHost::new(session("s"), store.clone()).with_lineage(lineage.clone());
    let rewrite = || {
        HostCall::Rewrite(RewriteEntries {
            replacements: vec![(ids[0].clone(), Message::from_payload(r#"{"role":"user"}"#))],
            ..RewriteEntries::default()
        })
    };
    host.serve(rewrite()).await.unwrap();
    let map = lineage.map().await.unwrap();
    let entries = store.entries().await.unwrap();
    assert_eq!(map.len(), 2);
    for entry in &entries {
        assert_eq!(map[entry.id().as_str()], *entry.entry_id());
    }

    // Without a place for the map the engine hears of no rewrite.
    let full = Desk::new();
    let spoil = full
        .outbox
        .write(|db| Ok(db.execute_batch("DROP TABLE lineage")?));
    spoil.await.unwrap();
    let lineage = full.outbox.lineage(session("s").id);
    let host = SessionHost::new(session("s"), store).with_lineage(lineage);
    let error = host.serve(rewrite()).await.unwrap_err();
    assert!(error.retryable);
}
