//! How much of a session is in memory while it is compacted, and that it decides nothing.

use super::*;

/// Turns with a tool result of about 40 KB each.
fn with_large_results(count: usize) -> World {
    let mut world = World::turns(0);
    for n in 0..count {
        world.say(user(&format!("look {n}")));
        let id = format!("large{n}");
        world.say(call(&[&id]));
        world.say(result(&id, &words(8_000)));
        world.say(answer("seen"));
    }
    world.turn();
    world
}

#[tokio::test]
async fn no_more_bodies_are_held_at_once_than_there_is_room_for() {
    let mut world = with_large_results(12);
    world.settings.held_bytes = 100_000;
    let stub = Stub::new(Way::Words(20));
    let outcome = world.compact(&within(9_000), &stub).await;
    assert!(outcome.is_compacted(), "{outcome:?}");
    assert!(world.most_held > 40_000, "{}", world.most_held);
    assert!(world.most_held <= 100_000, "{}", world.most_held);
    let most = stub.most_in_flight.load(Ordering::Relaxed);
    assert!(most > 1, "what fits side by side is written side by side");
}

#[tokio::test]
async fn what_is_larger_than_the_room_is_held_alone() {
    let mut world = with_large_results(5);
    world.settings.held_bytes = 30_000;
    let stub = Stub::new(Way::Words(20));
    assert!(world.compact(&within(9_000), &stub).await.is_compacted());
    assert!(world.most_held < 2 * 40_000, "{}", world.most_held);
    assert!(world.summaries().len() >= 5);
}

#[tokio::test]
async fn a_leaf_ends_before_its_bodies_are_too_large_however_few_tokens_they_have() {
    let mut world = World::turns(0);
    world.settings.held_bytes = 360_000;
    let image = "A".repeat(25_000);
    for n in 0..20 {
        world.say(format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"picture {n} {}"}},{{"type":"image","mimeType":"image/png","data":"{image}"}}]}}"#,
            words(50)
        ));
        world.say(answer(&words(50)));
    }
    world.turn();
    world.settings.leaf_tokens = 1_000_000;
    let stub = Stub::new(Way::Words(20));
    let force = Compact {
        force: true,
        ..within(20_000)
    };
    world.compact(&force, &stub).await;
    let leaves = world.summaries();
    assert!(leaves.len() > 5, "{}", leaves.len());
    for leaf in leaves.iter().filter(|leaf| leaf.depth() == 0) {
        let entries = leaf.span().places().map(|at| world.log.entry(at).unwrap());
        let bytes: u64 = entries.map(|entry| entry.bytes()).sum();
        assert!(bytes <= world.settings.leaf_bytes(), "{bytes}");
    }
}

#[tokio::test]
async fn how_much_is_in_memory_decides_nothing() {
    let mut plans = Vec::new();
    for (has_whole_log, held_bytes, parallel) in [
        (true, 24_000_000, 4),
        (false, 24_000_000, 4),
        (false, 24_000_000, 1),
    ] {
        let mut world = World::turns(60);
        world.has_whole_log = has_whole_log;
        world.settings.held_bytes = held_bytes;
        world.settings.parallel = parallel;
        // Quotes first, which a model replaces.
        let down = Stub::new(Way::Unavailable);
        world.compact(&within(30_000), &down).await;
        assert!(!world.summaries().is_empty());
        world.breaker = Breaker::new();
        let stub = Stub::new(Way::Words(30));
        let outcome = world.compact(&within(60_000), &stub).await;
        assert!(outcome.is_compacted(), "{outcome:?}");
        plans.push(world.plan());
    }
    assert!(plans.iter().all(|plan| *plan == plans[0]));
}
