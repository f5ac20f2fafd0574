use contextwire_engine::Digest;
use proptest::prelude::*;

use super::*;

fn placed(tag: u8, start: u64, end: u64) -> Placed {
    Placed {
        id: NodeId(Digest([tag; 32])),
        span: Span::new(start, end),
    }
}

#[test]
fn entries_between_summaries_and_behind_them_stand_for_themselves() {
    let plan = Plan::stored(3, [placed(1, 2, 5), placed(2, 8, 9)]).unwrap();
    assert_eq!(
        plan.frontier(12),
        [
            FrontierItem::Entries(Span::new(0, 2)),
            FrontierItem::Summary(placed(1, 2, 5)),
            FrontierItem::Entries(Span::new(5, 8)),
            FrontierItem::Summary(placed(2, 8, 9)),
            FrontierItem::Entries(Span::new(9, 12)),
        ]
    );
    assert_eq!(plan.summary_at(4), Some(placed(1, 2, 5)));
    assert_eq!(plan.summary_at(5), None);
}

#[test]
fn a_condensed_summary_takes_the_place_of_what_it_covers_and_of_nothing_else() {
    let plan = Plan::stored(1, [placed(1, 0, 4), placed(2, 4, 8), placed(3, 9, 12)]).unwrap();
    let next = plan.with(placed(9, 0, 8)).unwrap();
    assert_eq!(next.summaries(), [placed(9, 0, 8), placed(3, 9, 12)]);
    assert_eq!((plan.version(), next.version()), (1, 2));
    assert_eq!(
        plan.with(placed(9, 2, 8)),
        Err(PlanError::Cuts {
            span: Span::new(2, 8),
            old: Span::new(0, 4)
        })
    );
    let back = next
        .without(placed(9, 0, 8).id, &[placed(1, 0, 4), placed(2, 4, 8)])
        .unwrap();
    assert_eq!(back.digest(), plan.digest());
}

#[test]
fn e01_a_digest_says_what_stands_for_the_log_and_not_how_often_it_changed() {
    let one = Plan::entries().with(placed(1, 0, 4)).unwrap();
    assert_eq!(one.as_version(7).digest(), one.digest());
    assert_ne!(one.digest(), Plan::entries().digest());
    assert_eq!(one.up_to(3).digest(), Plan::entries().digest());
    assert_eq!(one.up_to(4), one);
}

#[test]
fn stored_summaries_that_overlap_or_stand_for_nothing_are_no_plan() {
    let overlap = Plan::stored(1, [placed(1, 0, 4), placed(2, 3, 6)]);
    assert_eq!(
        overlap,
        Err(PlanError::Overlap {
            span: Span::new(3, 6)
        })
    );
    let empty = Plan::stored(1, [placed(1, 4, 4)]);
    assert_eq!(
        empty,
        Err(PlanError::Empty {
            span: Span::new(4, 4)
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn c01_every_place_is_in_exactly_one_item(
        steps in prop::collection::vec((0u64..60, 1u64..12, any::<u8>()), 0..30),
        log in 72u64..90,
    ) {
        let mut plan = Plan::entries();
        for (start, len, tag) in steps {
            let step = placed(tag, start, start + len);
            plan = match tag % 5 {
                0 => plan.up_to(start),
                1 => plan.summary_at(start).map_or(plan.clone(), |old| plan.without(old.id, &[]).unwrap()),
                _ => plan.with(step).unwrap_or(plan),
            };
        }
        let mut place = 0;
        for item in plan.frontier(log) {
            prop_assert_eq!(item.span().start, place);
            prop_assert!(!item.span().is_empty());
            place = item.span().end;
        }
        prop_assert_eq!(place, log);
        prop_assert_eq!(Plan::stored(plan.version(), plan.summaries()), Ok(plan));
    }
}
