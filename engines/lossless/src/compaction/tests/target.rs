//! When a compaction runs, how far it goes, and what it says of it.

use super::*;

#[tokio::test(start_paused = true)]
async fn br_073_it_stops_as_soon_as_its_target_is_met() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    let before = world.tokens();
    let outcome = world.compact(&within(50_000), &stub).await;
    assert!(matches!(outcome.end, End::TargetMet));
    let after = world.tokens();
    assert!(after <= 37_500 && after > 33_000, "{after}");
    assert_eq!(
        (outcome.tokens_before, outcome.tokens_after),
        (before, after)
    );
    assert_eq!(outcome.plan, world.plan());
    assert!(outcome.answer().ok && outcome.answer().compacted);
}

#[tokio::test(start_paused = true)]
async fn c09_a_threshold_crossed_by_little_gives_exactly_one_compaction() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    let budget = world.tokens() * 100 / 75;
    assert!(
        world
            .compact(&within(budget - 4), &stub)
            .await
            .is_compacted()
    );
    let calls = stub.calls();
    for _ in 0..20 {
        let outcome = world.compact(&within(budget - 4), &stub).await;
        assert!(matches!(outcome.end, End::NotDue));
    }
    assert_eq!((stub.calls(), calls), (calls, 1));
}

#[tokio::test(start_paused = true)]
async fn br_077_without_a_count_of_the_host_its_own_estimate_decides() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    assert!(!world.compact(&within(200_000), &stub).await.is_compacted());
    assert!(world.compact(&within(40_000), &stub).await.is_compacted());
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_nothing_is_due_and_the_answer_says_so() {
    let mut world = World::turns(30);
    let stub = Stub::new(Way::Words(60));
    let answer = world.compact(&Compact::default(), &stub).await.answer();
    assert!(answer.ok && answer.reason.unwrap().contains("no token budget is known"));
    let force = Compact {
        force: true,
        ..Compact::default()
    };
    assert!(world.compact(&force, &stub).await.is_compacted());
}

#[tokio::test(start_paused = true)]
async fn c20_a_forced_compaction_of_a_small_session_asks_nobody_and_says_why() {
    let mut world = World::turns(2);
    let stub = Stub::new(Way::Words(60));
    let request = Compact {
        force: true,
        ..within(200_000)
    };
    let answer = world.compact(&request, &stub).await.answer();
    assert!(!answer.compacted && answer.ok);
    assert!(answer.reason.unwrap().starts_with("nothing to compact"));
    assert_eq!(stub.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn br_078_a_forced_compaction_below_the_threshold_summarises_one_pass_of_entries() {
    let mut world = World::turns(30);
    let stub = Stub::new(Way::Words(60));
    let request = Compact {
        force: true,
        ..within(200_000)
    };
    assert!(world.compact(&request, &stub).await.is_compacted());
    assert!(world.summaries().iter().all(|node| node.depth() == 0));
    let calls = stub.calls();
    // BR-069: nothing more is lost while there is room.
    assert!(!world.compact(&request, &stub).await.is_compacted());
    assert_eq!(stub.calls(), calls);
}

#[tokio::test(start_paused = true)]
async fn c08_and_br_056_a_tail_over_the_target_is_exhausted_once_and_asks_nobody_again() {
    let mut world = World::turns(2);
    world.say(user(&words(60)));
    world.say(answer(&words(3_000)));
    let stub = Stub::new(Way::Words(60));
    let first = world.compact(&within(2_000), &stub).await;
    let calls = stub.calls();
    for _ in 0..20 {
        let outcome = world.compact(&within(2_000), &stub).await;
        assert!(matches!(outcome.end, End::NothingLeft));
    }
    assert!(first.is_over());
    assert_eq!(stub.calls(), calls);
    world.turn();
    world.turn();
    assert!(world.compact(&within(2_000), &stub).await.is_compacted());
}

#[tokio::test(start_paused = true)]
async fn br_052_nothing_left_and_still_over_the_budget_is_no_success() {
    let mut world = World::turns(1);
    let stub = Stub::new(Way::Words(60));
    let request = Compact {
        force: true,
        current_token_count: Some(250_000),
        target: CompactionTarget::Budget,
        ..within(1_000)
    };
    let answer = world.compact(&request, &stub).await.answer();
    assert!(!answer.ok && !answer.compacted && answer.result.is_none());
    assert!(
        answer
            .reason
            .unwrap()
            .starts_with("still over the budget, and nothing left")
    );
}

#[tokio::test(start_paused = true)]
async fn br_141_tokens_that_are_not_its_own_do_not_drive_it_to_nothing() {
    let mut world = World::turns(40);
    let stub = Stub::new(Way::Words(60));
    let request = Compact {
        current_token_count: Some(93_000),
        ..within(60_000)
    };
    world.compact(&request, &stub).await;
    assert!(world.tokens() <= 15_000, "{}", world.tokens());
    assert!(world.tokens() > 9_000, "{}", world.tokens());
}

#[tokio::test(start_paused = true)]
async fn c10_leaves_in_parallel_are_the_same_as_one_by_one() {
    let mut plans = Vec::new();
    for parallel in [1, 4] {
        let mut world = World::turns(120);
        world.settings.parallel = parallel;
        let stub = Stub::new(Way::Words(60));
        world.compact(&within(40_000), &stub).await;
        assert_eq!(stub.most_in_flight.load(Ordering::Relaxed), parallel);
        plans.push((world.plan(), stub.calls()));
    }
    assert_eq!(plans[0], plans[1]);
    assert!(plans[0].0.summaries().len() > 8);
}

#[tokio::test(start_paused = true)]
async fn c15_the_same_conversation_and_answers_give_the_same_ids_and_digests() {
    let mut digests = BTreeSet::new();
    for _ in 0..2 {
        let mut world = World::turns(120);
        let stub = Stub::new(Way::Words(60));
        world.compact(&within(8_000), &stub).await;
        assert!(world.summaries().iter().any(|node| node.depth() > 0));
        digests.insert(world.plan().digest());
    }
    assert_eq!(digests.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_leaves_are_condensed_by_depth_until_the_target_is_met() {
    let mut world = World::turns(300);
    let stub = Stub::new(Way::Words(200));
    let outcome = world.compact(&within(9_000), &stub).await;
    assert!(matches!(outcome.end, End::TargetMet), "{:?}", outcome.end);
    let depths: Vec<u32> = world.summaries().iter().map(|node| node.depth()).collect();
    assert!(depths.iter().any(|depth| *depth >= 2), "{depths:?}");
    assert!(world.tokens() <= 6_750);
}

#[tokio::test(start_paused = true)]
async fn c13_what_is_said_meanwhile_is_not_touched() {
    let mut world = World::turns(60);
    let stub = Stub::new(Way::Words(60));
    world.compact(&within(40_000), &stub).await;
    let end = world.plan().end();
    (0..10).for_each(|_| world.turn());
    world.check();
    assert_eq!(world.plan().end(), end);
    let newest = (0..world.log.end())
        .rev()
        .find(|place| world.log.entry(*place).unwrap().message().role() == "user");
    world.compact(&within(9_000), &stub).await;
    assert!(world.plan().end() <= newest.unwrap());
}

#[tokio::test(start_paused = true)]
async fn leaves_are_cut_between_no_call_and_its_result_and_around_pins() {
    let mut world = World::turns(40);
    world.pins.extend([50, 100]);
    let stub = Stub::new(Way::Words(60));
    world.compact(&within(12_000), &stub).await;
    let plan = world.plan();
    assert!(plan.summaries().len() > 2);
    for placed in plan.summaries() {
        for border in [placed.span.start, placed.span.end] {
            let entry = world.log.entry(border).unwrap();
            assert_eq!(entry.message().tool_result_for(), None, "{border}");
        }
    }
    // Both halves of a pinned pair stay.
    assert_eq!((plan.summary_at(50), plan.summary_at(49)), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_pair_is_in_one_leaf_wherever_its_result_is() {
    let mut world = World::turns(1);
    world.settings.leaf_tokens = 600;
    let mut pairs = Vec::new();
    for n in 0..20 {
        let id = format!("late{n}");
        let first = world.say(call(&[&id]));
        world.say(answer(&words(290)));
        if n % 2 == 0 {
            world.say(user("meanwhile"));
        }
        world.say(answer(&words(290)));
        pairs.push((first, world.say(result(&id, &words(100)))));
        // One whose result comes first.
        let early = format!("early{n}");
        world.say(user(&words(200)));
        let result = world.say(result(&early, &words(100)));
        world.say(answer(&words(350)));
        pairs.push((world.say(call(&[&early])), result));
    }
    (0..4).for_each(|_| world.turn());
    let stub = Stub::new(Way::Words(20));
    assert!(world.compact(&within(5_000), &stub).await.is_compacted());
    let plan = world.plan();
    let leaf = |place: u64| {
        let nodes = world.kept.nodes.lock().unwrap();
        let mut leaves = nodes.values().filter(|node| node.depth() == 0);
        leaves
            .find(|node| node.span().contains(place))
            .map(|node| node.id())
    };
    assert!(plan.end() > 60);
    for (call, result) in pairs {
        assert_eq!(leaf(call), leaf(result), "{call} and {result}");
    }
}

#[tokio::test(start_paused = true)]
async fn br_062_each_call_ends_in_time_and_several_finish_the_work() {
    let mut world = World::turns(100);
    world.settings.parallel = 1;
    let stub = Stub::new(Way::Slow(Duration::from_secs(10)));
    let mut ends = Vec::new();
    for _ in 0..8 {
        let cx = context(55);
        let outcome = world.compact_in(&cx, &within(30_000), &stub).await;
        assert!(!cx.remaining().is_zero(), "nothing was cut off half way");
        let is_late = matches!(outcome.end, End::OutOfTime);
        assert!(outcome.is_compacted() && outcome.answer().ok);
        ends.push(is_late);
        if !is_late {
            break;
        }
    }
    assert!(ends.len() > 2 && !ends[ends.len() - 1], "{ends:?}");
    assert!(world.tokens() <= 22_500);
}

#[tokio::test(start_paused = true)]
async fn l07_being_cancelled_replaces_nothing_and_the_next_one_goes_on_where_it_stopped() {
    let mut world = World::turns(100);
    world.settings.parallel = 1;
    let stub = Stub::new(Way::Slow(Duration::from_secs(10)));
    let cx = context(600);
    let cancel = cx.cancellation.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(45)).await;
        cancel.cancel();
    };
    let started = Instant::now();
    let request = within(30_000);
    let (outcome, ()) = tokio::join!(world.compact_in(&cx, &request, &stub), stop);
    assert!(matches!(outcome.end, End::Cancelled) && !outcome.is_compacted());
    assert!(started.elapsed() < Duration::from_secs(46));
    assert_eq!(world.plan(), Plan::entries());
    let asked = stub.calls();
    assert!(world.compact(&request, &stub).await.is_compacted());
    let fresh = World::turns(100);
    let mut fresh = World {
        settings: world.settings.clone(),
        ..fresh
    };
    let again = Stub::new(Way::Slow(Duration::from_secs(10)));
    fresh.compact(&request, &again).await;
    // Only the call that was cut off is asked again.
    assert_eq!(stub.calls(), again.calls() + 1);
    assert!(asked >= 4);
    assert_eq!(fresh.plan(), world.plan());
}

#[tokio::test(start_paused = true)]
async fn progress_says_what_is_being_summarised() {
    let mut world = World::turns(60);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let cx = context(600).with_progress(Arc::new(move |progress| {
        sink.lock().unwrap().push(progress);
    }));
    let stub = Stub::new(Way::Words(60));
    world.compact_in(&cx, &within(40_000), &stub).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].phase, "compact");
    assert!(
        seen[0]
            .text
            .as_deref()
            .unwrap()
            .starts_with("summarising messages 0-")
    );
}
