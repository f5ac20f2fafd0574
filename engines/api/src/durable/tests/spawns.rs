//! Any order of preparing, settling, child hooks and time, against a model.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::preparations::{prepare_at, resolve_at, spawn};
use super::*;
use crate::subagent::{PrepareSubagentSpawn, SpawnOutcome};

const IDS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Op {
    Prepare { id: usize, secs: u64 },
    Resolve { id: usize, started: bool },
    ChildHook,
    Sweep,
    Tick { secs: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let id = 0..IDS.len();
    prop_oneof![
        3 => (id.clone(), 1u64..90).prop_map(|(id, secs)| Op::Prepare { id, secs }),
        2 => (id, any::<bool>()).prop_map(|(id, started)| Op::Resolve { id, started }),
        1 => Just(Op::ChildHook),
        1 => Just(Op::Sweep),
        3 => (1u64..60).prop_map(|secs| Op::Tick { secs }),
    ]
}

/// The stages, watched from outside.
#[derive(Default)]
struct Watch {
    stages: BTreeMap<&'static str, Stage>,
}

impl Watch {
    /// Stages move once, out of Open; nothing else ever changes.
    fn check(&mut self, ledger: &MemoryLedger) {
        for id in IDS {
            let now = ledger.preparation(id).unwrap().map(|known| known.stage);
            if let Some(before) = self.stages.get(id) {
                let fixed = *before != Stage::Open;
                assert!(
                    !fixed || now == Some(*before),
                    "{id}: {before:?} became {now:?}"
                );
            }
            if let Some(now) = now {
                self.stages.insert(id, now);
            }
            let undone = ledger
                .undone()
                .iter()
                .filter(|undone| *undone == id)
                .count();
            let gone = matches!(now, Some(Stage::RolledBack | Stage::Expired));
            assert_eq!(undone, usize::from(gone), "{id} is {now:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_spawn_is_settled_once_whatever_comes_in_whatever_order(
        ops in prop::collection::vec(op(), 0..60),
    ) {
        let mut ledger = MemoryLedger::new();
        let mut watch = Watch::default();
        let mut now = NOW;
        for op in ops {
            match op {
                Op::Prepare { id, secs } => {
                    let ttl = Some(Duration::from_secs(secs));
                    let request = PrepareSubagentSpawn { ttl, ..spawn(IDS[id]) };
                    let settled = watch.stages.get(IDS[id]).is_some_and(|s| *s != Stage::Open);
                    let answer = prepare_at(&mut ledger, &request, now).unwrap();
                    prop_assert!(!(settled && answer.prepared));
                    if answer.prepared {
                        let known = ledger.preparation(IDS[id]).unwrap().unwrap();
                        prop_assert_eq!(known.expires_at, now.after(Duration::from_secs(secs)));
                    }
                }
                Op::Resolve { id, started } => {
                    let outcome = if started { SpawnOutcome::Started } else { SpawnOutcome::RolledBack };
                    let before = ledger.preparation(IDS[id]).unwrap();
                    let due = before.is_some_and(|b| b.stage == Stage::Open && b.expires_at <= now);
                    let done = resolve_at(&mut ledger, IDS[id], outcome, now);
                    if due && started {
                        prop_assert_eq!(kind(done), ErrorKind::PreparationExpired);
                    }
                }
                Op::ChildHook => {
                    let mut cx = call();
                    cx.session.key = Some("child".to_owned());
                    ledger.transaction(|tx| read(tx, &cx, now)).unwrap();
                }
                Op::Sweep => {
                    ledger.transaction(|tx| sweep(tx, now)).unwrap();
                }
                Op::Tick { secs } => now = now.after(Duration::from_secs(secs)),
            }
            watch.check(&ledger);
        }
    }
}
