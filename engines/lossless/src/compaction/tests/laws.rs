//! What holds after any sequence of appends, compactions, failures and condensations.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Turns(usize),
    /// Calls whose results come late, early, or never.
    Odd(u8),
    Pin(u64),
    Compact(u64, Way, bool),
    Pass,
}

fn ways() -> impl Strategy<Value = Way> {
    prop_oneof![
        4 => (20usize..200).prop_map(Way::Words),
        1 => Just(Way::Empty),
        1 => Just(Way::Long),
        1 => Just(Way::Unauthorized),
        1 => Just(Way::Unavailable),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1usize..8).prop_map(Step::Turns),
        1 => any::<u8>().prop_map(Step::Odd),
        1 => (0u64..200).prop_map(Step::Pin),
        4 => (3_000u64..30_000, ways(), any::<bool>()).prop_map(|(budget, way, force)| Step::Compact(budget, way, force)),
        1 => Just(Step::Pass),
    ];
    prop::collection::vec(step, 1..12)
}

fn odd(world: &mut World, kind: u8) {
    world.say(user("odd"));
    match kind % 4 {
        0 => {
            world.say(call(&["never"]));
        }
        1 => {
            world.say(call(&["late"]));
            world.say(user("meanwhile"));
            world.say(result("late", &words(40)));
        }
        2 => {
            world.say(result("early", "out"));
            world.say(call(&["early"]));
        }
        _ => {
            world.say(call(&["a", "b"]));
            world.say(result("b", &words(2_000)));
            world.say(result("a", "out"));
        }
    }
}

async fn walk(steps: Vec<Step>) -> (Plan, u64) {
    let mut world = World::turns(6);
    world.settings.leaf_tokens = 1_500;
    for step in steps {
        match step {
            Step::Turns(count) => (0..count).for_each(|_| world.turn()),
            Step::Odd(kind) => odd(&mut world, kind),
            Step::Pin(place) => {
                // Only what still stands for itself can be kept from being summarised.
                if place < world.log.end() && world.plan().summary_at(place).is_none() {
                    world.pins.insert(place);
                }
            }
            Step::Pass => tokio::time::advance(Duration::from_mins(10)).await,
            Step::Compact(budget, way, force) => {
                let before = world.tokens();
                let request = Compact {
                    force,
                    ..within(budget)
                };
                let stub = Stub::new(way);
                let outcome = world.compact(&request, &stub).await;
                let after = world.tokens();
                assert!(after <= before || outcome.provisional == 0);
                assert!(stub.calls() <= 400);
                assert_eq!(outcome.plan, world.plan());
            }
        }
        world.check();
    }
    (world.plan(), world.tokens())
}

fn run(steps: Vec<Step>) -> (Plan, u64) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(walk(steps))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn c01_every_entry_stays_reachable_from_exactly_one_item(steps in steps()) {
        prop_assert_eq!(run(steps.clone()), run(steps));
    }
}
