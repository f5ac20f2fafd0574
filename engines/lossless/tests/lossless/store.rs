//! One suite for every store: the same work on SQLite and in memory has the same outcome.

use contextwire_engine::durable::{Ledger, Preparation, Stage, UnixMillis};
use contextwire_engine::{Digest, ErrorKind};
use contextwire_lossless::node::{NodeParts, NodeState, Provenance, Sources, SummaryNode};
use contextwire_lossless::publish::{Outdated, Publication, publish, settle};
use contextwire_lossless::rows::{Fork, Indexed, MemoryStore, Rows};
use contextwire_lossless::{Plan, Redaction, Span};
use contextwire_store::{LogRows, Outcome, SessionRow, Store, log};

use super::support::*;

macro_rules! suite {
    ($($test:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let place = super::Place::new();
                super::$test(place.store()).await;
            })*
        }
        mod memory {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::MemoryStore::new()).await;
            })*
        }
    };
}

suite! {
    what_fails_leaves_nothing_behind,
    a_version_is_published_and_read_back_with_its_summaries,
    c11_of_two_plans_over_one_version_the_second_is_refused,
    c14_a_summary_of_entries_that_changed_meanwhile_is_refused,
    c13_entries_appended_meanwhile_do_not_matter,
    a_rewritten_entry_takes_only_its_own_summary_out_of_force,
    a_log_that_is_cut_takes_the_summaries_behind_the_cut_along,
    an_old_version_is_found_by_its_number_and_by_the_log_of_its_time,
    a_fork_is_seen_until_its_spawn_is_rolled_back,
    the_index_lags_and_says_so,
    corrections_are_named_with_what_they_are_now,
    bodies_are_read_in_pieces_of_so_many_bytes,
}

/// Puts a log into session `s`.
async fn fill<S: Store<Rows: Rows>>(
    store: &S,
    entries: Vec<contextwire_engine::Message>,
) -> SessionRow {
    let work = move |rows: &mut S::Rows| {
        let log = entries.into_iter().collect();
        let change = contextwire_engine::durable::LogChange::Replace;
        log::update(rows, &call(), &name("s"), &log, change)?;
        settle(rows, &call())?;
        Ok(rows.session(&name("s"))?.unwrap())
    };
    store.write(&call(), work).await.unwrap()
}

async fn published<S: Store<Rows: Rows>>(
    store: &S,
    base: u64,
    plan: Plan,
    nodes: Vec<SummaryNode>,
) -> Result<u64, Outdated> {
    let work = move |rows: &mut S::Rows| {
        let session = rows.session(&name("s"))?.unwrap();
        let publication = Publication {
            base,
            plan,
            nodes,
            replaced: Vec::new(),
        };
        publish(rows, &session, &publication)
    };
    let published = store.write(&call(), work).await.unwrap();
    published.map(|stored| stored.plan.version())
}

async fn plan<S: Store<Rows: Rows>>(store: &S) -> Option<Plan> {
    let look = |rows: &S::Rows| {
        let session = rows.session(&name("s"))?.unwrap();
        Ok(rows.plan(session.id)?.map(|stored| stored.plan))
    };
    store.read(look).await.unwrap()
}

async fn what_fails_leaves_nothing_behind<S: Store<Rows: Rows>>(store: S) {
    let cx = call();
    let failed = store.write(&cx, |rows| {
        rows.add_session(&name("s"))?;
        rows.index(9, &Redaction::default())?;
        Err::<(), _>(contextwire_engine::EngineError::rejected("no"))
    });
    assert_eq!(failed.await.unwrap_err().kind(), ErrorKind::Rejected);
    let seen = store.read(|rows| rows.session(&name("s")));
    assert_eq!(seen.await.unwrap(), None);
}

async fn a_version_is_published_and_read_back_with_its_summaries<S: Store<Rows: Rows>>(store: S) {
    let entries = long(8, 5);
    let session = fill(&store, entries.clone()).await;
    let (one, two) = (
        leaf(&entries, 0, 3, "first"),
        leaf(&entries, 3, 6, "second"),
    );
    let plan = Plan::entries().with((&one).into()).unwrap();
    let plan = plan.with((&two).into()).unwrap().as_version(1);
    let nodes = vec![one.clone(), two.clone()];
    assert_eq!(published(&store, 0, plan.clone(), nodes).await, Ok(1));
    let over = SummaryNode::new(NodeParts {
        depth: 1,
        span: Span::new(0, 6),
        sources: Sources::Nodes(vec![one.id(), two.id()]),
        text: "both \u{1f980}".to_owned(),
        source_tokens: 600,
        times: None,
        provenance: Provenance::Provisional,
    });
    let next = plan.with((&over).into()).unwrap();
    assert_eq!(
        published(&store, 1, next.clone(), vec![over.clone()]).await,
        Ok(2)
    );
    let (one, over, works) = (one.id(), over, over_works());
    let id = over.id();
    let look = store.read(move |rows| {
        let work = rows.node(session.id, id)?.map(|node| node.source_key());
        let found = work
            .map(|work| rows.node_of_work(session.id, work))
            .transpose()?;
        Ok((
            rows.node(session.id, one)?.map(|node| node.state()),
            rows.node(session.id, id)?,
            found.flatten().map(|node| node.id()),
            rows.node_of_work(session.id, works)?,
            rows.plan(session.id)?,
        ))
    });
    let (old, read, by_work, nothing, stored) = look.await.unwrap();
    assert_eq!(old, Some(NodeState::Sound));
    assert_eq!(read, Some(over));
    assert!(read.is_some_and(|node| node.is_genuine() && node.state() == NodeState::Repair));
    assert_eq!((by_work, nothing), (Some(id), None));
    let stored = stored.unwrap();
    assert_eq!((stored.plan, stored.log), (next, 8));
}

/// The identity of work that nobody did.
fn over_works() -> Digest {
    Digest([9; 32])
}

async fn c11_of_two_plans_over_one_version_the_second_is_refused<S: Store<Rows: Rows>>(store: S) {
    let entries = long(6, 5);
    fill(&store, entries.clone()).await;
    let one = leaf(&entries, 0, 2, "a");
    let first = Plan::entries().with((&one).into()).unwrap();
    assert_eq!(published(&store, 0, first.clone(), vec![one]).await, Ok(1));
    let other = leaf(&entries, 2, 4, "b");
    let second = Plan::entries().with((&other).into()).unwrap();
    assert_eq!(
        published(&store, 0, second, vec![other]).await,
        Err(Outdated::Plan)
    );
    assert_eq!(plan(&store).await, Some(first));
}

async fn c14_a_summary_of_entries_that_changed_meanwhile_is_refused<S: Store<Rows: Rows>>(
    store: S,
) {
    let mut entries = long(6, 5);
    fill(&store, entries.clone()).await;
    let node = leaf(&entries, 1, 4, "a");
    let plan_of = Plan::entries().with((&node).into()).unwrap();
    entries[2] = said("user", "rewritten").with_entry_id("e2");
    fill(&store, entries.clone()).await;
    let refused = published(&store, 0, plan_of.clone(), vec![node.clone()]).await;
    let span = Span::new(1, 4);
    assert_eq!(refused, Err(Outdated::Entries { span }));
    fill(&store, entries[..3].to_vec()).await;
    let refused = published(&store, 0, plan_of, vec![node]).await;
    assert!(matches!(refused, Err(Outdated::Entries { .. })));
    assert_eq!(plan(&store).await, None);
}

async fn c13_entries_appended_meanwhile_do_not_matter<S: Store<Rows: Rows>>(store: S) {
    let entries = long(9, 5);
    fill(&store, entries[..6].to_vec()).await;
    let node = leaf(&entries, 0, 4, "a");
    fill(&store, entries.clone()).await;
    let next = Plan::entries().with((&node).into()).unwrap();
    assert_eq!(published(&store, 0, next.clone(), vec![node]).await, Ok(1));
    assert_eq!(plan(&store).await, Some(next));
}

async fn a_rewritten_entry_takes_only_its_own_summary_out_of_force<S: Store<Rows: Rows>>(store: S) {
    let mut entries = long(9, 5);
    fill(&store, entries.clone()).await;
    let nodes = [(0, 3), (3, 6), (6, 8)].map(|(start, end)| leaf(&entries, start, end, "t"));
    let mut three = Plan::entries();
    for node in &nodes {
        three = three.with(node.into()).unwrap();
    }
    let three = three.as_version(1);
    assert_eq!(published(&store, 0, three, nodes.to_vec()).await, Ok(1));
    entries[4] = said("user", "shorter").with_entry_id("e4");
    fill(&store, entries).await;
    let kept = plan(&store).await.unwrap();
    assert_eq!(kept.version(), 2);
    assert_eq!(kept.summaries(), [(&nodes[0]).into(), (&nodes[2]).into()]);
}

async fn a_log_that_is_cut_takes_the_summaries_behind_the_cut_along<S: Store<Rows: Rows>>(
    store: S,
) {
    let entries = long(9, 5);
    fill(&store, entries.clone()).await;
    let nodes = [(0, 3), (3, 6)].map(|(start, end)| leaf(&entries, start, end, "t"));
    let mut two = Plan::entries();
    for node in &nodes {
        two = two.with(node.into()).unwrap();
    }
    let two = two.as_version(1);
    assert_eq!(
        published(&store, 0, two.clone(), nodes.to_vec()).await,
        Ok(1)
    );
    fill(&store, entries[..7].to_vec()).await;
    assert_eq!(plan(&store).await, Some(two), "behind the last summary");
    fill(&store, entries[..5].to_vec()).await;
    let kept = plan(&store).await.unwrap();
    assert_eq!(kept.summaries(), [(&nodes[0]).into()]);
    fill(&store, Vec::new()).await;
    assert_eq!(plan(&store).await.unwrap().summaries(), []);
}

async fn an_old_version_is_found_by_its_number_and_by_the_log_of_its_time<S: Store<Rows: Rows>>(
    store: S,
) {
    let entries = long(9, 5);
    let session = fill(&store, entries[..4].to_vec()).await.id;
    let one = leaf(&entries, 0, 2, "a");
    let first = Plan::entries().with((&one).into()).unwrap();
    assert_eq!(published(&store, 0, first.clone(), vec![one]).await, Ok(1));
    fill(&store, entries.clone()).await;
    let two = leaf(&entries, 2, 6, "b");
    let second = first.with((&two).into()).unwrap();
    assert_eq!(published(&store, 1, second.clone(), vec![two]).await, Ok(2));
    let look = store.read(move |rows| {
        let at = |log| -> Outcome<Option<Plan>> {
            Ok(rows.plan_at(session, log)?.map(|stored| stored.plan))
        };
        let of = rows.plan_of_version(session, 1)?.map(|stored| stored.plan);
        Ok([at(3)?, at(4)?, at(8)?, at(9)?, of])
    });
    let found = look.await.unwrap();
    let first = Some(first);
    assert_eq!(
        found,
        [None, first.clone(), first.clone(), Some(second), first]
    );
}

async fn a_fork_is_seen_until_its_spawn_is_rolled_back<S: Store<Rows: Rows>>(store: S) {
    let session = fill(&store, long(2, 5)).await;
    let fork = Fork {
        spawn_id: "p".to_owned(),
        child_session_key: "child".to_owned(),
        parent: session.id,
        log: 2,
        chain: session.total.chain,
        plan_version: Some(3),
    };
    let preparation = Preparation {
        spawn_id: "p".to_owned(),
        child_session_key: "child".to_owned(),
        fingerprint: None,
        stage: Stage::Open,
        resolved: None,
        prepared_at: UnixMillis(5),
        expires_at: UnixMillis(9),
        answer: Vec::new(),
    };
    let (noted, open) = (fork.clone(), preparation.clone());
    let cx = call();
    let put = store.write(&cx, move |rows| {
        rows.put_fork(&noted)?;
        rows.put_preparation(&open)?;
        rows.drop_forks()
    });
    put.await.unwrap();
    let seen = store.read(|rows| Ok((rows.fork("child")?, rows.fork("other")?)));
    assert_eq!(seen.await.unwrap(), (Some(fork), None));
    let cx = call();
    let back = store.write(&cx, move |rows| {
        rows.put_preparation(&Preparation {
            stage: Stage::RolledBack,
            ..preparation
        })?;
        let hidden = rows.fork("child")?;
        rows.drop_forks()?;
        Ok((hidden, rows.fork("child")?))
    });
    assert_eq!(back.await.unwrap(), (None, None));
    let named = store.read(move |rows| rows.session_name(session.id));
    assert_eq!(named.await.unwrap(), Some(name("s")));
}

async fn the_index_lags_and_says_so<S: Store<Rows: Rows>>(store: S) {
    let entries = vec![
        said("user", "the port is 48213").with_entry_id("a"),
        said("user", "Zurich and Z\u{fc}rich").with_entry_id("b"),
        said("user", "the port again").with_entry_id("c"),
    ];
    let session = fill(&store, entries).await.id;
    let cx = call();
    let step = store.write(&cx, |rows| {
        let before = rows.indexed()?;
        Ok((before, rows.index(2, &Redaction::default())?))
    });
    let (before, after) = step.await.unwrap();
    assert_eq!(
        (before.behind, after),
        (
            3,
            Indexed {
                added: 2,
                behind: 1
            }
        )
    );
    let find =
        |words: &'static [&'static str]| store.read(move |rows| rows.find(session, words, 9));
    assert_eq!(find(&["port"]).await.unwrap(), [0]);
    store
        .write(&call(), |rows| rows.index(99, &Redaction::default()))
        .await
        .unwrap();
    assert_eq!(find(&["port"]).await.unwrap(), [2, 0]);
    assert_eq!(find(&["port", "48213"]).await.unwrap(), [0]);
    assert_eq!(find(&["\"a\" OR"]).await.unwrap(), [0u64; 0]);
    assert_eq!(find(&[]).await.unwrap(), [0u64; 0]);
}

async fn corrections_are_named_with_what_they_are_now<S: Store<Rows: Rows>>(store: S) {
    let mut entries = long(3, 5);
    let session = fill(&store, entries.clone()).await.id;
    let none = store.read(move |rows| rows.corrections(session));
    assert_eq!(none.await.unwrap(), []);
    entries[1] = said("assistant", "corrected").with_entry_id("e1");
    fill(&store, entries.clone()).await;
    let one = store.read(move |rows| rows.corrections(session));
    assert_eq!(one.await.unwrap(), [(1, entries[1].digest())]);
}

async fn bodies_are_read_in_pieces_of_so_many_bytes<S: Store<Rows: Rows>>(store: S) {
    let entries = long(6, 100);
    let sizes: Vec<usize> = entries.iter().map(|entry| entry.payload().len()).collect();
    let session = fill(&store, entries.clone()).await.id;
    let read = |start, bytes| {
        store.read(move |rows| rows.messages_within(session, Span::new(start, 6), bytes))
    };
    let two = read(1, sizes[1] + sizes[2]).await.unwrap();
    let two: Vec<u64> = two.into_iter().map(|(place, _)| place).collect();
    assert_eq!(two, [1, 2]);
    // One that is larger than that comes alone, so that whoever reads on gets to the end.
    assert_eq!(read(3, 1).await.unwrap(), [(3, entries[3].clone())]);
    assert_eq!(read(6, 1).await.unwrap(), []);
    assert_eq!(read(0, usize::MAX).await.unwrap().len(), 6);
}
