//! Sameness from turn to turn, and the identity of what is shown.

use super::*;

#[test]
fn a18_an_unchanged_session_gives_the_same_bytes() {
    let mut session = Session::turns(100);
    session.summarise(0, 300, 0, 900);
    for budget in [3_000, 30_000, 300_000] {
        let first = session.fit(budget);
        (0..5).for_each(|_| assert_eq!(session.fit(budget), first));
    }
}

/// Turns after which what was sent before was not the beginning of what is sent.
fn breaks(session: &mut Session, budget: u64, turns: usize) -> usize {
    let mut before = session.payloads(budget);
    let mut breaks = 0;
    for _ in 0..turns {
        session.turn();
        let now = session.payloads(budget);
        breaks += usize::from(!now.starts_with(&before));
        before = now;
    }
    breaks
}

#[test]
fn a19_and_br_084_a_context_that_fits_only_grows_at_its_end() {
    let mut session = Session::turns(60);
    session.summarise(0, 240, 0, 900);
    assert_eq!(breaks(&mut session, 100_000, 40), 0);
}

#[test]
fn a21_a_new_summary_changes_the_prefix_once() {
    let mut session = Session::turns(60);
    session.summarise(0, 240, 0, 900);
    let before = session.payloads(100_000);
    session.summarise(240, 300, 0, 300);
    assert!(!session.payloads(100_000).starts_with(&before));
    assert_eq!(breaks(&mut session, 100_000, 10), 0);
}

#[test]
fn without_compaction_a_context_over_its_budget_gives_way_in_few_large_steps() {
    let mut session = Session::turns(200);
    assert!(breaks(&mut session, 60_000, 40) <= 20);
}

#[test]
fn e01_appended_entries_never_change_the_epoch() {
    let mut session = Session::turns(60);
    session.summarise(0, 240, 0, 900);
    let first = session.fit(200_000);
    for _ in 0..50 {
        session.turn();
        let now = session.fit(200_000);
        assert_eq!(
            (&now.epoch, &now.fingerprint),
            (&first.epoch, &first.fingerprint)
        );
    }
}

#[test]
fn e02_and_e05_each_summary_that_is_shown_or_edited_changes_the_epoch_once() {
    let mut session = Session::turns(60);
    let mut epochs = vec![session.fit(200_000).epoch];
    session.summarise(0, 240, 0, 900);
    epochs.push(session.fit(200_000).epoch);
    session.turn();
    assert_eq!(session.fit(200_000).epoch, epochs[1]);
    session.summarise(0, 240, 0, 901);
    epochs.push(session.fit(200_000).epoch);
    session.pins.insert(3);
    epochs.push(session.fit(200_000).epoch);
    let mut unique = epochs.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 4);
}

#[test]
fn e02_two_machines_with_the_same_state_have_the_same_epoch() {
    let build = || {
        let mut session = Session::turns(60);
        session.summarise(0, 240, 0, 900);
        session.pins.insert(7);
        session.fit(200_000)
    };
    assert_eq!(build(), build());
}

#[test]
fn r10_1_a_correction_of_what_is_shown_changes_the_fingerprint_and_of_nothing_else() {
    let mut session = Session::turns(60);
    session.summarise(0, 240, 0, 900);
    let before = session.fit(200_000);
    session.corrections = vec![(3, Digest([1; 32]))];
    assert_eq!(session.fit(200_000).fingerprint, before.fingerprint);
    session.corrections.push((300, Digest([2; 32])));
    let after = session.fit(200_000);
    assert_ne!(after.fingerprint, before.fingerprint);
    assert_eq!(after.epoch, before.epoch);
}

#[test]
fn e06_a_projection_holds_no_unpaired_call_and_bounded_results() {
    let mut session = Session::turns(30);
    session.say(user("go"));
    session.say(call(&["big"]));
    session.say(result("big", &words(60_000)));
    let fitted = check(&session, 100_000);
    assert!(fitted.items.iter().all(|item| item.tokens <= 25_000));
}
