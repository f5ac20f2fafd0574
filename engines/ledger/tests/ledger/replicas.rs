//! Several engines on one file.

use std::sync::Arc;

use contextwire_engine::ContextEngine;

use super::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn turns_committed_through_two_replicas_at_once_are_all_there_once() {
    const TURNS: usize = 60;
    let place = Place::new();
    let replicas = [Arc::new(place.open()), Arc::new(place.open())];
    let commits = (0..TURNS * 2).map(|n| {
        // Each turn goes to both replicas.
        let (engine, n) = (Arc::clone(&replicas[n % 2]), n / 2);
        tokio::spawn(async move {
            let messages = vec![entry(&format!("u{n}")), entry(&format!("a{n}"))];
            let turn = turn(&format!("t{n}"), i64::try_from(n).unwrap(), messages);
            engine.commit_turn(&call(), turn).await
        })
    });
    let commits: Vec<_> = commits.collect();
    for commit in commits {
        commit.await.unwrap().unwrap();
    }
    let expected: Vec<_> = (0..TURNS)
        .flat_map(|n| [format!("u{n}"), format!("a{n}")])
        .collect();
    assert_eq!(place.ids(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_of_one_file_do_not_touch_each_other() {
    let place = Place::new();
    let engine = Arc::new(place.open());
    let calls = (0..40).map(|n| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            let cx = of(&format!("s{}", n % 4));
            ingest_as(&engine, &cx, entry(&format!("e{n}"))).await
        })
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        assert!(call.await.unwrap().unwrap());
    }
    let file = place.file();
    assert_eq!(file.sessions().unwrap().len(), 4);
    for n in 0..4 {
        assert_eq!(sound(&file, &format!("s{n}")).entries.len(), 10);
    }
}

#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| drop(place.open()));
        }
    });
    assert_eq!(place.file().sessions().unwrap(), []);
}
