//! What holds for every session and budget.

use proptest::prelude::*;

use super::*;

/// A message of some session: mostly sound, sometimes odd.
fn payload(at: usize, kind: u8, size: usize, id: u8) -> String {
    // Ids come again nearby, as they do, and not everywhere.
    let id = format!("t{}-{}", at / 6, id % 3);
    match kind % 12 {
        0..=2 => user(&words(size)),
        3..=5 => answer(&words(size)),
        6 | 7 => call(&[&id]),
        8 | 9 => result(&id, &words(size * 4)),
        10 => r#"{"role":"assistant","content":[]}"#.to_owned(),
        _ => call(&[&id, "other"]),
    }
}

prop_compose! {
    fn sessions()(
        messages in prop::collection::vec((any::<u8>(), 1usize..120, any::<u8>()), 1..90),
        summaries in prop::collection::vec((0u64..80, 1u64..30, 1usize..200), 0..5),
        pins in prop::collection::btree_set(0u64..90, 0..4),
        is_current in any::<bool>(),
    ) -> Session {
        let mut session = Session::default();
        for (at, (kind, size, id)) in messages.into_iter().enumerate() {
            session.say(payload(at, kind, size, id));
        }
        let end = session.log.end();
        for (start, len, tokens) in summaries {
            let last = (start + len).min(end);
            if start < last && (start..last).all(|place| session.plan.summary_at(place).is_none()) {
                session.summarise(start, last, 0, tokens);
            }
        }
        session.pins = pins.into_iter().filter(|pin| *pin < end).collect();
        if is_current {
            session.current_turn = CurrentTurn::Included;
        }
        session
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pairs_are_whole_and_every_message_is_shown_or_counted(
        session in sessions(),
        budget in 50u64..20_000,
    ) {
        let fitted = check(&session, budget);
        prop_assert_eq!(session.fit(budget), fitted);
    }

    #[test]
    fn order_is_that_of_the_log_but_for_results_behind_their_calls(
        session in sessions(),
        budget in 50u64..20_000,
    ) {
        let fitted = session.fit(budget);
        let shown = session.shown(&fitted);
        let mut last = 0;
        for (item, message) in fitted.items.iter().zip(&shown) {
            let is_placed_by_another = matches!(item.why, Why::Pinned | Why::StandIn);
            if message.tool_result_for().is_some() || is_placed_by_another {
                continue;
            }
            let Some(places) = item.places else { continue };
            prop_assert!(places.start >= last);
            last = places.start;
        }
    }

    #[test]
    fn a_larger_budget_never_shows_less(session in sessions(), budget in 200u64..8_000, more in 0u64..8_000) {
        // A result goes with its call; which one that is can depend on what lies before it.
        let whole = |fitted: &Fitted| -> BTreeSet<u64> {
            let shown = session.shown(fitted);
            let items = fitted.items.iter().zip(&shown);
            let said = items.filter(|(item, message)| {
                item.why != Why::StandIn && message.tool_result_for().is_none()
            });
            said.filter_map(|(item, _)| item.places).map(|span| span.start).collect()
        };
        let (small, large) = (session.fit(budget), session.fit(budget + more));
        if small.authority == PromptAuthority::Assembled {
            prop_assert!(
                whole(&small).is_subset(&whole(&large)),
                "{:?} of {:?}", whole(&small), whole(&large)
            );
        }
    }
}
