//! Two hosts on one file, and hosts that ended.

use super::*;

#[tokio::test]
async fn what_one_host_delivers_another_leaves_alone_until_the_claim_ends() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let other = desk.another();
    let wanted = |outbox: &Outbox, now_ms| claim::Wanted {
        engine: "lossless".to_owned(),
        lane: "id s".to_owned(),
        claim: outbox.next_claim(),
        now_ms,
        heeds_due: true,
    };
    let first = wanted(&desk.outbox, 1_000_000);
    let held = first.claim.clone();
    let head = desk.outbox.write(move |db| claim::head(db, &first));
    let claim::Head::Claimed(row, _) = head.await.unwrap() else {
        panic!("nobody else is there")
    };
    for (at, expected) in [(1_029_999, false), (1_030_000, true)] {
        let second = wanted(&other, at);
        let head = other.write(move |db| claim::head(db, &second)).await;
        let is_claimed = matches!(head.unwrap(), claim::Head::Claimed(..));
        assert_eq!(is_claimed, expected, "{at}");
    }
    // The first one went on too late: what it does changes nothing.
    let id = row.id;
    let holds = desk.outbox.write(move |db| claim::holds(db, id, &held));
    assert!(!holds.await.unwrap());
}

#[tokio::test]
async fn two_hosts_deliver_each_row_once_and_in_order() {
    let desk = Desk::new();
    for n in 0..12 {
        desk.commit(&format!("s{}", n % 3), &format!("t{n:02}"))
            .await;
    }
    let (other, engine) = (desk.another(), Engine::default());
    for _ in 0..4 {
        let (one, two) = tokio::join!(
            desk.outbox.pass("lossless", &engine),
            other.pass("lossless", &engine)
        );
        one.unwrap();
        two.unwrap();
    }
    assert!(desk.shown().is_empty());
    for lane in 0..3 {
        let mut keys = engine.keys();
        keys.retain(|key| key[1..].parse::<usize>().unwrap() % 3 == lane);
        let mut sorted = keys.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(keys, sorted);
        assert_eq!(keys.len(), 4);
    }
}

#[tokio::test]
async fn what_a_host_that_ended_held_is_free_at_once_and_its_spawns_are_orphans() {
    let desk = Desk::new();
    desk.commit("s", "t1").await;
    let gone = desk.another();
    let wanted = claim::Wanted {
        engine: "lossless".to_owned(),
        lane: "id s".to_owned(),
        claim: gone.next_claim(),
        now_ms: 1_000_000,
        heeds_due: true,
    };
    let head = gone.write(move |db| claim::head(db, &wanted)).await;
    assert!(matches!(head.unwrap(), claim::Head::Claimed(..)));
    let request = contextwire_engine::PrepareSubagentSpawn {
        spawn_id: "spawn".to_owned(),
        child_session_key: "child".to_owned(),
        ..<_>::default()
    };
    let parent = session("parent");
    gone.journal_spawn(to(), &parent, &request).await.unwrap();
    let is_orphan = async || desk.outbox.open_spawns().await.unwrap()[0].is_orphan;
    assert!(!is_orphan().await);
    drop(gone);

    assert!(is_orphan().await);
    let engine = Engine::default();
    desk.outbox.pass("lossless", &engine).await.unwrap();
    assert_eq!(engine.keys(), ["t1"]);
    let left = std::fs::read_dir(desk.folder.path()).unwrap();
    let locks = left.filter(|it| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().contains(".host-")
    });
    assert_eq!(locks.count(), 1);
}
