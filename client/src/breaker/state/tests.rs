use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A circuit and a clock that a test moves.
struct Bench {
    circuit: Circuit,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self {
            circuit: Circuit::new(),
            now: Instant::now(),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    fn admit(&mut self) -> Result<Ticket, Duration> {
        self.circuit.admit(self.now)
    }

    fn settle(&mut self, ticket: &Ticket, outcome: Outcome) -> Option<Change> {
        self.circuit.settle(ticket, outcome, self.now)
    }

    /// A call from its start to its end.
    fn call(&mut self, outcome: Outcome) -> Option<Change> {
        let ticket = self.admit().expect("admitted");
        self.settle(&ticket, outcome)
    }

    fn opened(mut self) -> Self {
        self.call(Outcome::Failure);
        assert_eq!(self.call(Outcome::Failure), Some(Change::Opened(SECOND)));
        self
    }
}

#[test]
fn r7_4_two_failures_in_a_row_open_it_and_a_success_between_does_not() {
    let mut bench = Bench::new();
    assert_eq!(bench.call(Outcome::Failure), None);
    assert_eq!(bench.call(Outcome::Success), None);
    bench.pass(WINDOW);
    assert_eq!(bench.call(Outcome::Failure), None);
    assert_eq!(bench.call(Outcome::Failure), Some(Change::Opened(SECOND)));
    assert_eq!(bench.admit(), Err(SECOND));
    bench.pass(SECOND / 4);
    assert_eq!(bench.admit(), Err(SECOND * 3 / 4));
}

#[test]
fn r7_4_three_failures_within_a_minute_open_it_whatever_lies_between() {
    let every = |gap: Duration| {
        let mut bench = Bench::new();
        let mut last = None;
        for _ in 0..3 {
            last = bench.call(Outcome::Failure);
            bench.call(Outcome::Success);
            bench.pass(gap);
            if last.is_some() {
                break;
            }
        }
        last
    };
    // The success after the last failure is refused already, so it is looked at before.
    let mut bench = Bench::new();
    bench.call(Outcome::Failure);
    bench.call(Outcome::Success);
    bench.pass(SECOND * 30);
    bench.call(Outcome::Failure);
    bench.call(Outcome::Success);
    bench.pass(SECOND * 30);
    assert_eq!(bench.call(Outcome::Failure), Some(Change::Opened(SECOND)));
    assert_eq!(every(SECOND * 31), None);
}

#[test]
fn r7_4_half_open_is_one_call_and_only_its_success_closes_it() {
    let mut bench = Bench::new().opened();
    bench.pass(SECOND);
    let probe = bench.admit().unwrap();
    assert!(probe.is_probe);
    assert_eq!(bench.admit(), Err(Duration::ZERO), "one at a time");
    assert_eq!(bench.settle(&probe, Outcome::Success), Some(Change::Closed));
    assert!(!bench.admit().unwrap().is_probe);
    assert_eq!(bench.call(Outcome::Failure), None, "nothing is left over");
}

#[test]
fn r7_4_a_probe_that_says_nothing_leaves_it_to_the_next_call() {
    let mut bench = Bench::new().opened();
    bench.pass(SECOND);
    assert_eq!(bench.call(Outcome::Unjudged), None);
    assert!(bench.admit().unwrap().is_probe);
}

#[test]
fn r7_4_the_cooldown_doubles_from_a_second_to_a_minute_and_begins_anew_after_a_success() {
    let mut bench = Bench::new().opened();
    let mut cooldown = SECOND;
    for expected in [2, 4, 8, 16, 32, 60, 60] {
        bench.pass(cooldown);
        cooldown = Duration::from_secs(expected);
        let failure = if expected == 8 {
            Outcome::Breach
        } else {
            Outcome::Failure
        };
        assert_eq!(bench.call(failure), Some(Change::Opened(cooldown)));
        assert_eq!(bench.admit(), Err(cooldown));
    }
    bench.pass(cooldown);
    assert_eq!(bench.call(Outcome::Success), Some(Change::Closed));
    drop(bench.opened());
}

#[test]
fn r7_4_five_breaches_in_ten_minutes_open_it_and_they_are_no_failures_in_a_row() {
    let mut bench = Bench::new();
    for _ in 0..4 {
        assert_eq!(bench.call(Outcome::Breach), None);
        bench.pass(SLOW_WINDOW / 4);
    }
    assert_eq!(bench.call(Outcome::Breach), Some(Change::Opened(SECOND)));

    let mut bench = Bench::new();
    for _ in 0..20 {
        assert_eq!(bench.call(Outcome::Breach), None);
        bench.pass(SLOW_WINDOW / 4 + SECOND);
    }
}

#[test]
fn r7_4_late_results_of_an_earlier_state_do_not_count() {
    let mut bench = Bench::new();
    let slow: Vec<_> = (0..4).map(|_| bench.admit().unwrap()).collect();
    let mut bench = bench.opened();
    assert_eq!(bench.settle(&slow[0], Outcome::Success), None);
    bench.pass(SECOND);
    let probe = bench.admit().unwrap();
    assert_eq!(bench.settle(&slow[1], Outcome::Success), None);
    assert_eq!(bench.settle(&slow[2], Outcome::Failure), None);
    assert_eq!(
        bench.admit(),
        Err(Duration::ZERO),
        "the probe still decides"
    );
    assert_eq!(bench.settle(&probe, Outcome::Success), Some(Change::Closed));
    assert_eq!(bench.settle(&slow[3], Outcome::Failure), None);
    assert_eq!(bench.call(Outcome::Failure), None, "one, not two");
}

#[test]
fn what_says_nothing_neither_opens_it_nor_forgives() {
    let mut bench = Bench::new();
    bench.call(Outcome::Failure);
    for _ in 0..10 {
        assert_eq!(bench.call(Outcome::Unjudged), None);
    }
    assert_eq!(bench.call(Outcome::Failure), Some(Change::Opened(SECOND)));
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Success),
        Just(Outcome::Failure),
        Just(Outcome::Breach),
        Just(Outcome::Unjudged),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_refusal_never_lasts_longer_than_a_minute_and_a_well_endpoint_always_comes_back(
        steps in prop::collection::vec((0u64..90_000, outcome(), any::<bool>()), 0..80),
    ) {
        let mut bench = Bench::new();
        let mut out = Vec::new();
        for (millis, outcome, late) in steps {
            bench.pass(Duration::from_millis(millis));
            match bench.admit() {
                Ok(ticket) if late => out.push((ticket, outcome)),
                Ok(ticket) => {
                    bench.settle(&ticket, outcome);
                }
                Err(wait) => prop_assert!(wait <= LONGEST_COOLDOWN),
            }
        }
        for (ticket, outcome) in out {
            bench.settle(&ticket, outcome);
        }
        bench.pass(LONGEST_COOLDOWN);
        // Everything is settled: the next call goes out, and its success is enough.
        let ticket = bench.admit().unwrap();
        bench.settle(&ticket, Outcome::Success);
        prop_assert!(!bench.admit().unwrap().is_probe);
    }
}
