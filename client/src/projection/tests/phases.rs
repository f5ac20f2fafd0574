//! Bindings on disk: two phases, successors, and files that are not understood.

use contextwire_engine::{Session, SessionId};

use super::*;

fn session(id: &str) -> Session {
    Session::new(SessionId::new(id).unwrap())
}

fn successor(id: &str, of: &str) -> Session {
    Session {
        previous_id: Some(SessionId::new(of).unwrap()),
        ..session(id)
    }
}

fn store(root: &tempfile::TempDir) -> BindingStore {
    BindingStore::new(root.path().join("bindings"), "scripted")
}

fn draft(epoch: &str) -> BindingDraft {
    let reply = bootstrap(epoch, "f");
    let plan = run(&planner(), None, Assembly::Answered(&reply));
    let BindingStep::Begin(draft) = plan.binding else {
        panic!("nothing is bound")
    };
    draft
}

#[test]
fn r10_3_a_binding_is_pending_on_disk_until_the_thread_has_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let (store, session) = (store(&root), session("s"));
    assert_eq!(store.get(&session).unwrap(), None);
    let pending = store
        .begin(&session, draft("e1"), Some("t1".to_owned()))
        .unwrap();
    let seen = store.get(&session).unwrap().unwrap();
    assert_eq!(seen, draft("e1").pending(Some("t1".to_owned())));
    assert_eq!(seen.usable_thread(), None);
    let binding = pending.confirm("t1").unwrap();
    assert_eq!(store.get(&session).unwrap(), Some(binding));
}

#[test]
fn r10_3_a_crash_between_the_phases_always_ends_in_a_new_thread() {
    let planner = planner();
    let reply = bootstrap("e1", "f");
    for thread_id in [None, Some("t1".to_owned())] {
        let root = tempfile::tempdir().unwrap();
        let (store, session) = (store(&root), session("s"));
        let first = store.begin(&session, draft("e1"), None).unwrap();
        first.confirm("t0").unwrap();
        // The host dies before the thread says that it has the context.
        drop(store.begin(&session, draft("e1"), thread_id).unwrap());
        let bound = store.get(&session).unwrap();
        let (engine, tools) = (engine(), tools());
        assert_eq!(planner.known(Some(&engine), bound.as_ref(), &tools), None);
        let plan = run(&planner, bound.as_ref(), Assembly::Answered(&reply));
        assert_eq!(plan.reason, ProjectionReason::Unconfirmed);
        assert!(is_rotated(&plan));
        assert!(matches!(plan.content, Content::Projected(_)));
        // Not even the engine's absence revives it.
        let plan = run(&planner, bound.as_ref(), Assembly::Failed);
        assert!(is_rotated(&plan));
    }
}

#[test]
fn bindings_follow_a_successor_once_and_for_good() {
    let root = tempfile::tempdir().unwrap();
    let store = store(&root);
    let binding = draft("e1").confirmed("t1");
    store.put(&session("s1"), &binding).unwrap();
    let second = successor("s2", "s1");
    assert_eq!(store.get(&second).unwrap().as_ref(), Some(&binding));
    assert_eq!(store.get(&session("s1")).unwrap(), None);
    let third = successor("s3", "s2");
    assert_eq!(store.get(&third).unwrap(), Some(binding));
    store.remove(&third).unwrap();
    assert_eq!(store.get(&third).unwrap(), None);
}

#[test]
fn c286_a_bootstrap_moves_to_the_successor_in_place_of_what_that_has() {
    let root = tempfile::tempdir().unwrap();
    let store = store(&root);
    store
        .put(&session("s1"), &draft("e1").confirmed("t1"))
        .unwrap();
    store
        .put(&session("s2"), &draft("e9").confirmed("t9"))
        .unwrap();
    let [from, to] = ["s1", "s2"].map(|id| SessionId::new(id).unwrap());
    store.succeed(&from, &to).unwrap();
    let bound = store.get(&session("s2")).unwrap().unwrap();
    assert_eq!(bound.usable_thread(), Some("t1"));
    assert_eq!(store.get(&session("s1")).unwrap(), None);
}

#[test]
fn a_predecessors_binding_does_not_come_back() {
    let root = tempfile::tempdir().unwrap();
    let store = store(&root);
    store
        .put(&session("s1"), &draft("e1").confirmed("t1"))
        .unwrap();
    let second = successor("s2", "s1");
    drop(store.begin(&second, draft("e2"), None).unwrap());
    store.remove(&second).unwrap();
    assert_eq!(store.get(&second).unwrap(), None);
}

#[test]
fn sessions_and_backends_do_not_meet() {
    let root = tempfile::tempdir().unwrap();
    let one = store(&root);
    let other = BindingStore::new(one.folder(), "another");
    one.put(&session("s"), &draft("e1").confirmed("t1"))
        .unwrap();
    assert_eq!(other.get(&session("s")).unwrap(), None);
    assert_eq!(one.get(&session("s2")).unwrap(), None);
    let odd = session("../../etc/passwd\n");
    one.put(&odd, &draft("e2").confirmed("t2")).unwrap();
    assert_eq!(std::fs::read_dir(one.folder()).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_not_understood_is_no_binding_and_a_newer_form_is_not_gone_on_in() {
    let root = tempfile::tempdir().unwrap();
    let (store, session) = (store(&root), session("s"));
    store.put(&session, &draft("e1").confirmed("t1")).unwrap();
    let mut files = std::fs::read_dir(store.folder()).unwrap();
    let path = files.next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&path).unwrap();
    let first = r#""schemaVersion": 1"#;
    std::fs::write(&path, text.replacen(first, r#""schemaVersion": 2"#, 1)).unwrap();
    let newer = store.get(&session).unwrap().unwrap();
    let reply = bootstrap("e1", "f");
    let plan = run(&planner(), Some(&newer), Assembly::Answered(&reply));
    assert_eq!(plan.reason, ProjectionReason::BindingMismatch);
    assert!(is_rotated(&plan));
    std::fs::write(&path, "{").unwrap();
    assert_eq!(store.get(&session).unwrap(), None);
}
