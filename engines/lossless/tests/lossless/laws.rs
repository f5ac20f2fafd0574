//! What holds whatever hosts do: every entry is in exactly one place, and both stores agree.

use contextwire_engine::durable::LogChange;
use contextwire_engine::{CommitTurn, Digest, Message, Transcript};
use contextwire_lossless::plan::FrontierItem;
use contextwire_lossless::publish::{Publication, publish, settle};
use contextwire_lossless::rows::{MemoryStore, Rows};
use contextwire_lossless::{Plan, Span};
use contextwire_store::{Outcome, Store, log};
use proptest::prelude::*;

use super::support::*;

/// Something that happens to a session.
#[derive(Clone, Debug)]
enum Step {
    /// The LOG with these entries, some of them in another version.
    Log(Vec<(u8, bool)>),
    Turn(u8, Vec<u8>),
    Ingest(u8, bool),
    /// A summary over a part of the log as it is.
    Summarise(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let entries = prop::collection::vec((0u8..24, any::<bool>()), 0..20);
    prop_oneof![
        3 => entries.prop_map(Step::Log),
        2 => (0u8..6, prop::collection::vec(0u8..24, 1..6)).prop_map(|(key, ids)| Step::Turn(key, ids)),
        2 => (0u8..24, any::<bool>()).prop_map(|(id, changed)| Step::Ingest(id, changed)),
        3 => (0u8..12, 1u8..9).prop_map(|(start, len)| Step::Summarise(start, len)),
    ]
}

fn message(id: u8, changed: bool) -> Message {
    let text = if changed { "changed" } else { "first" };
    said("user", &format!("{text} {id}")).with_entry_id(format!("e{id}"))
}

fn take(rows: &mut impl Rows, step: &Step) -> Outcome<()> {
    let (cx, session) = (call(), name("s"));
    match step {
        Step::Log(ids) => {
            let mut seen = std::collections::BTreeSet::new();
            let once = ids.iter().filter(|(id, _)| seen.insert(*id));
            let log: Transcript = once.map(|(id, changed)| message(*id, *changed)).collect();
            log::update(rows, &cx, &session, &log, LogChange::Replace)?;
        }
        Step::Turn(key, ids) => {
            let messages = ids.iter().map(|id| message(*id, false)).collect();
            let turn: CommitTurn = turn(&format!("t{key}"), i64::from(*key), messages);
            log::commit(rows, &cx, &session, &turn)?;
        }
        Step::Ingest(id, changed) => {
            log::ingest(rows, &cx, &session, &message(*id, *changed), false)?;
        }
        Step::Summarise(start, len) => return summarise(rows, *start, *len),
    }
    settle(rows, &cx)
}

fn summarise(rows: &mut impl Rows, start: u8, len: u8) -> Outcome<()> {
    let Some(session) = rows.session(&name("s"))? else {
        return Ok(());
    };
    let start = u64::from(start);
    let span = Span::new(start, (start + u64::from(len)).min(session.total.count));
    let entries: Vec<Message> = rows
        .messages(session.id, Span::new(0, span.end))?
        .into_iter()
        .map(|(_, message)| message)
        .collect();
    if span.is_empty() {
        return Ok(());
    }
    let node = leaf(&entries, span.start, span.end, "a summary");
    let base = rows
        .plan(session.id)?
        .map_or_else(Plan::entries, |stored| stored.plan);
    if let Ok(plan) = base.with((&node).into()) {
        let publication = Publication {
            base: base.version(),
            plan,
            nodes: vec![node],
            replaced: Vec::new(),
        };
        let published = publish(rows, &session, &publication)?;
        assert!(published.is_ok(), "nothing changed meanwhile");
    }
    Ok(())
}

/// The digests of the log, after a look at what must hold.
fn sound(rows: &impl Rows) -> Outcome<(Vec<Digest>, Option<Plan>)> {
    let Some(session) = rows.session(&name("s"))? else {
        return Ok((Vec::new(), None));
    };
    let digests = rows.digests(session.id, Span::new(0, u64::MAX))?;
    assert_eq!(digests.len() as u64, session.total.count);
    let stored = rows.plan(session.id)?;
    let plan = stored.map_or_else(Plan::entries, |stored| stored.plan);
    let mut place = 0;
    for item in plan.frontier(session.total.count) {
        // C01: every entry is in the raw set or stands in exactly one summary.
        assert_eq!(item.span().start, place);
        place = item.span().end;
        if let FrontierItem::Summary(placed) = item {
            let node = rows.node(session.id, placed.id)?.unwrap();
            let contextwire_lossless::node::Sources::Entries(sources) = &node.parts().sources
            else {
                panic!("there are leaves only");
            };
            assert_eq!(*sources, rows.digests(session.id, placed.span)?);
        }
    }
    assert_eq!(place, session.total.count);
    Ok((digests, Some(plan)))
}

async fn run<S: Store<Rows: Rows>>(store: &S, step: Step) -> (Vec<Digest>, Option<Plan>) {
    let work = move |rows: &mut S::Rows| {
        take(rows, &step)?;
        sound(rows)
    };
    store.write(&call(), work).await.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn c01_f13_every_entry_is_in_one_place_and_both_stores_agree(
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::new();
            let (file, memory) = (place.store(), MemoryStore::new());
            for step in steps {
                let one = run(&file, step.clone()).await;
                assert_eq!(one, run(&memory, step).await);
            }
        });
    }
}
