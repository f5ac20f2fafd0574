//! Any order of messages, turns, and LOGs of branches: what must hold of the stored log.

use std::collections::HashSet;

use proptest::prelude::*;

use super::support::*;

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[derive(Clone, Debug)]
enum Op {
    /// One message; the version is another payload.
    Ingest { id: usize, version: u8 },
    /// A message without an id.
    Nameless { word: u8 },
    /// A turn of neighbours.
    Commit {
        from: usize,
        len: usize,
        raw_seq: i64,
    },
    /// A LOG of these entries in this order, with a pair or without.
    Log {
        order: Vec<usize>,
        nameless: usize,
        paired: bool,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let id = 0..IDS.len();
    let order = Just((0..IDS.len()).collect::<Vec<_>>()).prop_shuffle();
    let order = (order, 0..=IDS.len()).prop_map(|(order, len)| order[..len].to_vec());
    prop_oneof![
        3 => (id.clone(), 0u8..2).prop_map(|(id, version)| Op::Ingest { id, version }),
        1 => (0u8..2).prop_map(|word| Op::Nameless { word }),
        3 => (id, 1usize..4, 0i64..9).prop_map(|(from, len, raw_seq)| Op::Commit { from, len, raw_seq }),
        3 => (order, 0usize..3, any::<bool>())
            .prop_map(|(order, nameless, paired)| Op::Log { order, nameless, paired }),
    ]
}

fn version(id: &str, version: u8) -> contextwire_engine::Message {
    text(&format!("{id}{version}")).with_entry_id(id)
}

async fn play(ops: Vec<Op>) {
    let place = Place::new();
    let engine = place.open();
    let mut ever: HashSet<String> = HashSet::new();
    for (seq, op) in (1u64..).zip(ops) {
        let before = place.log();
        let may_take_out = matches!(op, Op::Log { paired: true, .. });
        match op {
            Op::Ingest { id, version: v } => {
                let message = version(IDS[id], v);
                ingest(&engine, message.clone()).await;
                let stored = place.log();
                assert!(
                    stored
                        .entries
                        .iter()
                        .any(|entry| entry.digest == message.digest())
                );
            }
            Op::Nameless { word } => {
                ingest(&engine, text(&word.to_string())).await;
            }
            Op::Commit { from, len, raw_seq } => {
                let ids = &IDS[from..(from + len).min(IDS.len())];
                let messages = ids.iter().map(|id| version(id, 0)).collect();
                commit(&engine, turn(&format!("t{seq}"), raw_seq, messages)).await;
                committed(ids, &place.ids(), &ever);
            }
            Op::Log {
                order,
                nameless,
                paired,
            } => {
                let named = order.iter().map(|id| version(IDS[*id], 0));
                let log: contextwire_engine::Transcript =
                    named.chain((0..nameless).map(|_| text("0"))).collect();
                let cx = if paired { ordered(1, seq) } else { call() };
                after_turn(&engine, &cx, log.clone()).await;
                let placed = place.log().placed;
                if paired {
                    assert_eq!(placed, log.state(), "the LOG's order is the log's order");
                } else {
                    assert!(placed == before.placed || placed == log.state());
                }
            }
        }
        ever.extend(place.ids());
        once(&place.log());
        if !may_take_out {
            kept(&place.log(), &before);
        }
    }
}

/// The whole turn is there, but for what the LOG left out before; with its first message all of it.
fn committed(ids: &[&str], stored: &[String], ever: &HashSet<String>) {
    let is_there = |id: &str| stored.iter().any(|stored| stored == id);
    let has_left = |id: &str| ever.contains(id) && !is_there(id);
    assert!(has_left(ids[0]) || ids.iter().all(|id| is_there(id) || has_left(id)));
}

/// No id twice.
fn once(now: &contextwire_engine::StoredLog) {
    let mut ids: Vec<_> = now
        .entries
        .iter()
        .map(|entry| entry.entry_id.as_str())
        .collect();
    ids.retain(|id| !id.is_empty());
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id stands twice");
}

/// What no LOG placed is only ever moved.
fn kept(now: &contextwire_engine::StoredLog, before: &contextwire_engine::StoredLog) {
    let tail = usize::try_from(before.placed.count).unwrap();
    for entry in before.entries.iter().skip(tail) {
        let same = |other: &&contextwire_engine::StoredEntry| {
            if entry.entry_id.is_empty() {
                other.digest == entry.digest
            } else {
                other.entry_id == entry.entry_id
            }
        };
        assert!(
            now.entries.iter().any(|other| same(&other)),
            "an entry of the tail is lost"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_stored_log_keeps_its_laws_whatever_comes_in_whatever_order(
        ops in prop::collection::vec(op(), 0..14),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(ops));
    }
}
