//! When a rewrite is refused with an error, and that nothing was written then.

use contextwire_engine::{Cancellation, Omitted, TranscriptState};

use super::*;

async fn refused(store: &AnyStore, request: RewriteEntries, terms: RewriteTerms) -> StoreError {
    let before = (natives(store).await, *store.changes().borrow());
    let error = store.rewrite(request, terms).await.unwrap_err();
    assert_eq!((natives(store).await, *store.changes().borrow()), before);
    error
}

#[tokio::test]
async fn another_log_than_the_expected_one_is_stale() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let head = store.log().await.unwrap().state();
        let request = |expected| RewriteEntries {
            expected: Some(expected),
            ..replace(&[("a", &user("1"))])
        };
        let stale = request(TranscriptState::EMPTY);
        let error = refused(&store, stale, RewriteTerms::at(NOW)).await;
        assert!(matches!(error, StoreError::Stale { head: now } if now == head));

        let done = store
            .rewrite(request(head), RewriteTerms::at(NOW))
            .await
            .unwrap();
        assert!(done.changed);
        let error = refused(&store, request(head), RewriteTerms::at(NOW)).await;
        assert!(matches!(error, StoreError::Stale { head: now } if now == done.head));
    })
    .await;
}

#[tokio::test]
async fn a_closed_owner_writes_nothing() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let owner = Cancellation::new();
        let terms = RewriteTerms {
            owner: Some(owner.clone()),
            ..RewriteTerms::at(NOW)
        };
        let request = || replace(&[("a", &user("1"))]);
        let done = store.rewrite(request(), terms.clone()).await.unwrap();
        assert!(done.changed);
        owner.cancel();
        let error = refused(&store, replace(&[("a", &user("2"))]), terms).await;
        assert!(matches!(error, StoreError::Closed));
    })
    .await;
}

#[tokio::test]
async fn a_running_turns_input_may_be_shortened_and_never_exchanged() {
    let keyed = |role: &str, text: &str, key: &str| {
        format!(r#"{{"role":"{role}","content":"{text}","timestamp":1,"idempotencyKey":"{key}"}}"#)
    };
    let timed = |time: u32| format!(r#"{{"role":"user","content":"x","timestamp":{time}}}"#);
    each_store(async |store| {
        let entries = vec![
            message("k", &keyed("user", "long", "1")),
            message("t", &timed(1)),
        ];
        store.append(entries).await.unwrap();
        let terms = RewriteTerms {
            pending_inputs: vec!["k".into(), "t".into()],
            ..RewriteTerms::at(NOW)
        };
        for (id, payload) in [
            ("k", keyed("user", "long", "2")),
            ("k", keyed("assistant", "long", "1")),
            ("k", user("long")),
            ("t", timed(2)),
            ("t", keyed("user", "x", "3")),
        ] {
            let request = replace(&[(id, &payload)]);
            let error = refused(&store, request, terms.clone()).await;
            let pending =
                matches!(&error, StoreError::PendingInput { id: found } if *found == id.into());
            assert!(pending, "{payload}");
        }
        let request = replace(&[("k", &keyed("user", "l", "1"))]);
        assert!(store.rewrite(request, terms).await.unwrap().changed);
    })
    .await;
}

#[tokio::test]
async fn a_running_turns_input_is_never_dropped_as_a_twin() {
    each_store(async |store| {
        let entries = vec![
            message("a", &assistant("long")),
            message("b", &user("ok")),
            message("c", &user("ok")),
        ];
        store.append(entries).await.unwrap();
        let terms = RewriteTerms {
            pending_inputs: vec!["c".into()],
            ..RewriteTerms::at(NOW)
        };
        let request = replace(&[("a", &assistant("l"))]);
        store.rewrite(request, terms).await.unwrap();
        assert_eq!(branch(&store).await, ["a", "b", "c"]);
    })
    .await;
}

#[tokio::test]
async fn one_bad_replacement_stops_all_of_them() {
    each_store(async |store| {
        let entries = vec![message("a", &user("one")), message("b", &user("two"))];
        store.append(entries).await.unwrap();
        let bad = ["[]", "", "{", "{}{}", " {}", "{} ", "{\"a\":\n1}", "null"];
        for payload in bad {
            let request = replace(&[("a", &user("1")), ("b", payload)]);
            let error = refused(&store, request, RewriteTerms::at(NOW)).await;
            assert!(
                matches!(error, StoreError::InvalidEntry { .. }),
                "{payload:?}"
            );
            let error = store.append(vec![message("c", payload)]).await.unwrap_err();
            assert!(
                matches!(error, StoreError::InvalidEntry { .. }),
                "{payload:?}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_stub_never_takes_the_place_of_a_body() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let omitted = Some(Omitted {
            bytes: 5,
            sha256: [0; 32],
        });
        let mut request = replace(&[("a", &user("1"))]);
        for (_, message) in &mut request.replacements {
            *message = message.clone().with_omitted(omitted.clone());
        }
        let error = refused(&store, request, RewriteTerms::at(NOW)).await;
        assert!(matches!(error, StoreError::InvalidEntry { .. }));
    })
    .await;
}

#[tokio::test]
async fn an_append_that_cannot_be_is_refused_whole() {
    each_store(async |store| {
        store
            .append(vec![message("a", &user("one"))])
            .await
            .unwrap();
        let refused = async |second: NewEntry| {
            let error = store.append(vec![message("b", &user("two")), second]).await;
            assert_eq!(branch(&store).await, ["a"]);
            error.unwrap_err()
        };
        let taken = refused(message("a", &user("again"))).await;
        assert!(matches!(taken, StoreError::DuplicateEntry { .. }));
        let twice = refused(message("b", &user("again"))).await;
        assert!(matches!(twice, StoreError::DuplicateEntry { .. }));
        for unknown in [
            label("c", "x"),
            compaction("c", Some("x")),
            reset("c", Some("x")),
        ] {
            let error = refused(unknown).await;
            assert!(matches!(error, StoreError::UnknownEntry { .. }), "{error}");
        }
        let error = store.branch(Some(native("x")), NOW).await.unwrap_err();
        assert!(matches!(error, StoreError::UnknownEntry { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_boundary_keeps_from_the_active_branch_and_a_label_names_any_entry() {
    each_store(async |store| {
        let entries = vec![message("a", &user("one")), message("b", &user("two"))];
        store.append(entries).await.unwrap();
        store.branch(Some(native("a")), NOW).await.unwrap();
        let aside = message("x", &user("beside")).aside();
        for refused in [compaction("k", Some("b")), reset("r", Some("x"))] {
            let entries = vec![aside.clone(), refused];
            let error = store.append(entries).await.unwrap_err();
            assert!(matches!(error, StoreError::UnknownEntry { .. }), "{error}");
        }
        let entries = vec![aside, label("l", "b"), label("m", "x")];
        store.append(entries).await.unwrap();
        assert_eq!(branch(&store).await, ["a", "l", "m"]);
    })
    .await;
}
