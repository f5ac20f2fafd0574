//! Any interleaving of hooks, retries, abandons and deaths, from two hosts, against a model.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::compact::{Compact, Compacted};
use crate::ids::HookId;

/// Hooks that are minted at the start of a run.
const CALLS: usize = 6;
const LEASE: Duration = Duration::from_mins(1);

/// A hook that some host minted.
#[derive(Clone, Debug)]
struct Minted {
    hook: HookId,
    order: Option<Pair>,
}

#[derive(Clone, Debug)]
enum Op {
    /// A short effect arrives, for the first or any later time; `odd` is other content.
    Effect { call: usize, odd: bool },
    /// Long work begins.
    Begin { call: usize },
    /// The oldest work under way on this call settles.
    Finish { call: usize },
    /// It gives up.
    Release { call: usize },
    /// Its process dies.
    Die { call: usize },
    /// A read names these as abandoned.
    Abandon { calls: Vec<usize> },
    /// Time passes.
    Tick { secs: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let call = 0..CALLS;
    prop_oneof![
        5 => (call.clone(), prop::bool::weighted(0.1)).prop_map(|(call, odd)| Op::Effect { call, odd }),
        3 => call.clone().prop_map(|call| Op::Begin { call }),
        3 => call.clone().prop_map(|call| Op::Finish { call }),
        1 => call.clone().prop_map(|call| Op::Release { call }),
        1 => call.clone().prop_map(|call| Op::Die { call }),
        1 => prop::collection::vec(call, 0..3).prop_map(|calls| Op::Abandon { calls }),
        1 => (1u64..90).prop_map(|secs| Op::Tick { secs }),
    ]
}

/// Two hosts with epochs 1 and 2; a call without a number is a background one.
fn calls() -> impl Strategy<Value = Vec<Minted>> {
    let one = prop::option::weighted(0.8, (1u64..3, 1u64..5));
    prop::collection::vec(one, CALLS).prop_map(|pairs| {
        let mint = |order: Option<(u64, u64)>| Minted {
            hook: HookId::mint(),
            order: order.map(|(epoch, seq)| pair(epoch, seq)),
        };
        pairs.into_iter().map(mint).collect()
    })
}

/// What must hold, kept in the simplest way.
#[derive(Default)]
struct Model {
    /// Call → the number of its one effect, and whether its content was the odd one.
    effects: BTreeMap<usize, (u64, bool)>,
    /// Call → when its claim ends, and the number of the work that holds it.
    claims: BTreeMap<usize, (UnixMillis, u64)>,
    closed: BTreeSet<usize>,
    highest: Option<Pair>,
}

#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Recorded(u64),
    Refused(Refusal),
    Acts,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Conflict,
    Running,
    Closed,
    Older(Pair),
}

impl Model {
    fn admit(&self, call: usize, order: Option<Pair>, odd: bool, now: UnixMillis) -> Expected {
        let running = self.claims.get(&call);
        if let Some((number, recorded)) = self.effects.get(&call) {
            return if *recorded == odd {
                Expected::Recorded(*number)
            } else {
                Expected::Refused(Refusal::Conflict)
            };
        }
        if odd && running.is_some() {
            return Expected::Refused(Refusal::Conflict);
        }
        if running.is_some_and(|(until, _)| now < *until) {
            return Expected::Refused(Refusal::Running);
        }
        self.may_act(call, order)
    }

    fn may_act(&self, call: usize, order: Option<Pair>) -> Expected {
        if self.closed.contains(&call) {
            return Expected::Refused(Refusal::Closed);
        }
        match (order, self.highest) {
            (Some(own), Some(highest)) if own < highest => {
                Expected::Refused(Refusal::Older(highest))
            }
            _ => Expected::Acts,
        }
    }

    fn act(&mut self, call: usize, order: Option<Pair>, effect: (u64, bool)) {
        assert!(
            self.effects.insert(call, effect).is_none(),
            "one effect a key"
        );
        self.claims.remove(&call);
        self.highest = self.highest.max(order);
    }
}

struct Run {
    ledger: MemoryLedger,
    model: Model,
    calls: Vec<Minted>,
    now: UnixMillis,
    /// Work under way: call, number, lease.
    work: Vec<(usize, u64, Lease)>,
    count: u64,
}

fn refusal(error: &EngineError) -> Refusal {
    match error.kind() {
        ErrorKind::IdempotencyConflict => Refusal::Conflict,
        ErrorKind::InProgress { .. } => Refusal::Running,
        ErrorKind::HookClosed => Refusal::Closed,
        ErrorKind::GenerationConflict { recorded } => Refusal::Older(recorded),
        ErrorKind::Transient
        | ErrorKind::Rejected
        | ErrorKind::Cancelled
        | ErrorKind::Unsupported
        | ErrorKind::PreparationExpired
        | ErrorKind::Failure => panic!("unexpected: {error}"),
    }
}

fn answer(number: u64) -> Compacted {
    Compacted::declined(number.to_string())
}

impl Run {
    fn cx(&self, call: usize) -> (HookContext, Option<Pair>) {
        let Minted { hook, order } = self.calls[call].clone();
        let order_of = |pair: Pair| Order {
            host_epoch: pair.host_epoch,
            session_seq: Some(pair.session_seq),
        };
        let mut cx = super::call();
        cx.hook_id = hook;
        cx.order = order.map(order_of);
        (cx, order)
    }

    fn attempt(&self, call: usize, odd: bool) -> (Attempt<Compact>, Option<Pair>) {
        let (cx, order) = self.cx(call);
        let request = Compact {
            force: odd,
            ..Compact::default()
        };
        (Attempt::new(&cx, &request, self.now), order)
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn step(&mut self, op: Op) {
        let before = self.ledger.clone();
        let refused = match op {
            Op::Effect { call, odd } => self.effect(call, odd),
            Op::Begin { call } => self.begin(call),
            Op::Finish { call } => self.finish(call),
            Op::Release { call } => self.release(call),
            Op::Die { call } => {
                self.work.retain(|(of, ..)| *of != call);
                false
            }
            Op::Abandon { calls } => self.abandon(&calls),
            Op::Tick { secs } => {
                self.now = self.now.after(Duration::from_secs(secs));
                false
            }
        };
        assert!(
            !refused || self.ledger == before,
            "a refused call changed something"
        );
    }

    fn effect(&mut self, call: usize, odd: bool) -> bool {
        let number = self.number();
        let (attempt, order) = self.attempt(call, odd);
        let expected = self.model.admit(call, order, odd, self.now);
        let outcome = self
            .ledger
            .transaction(|tx| effect(tx, &attempt, |_| Ok(answer(number))));
        match (&outcome, expected) {
            (Ok(given), Expected::Recorded(recorded)) => assert_eq!(*given, answer(recorded)),
            (Ok(given), Expected::Acts) => {
                assert_eq!(*given, answer(number));
                self.model.act(call, order, (number, odd));
            }
            (Err(error), Expected::Refused(why)) => assert_eq!(refusal(error), why),
            (given, expected) => panic!("{given:?}, not {expected:?}"),
        }
        outcome.is_err()
    }

    fn begin(&mut self, call: usize) -> bool {
        let (attempt, order) = self.attempt(call, false);
        let lease = Lease::new(LEASE);
        let expected = self.model.admit(call, order, false, self.now);
        let outcome = self.ledger.transaction(|tx| begin(tx, &attempt, &lease));
        match (&outcome, expected) {
            (Ok(Begun::Recorded(given)), Expected::Recorded(number)) => {
                assert_eq!(*given, answer(number));
            }
            (Ok(Begun::Claimed), Expected::Acts) => {
                let number = self.number();
                self.model
                    .claims
                    .insert(call, (self.now.after(LEASE), number));
                self.work.push((call, number, lease));
            }
            (Err(error), Expected::Refused(why)) => assert_eq!(refusal(error), why),
            (given, expected) => panic!("{given:?}, not {expected:?}"),
        }
        outcome.is_err()
    }

    fn finish(&mut self, call: usize) -> bool {
        let Some(at) = self.work.iter().position(|(of, ..)| *of == call) else {
            return false;
        };
        let (_, number, lease) = self.work.remove(at);
        let (attempt, order) = self.attempt(call, false);
        let holds = self
            .model
            .claims
            .get(&call)
            .is_some_and(|(_, holder)| *holder == number);
        let expected = match self.model.effects.get(&call) {
            Some((recorded, _)) => Expected::Recorded(*recorded),
            None if holds => self.model.may_act(call, order),
            None => Expected::Refused(Refusal::Running),
        };
        let outcome = self
            .ledger
            .transaction(|tx| finish(tx, &attempt, &lease, |_| Ok(answer(number))));
        match (&outcome, expected) {
            (Ok(given), Expected::Recorded(recorded)) => assert_eq!(*given, answer(recorded)),
            (Ok(given), Expected::Acts) => {
                assert_eq!(*given, answer(number));
                self.model.act(call, order, (number, false));
            }
            (Err(error), Expected::Refused(why)) => assert_eq!(refusal(error), why),
            (given, expected) => panic!("{given:?}, not {expected:?}"),
        }
        outcome.is_err()
    }

    fn release(&mut self, call: usize) -> bool {
        let Some(at) = self.work.iter().position(|(of, ..)| *of == call) else {
            return false;
        };
        let (_, number, lease) = self.work.remove(at);
        let (attempt, _) = self.attempt(call, false);
        self.ledger
            .transaction(|tx| release(tx, &attempt, &lease))
            .unwrap();
        if self
            .model
            .claims
            .get(&call)
            .is_some_and(|(_, holder)| *holder == number)
        {
            self.model.claims.remove(&call);
        }
        false
    }

    fn abandon(&mut self, calls: &[usize]) -> bool {
        let mut cx = call();
        cx.abandoned_hooks = calls.iter().map(|call| self.calls[*call].hook).collect();
        let now = self.now;
        self.ledger.transaction(|tx| read(tx, &cx, now)).unwrap();
        self.model.closed.extend(calls);
        let named: BTreeSet<_> = cx
            .take_reply()
            .late
            .iter()
            .map(|late| late.hook_id)
            .collect();
        let applied = calls
            .iter()
            .filter(|call| self.model.effects.contains_key(call));
        let applied: BTreeSet<_> = applied.map(|call| self.calls[*call].hook).collect();
        assert_eq!(named, applied, "late names exactly what was applied");
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_interleaving_from_two_hosts_keeps_the_laws(
        calls in calls(),
        ops in prop::collection::vec(op(), 0..60),
    ) {
        let mut run = Run {
            ledger: MemoryLedger::new(),
            model: Model::default(),
            calls,
            now: NOW,
            work: Vec::new(),
            count: 0,
        };
        for op in ops {
            run.step(op);
        }
        let session = call().session.id;
        prop_assert_eq!(run.ledger.highest_pair(&session).unwrap(), run.model.highest);
    }
}
