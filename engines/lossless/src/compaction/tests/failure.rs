//! Summarisers that fail.

use contextwire_engine::tokens::{ModelFamily, count_text};

use super::*;

/// A session that is over its threshold and within its budget, and one that is over its budget.
const SOFT: u64 = 55_000;
const HARD: u64 = 30_000;

#[tokio::test(start_paused = true)]
async fn c03_and_br_053_an_answer_as_long_as_its_source_replaces_nothing_and_is_not_asked_for_again()
 {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Long);
    let before = world.tokens();
    let outcome = world.compact(&within(HARD), &stub).await;
    assert!(matches!(outcome.end, End::NothingLeft), "{:?}", outcome.end);
    assert!(!outcome.is_compacted() && world.tokens() == before);
    let calls = stub.calls();
    assert!(calls <= 2 * 20, "{calls}");
    let reads = world.reads.load(Ordering::Relaxed);
    world.compact(&within(HARD), &stub).await;
    assert_eq!(stub.calls(), calls);
    // Not even looked at again (BR-056).
    assert!(world.reads.load(Ordering::Relaxed) * 20 < reads);
    // Tried again with a stricter request.
    let prompts = stub.prompts.lock().unwrap();
    assert!(
        prompts
            .iter()
            .any(|prompt| prompt.contains("could not be used: it is as long"))
    );
}

#[tokio::test(start_paused = true)]
async fn c04_and_br_060_what_is_no_summary_is_never_published() {
    for way in [Way::Empty, Way::ReasoningOnly, Way::Echo, Way::Unavailable] {
        let mut world = World::turns(60);
        let stub = Stub::new(way.clone());
        let outcome = world.compact(&within(SOFT), &stub).await;
        assert!(
            matches!(outcome.end, End::Failed(_)),
            "{way:?} {:?}",
            outcome.end
        );
        assert!(!outcome.answer().ok);
        assert_eq!(world.plan(), Plan::entries(), "{way:?}");
        assert!(world.kept.nodes.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn c04_over_the_hard_limit_quotes_take_their_place_say_so_and_are_replaced_later() {
    for way in [Way::Empty, Way::ReasoningOnly, Way::Unavailable] {
        let mut world = World::turns(60);
        let stub = Stub::new(way.clone());
        let outcome = world.compact(&within(HARD), &stub).await;
        assert!(outcome.provisional > 0 && outcome.tokens_after < outcome.tokens_before);
        let nodes = world.summaries();
        assert!(nodes.iter().all(|node| node.is_provisional()));
        assert!(
            nodes[0]
                .text()
                .starts_with("This is an extract, not a summary")
        );
        assert_eq!(nodes[0].state(), crate::node::NodeState::Repair);

        stub.becomes(Way::Words(40));
        tokio::time::advance(Duration::from_mins(2)).await;
        let outcome = world.compact(&within(1_000_000), &stub).await;
        assert!(outcome.is_compacted(), "{way:?} {:?}", outcome.end);
        for _ in 0..3 {
            world.compact(&within(1_000_000), &stub).await;
        }
        let left = world
            .summaries()
            .iter()
            .filter(|node| node.is_provisional())
            .count();
        assert_eq!(left, 0, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn c05_a_refused_key_opens_the_breaker_and_writes_nothing_even_over_the_limit() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Unauthorized);
    for _ in 0..5 {
        let outcome = world.compact(&within(HARD), &stub).await;
        assert!(matches!(
            outcome.end,
            End::Failed(_) | End::Resting(Cause::Refused)
        ));
        assert!(!outcome.answer().ok);
    }
    // Those in flight beside the first, and nobody after it.
    assert!(stub.calls() <= world.settings.parallel);
    assert_eq!(world.plan(), Plan::entries());
    assert!(world.kept.nodes.lock().unwrap().is_empty());

    stub.becomes(Way::Words(60));
    tokio::time::advance(Duration::from_mins(6)).await;
    assert!(world.compact(&within(HARD), &stub).await.is_compacted());
    assert_eq!(world.breaker.admit(Instant::now()), Admission::Go);
}

#[tokio::test(start_paused = true)]
async fn br_054_two_failures_in_a_row_end_it_and_the_next_waits() {
    let mut world = World::turns(100);
    world.settings.parallel = 1;
    let stub = Stub::new(Way::Unavailable);
    let budget = world.tokens() + 1;
    world.compact(&within(budget), &stub).await;
    // Two pieces, each tried twice.
    assert_eq!(stub.calls(), 4);
    let outcome = world.compact(&within(budget), &stub).await;
    assert!(matches!(outcome.end, End::Resting(Cause::Failing)));
    assert_eq!(stub.calls(), 4);
}

#[tokio::test(start_paused = true)]
async fn br_074_an_open_breaker_does_not_keep_a_full_context_full() {
    let mut world = World::turns(60);
    world.breaker.failed(Cause::Failing, Instant::now());
    world.breaker.failed(Cause::Failing, Instant::now());
    let stub = Stub::new(Way::Words(60));
    let outcome = world.compact(&within(HARD), &stub).await;
    assert!(outcome.is_compacted() && outcome.provisional == outcome.written.len());
    assert_eq!(stub.calls(), 0);
    tokio::time::advance(Duration::from_mins(2)).await;
    assert!(
        world
            .compact(&within(1_000_000), &stub)
            .await
            .is_compacted()
    );
    assert!(stub.calls() > 0);
}

#[tokio::test(start_paused = true)]
async fn br_057_a_refused_size_is_never_asked_for_again() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Narrow(9_000));
    let outcome = world.compact(&within(SOFT), &stub).await;
    assert!(outcome.is_compacted(), "{:?}", outcome.end);
    let prompts = stub.prompts.lock().unwrap();
    let unique: BTreeSet<&String> = prompts.iter().collect();
    assert_eq!(unique.len(), prompts.len());
}

#[tokio::test(start_paused = true)]
async fn c07_no_prompt_is_larger_than_the_summarisers_window() {
    let mut world = World::turns(10);
    world.say(user(&words(120_000)));
    world.say(answer("ok"));
    (0..10).for_each(|_| world.turn());
    let stub = Stub {
        window: Some(4_000),
        ..Stub::new(Way::Words(60))
    };
    let outcome = world.compact(&within(40_000), &stub).await;
    assert!(matches!(outcome.end, End::TargetMet), "{:?}", outcome.end);
    let prompts = stub.prompts.lock().unwrap();
    for prompt in prompts.iter() {
        let tokens = count_text(ModelFamily::Other, prompt);
        assert!(tokens < 4_000, "{tokens}");
    }
}

#[tokio::test(start_paused = true)]
async fn c14_a_summary_of_something_erased_meanwhile_is_not_published() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    *world.kept.erased.lock().unwrap() = Some(3);
    let outcome = world.compact(&within(HARD), &stub).await;
    assert!(matches!(outcome.end, End::Stale) && !outcome.is_compacted());
    assert_eq!(world.plan(), Plan::entries());
    *world.kept.erased.lock().unwrap() = None;
    assert!(world.compact(&within(HARD), &stub).await.is_compacted());
}

#[tokio::test(start_paused = true)]
async fn c11_who_publishes_second_replaces_nothing() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    *world.kept.has_moved.lock().unwrap() = true;
    let outcome = world.compact(&within(HARD), &stub).await;
    assert!(matches!(outcome.end, End::Stale));
    assert_eq!(outcome.tokens_before, outcome.tokens_after);
    assert_eq!(outcome.plan, Plan::entries());
}

#[tokio::test(start_paused = true)]
async fn without_any_model_summaries_are_extracts_and_final() {
    let mut world = World::turns(60);
    let outcome = world
        .compact_in(&context(600), &within(HARD), &contextwire_legacy::Extract)
        .await;
    assert!(outcome.is_compacted() && outcome.provisional == 0);
    let extract = crate::node::Provenance::Extract;
    assert!(
        world
            .summaries()
            .iter()
            .all(|node| node.parts().provenance == extract)
    );
}
