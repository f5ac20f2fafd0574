//! What is shown when not everything fits.

use super::*;

#[test]
fn a01_no_budget_splits_a_pair() {
    let session = Session::turns(200);
    for budget in (500..=60_000).step_by(2_500) {
        let fitted = check(&session, budget);
        assert!(fitted.items.iter().all(|item| item.why != Why::NoResult));
    }
}

#[test]
fn a02_and_br_100_a_result_is_within_the_budget_and_uses_most_of_it() {
    let session = Session::turns(200);
    for budget in [4_000, 12_000, 60_000] {
        let fitted = check(&session, budget);
        assert_eq!(fitted.authority, PromptAuthority::Assembled);
        assert!(
            fitted.tokens > budget * 3 / 4,
            "{} of {budget}",
            fitted.tokens
        );
    }
}

#[test]
fn a09_what_says_least_for_its_size_goes_first_and_not_what_is_oldest() {
    let mut session = Session::turns(60);
    let deep = session.summarise(0, 180, 2, 400);
    let fair = session.summarise(180, 240, 1, 800);
    let poor = session.summarise(240, 252, 0, 1_200);
    let last = session.summarise(252, 300, 0, 600);
    let all = session.fit(u64::MAX).tokens;
    let shown = |budget: u64| -> Vec<NodeId> {
        let items = check(&session, budget).items;
        let ids = items.iter().filter_map(|item| {
            let Why::Summary(id, _) = item.why else {
                return None;
            };
            Some(id)
        });
        ids.collect()
    };
    assert_eq!(shown(all + 200), [deep, fair, poor, last]);
    // Entries behind the summaries are cut first; then the poorest summary goes.
    let tight = (1_000..all)
        .rev()
        .step_by(50)
        .map(shown)
        .find(|ids| ids.len() == 3);
    assert_eq!(tight.unwrap(), [deep, fair, last]);
}

#[test]
fn what_is_left_out_has_a_note_and_each_summary_in_it_a_line() {
    let mut session = Session::turns(60);
    session.summarise(0, 120, 0, 3_000);
    session.summarise(120, 240, 0, 3_000);
    let fitted = check(&session, 3_000);
    let note = fitted
        .items
        .iter()
        .find(|item| item.why == Why::StandIn)
        .unwrap();
    let Piece::Insert(message) = &note.piece else {
        panic!("a note is invented");
    };
    let text = String::from_utf8_lossy(message.payload()).into_owned();
    assert!(text.contains("Headline of 0-119.") && text.contains("Headline of 120-239."));
    assert!(text.contains("messages (places 0-"));
    assert!(message.is_synthetic() && message.role() == "compactionSummary");
}

#[test]
fn a11_a_tail_never_begins_inside_a_pair() {
    let mut session = Session::turns(10);
    session.say(user("old"));
    session.say(call(&["x"]));
    session.say(result("x", &words(50)));
    for _ in 0..62 {
        session.say(answer("line"));
    }
    session.say(user("new"));
    for budget in (300..3_000).step_by(100) {
        check(&session, budget);
    }
}

#[test]
fn a12_the_whole_suffix_from_the_newest_user_message_is_there() {
    let mut session = Session::turns(50);
    let first = session.say(user("the task"));
    for n in 0..60 {
        let id = format!("n{n}");
        session.say(call(&[&id]));
        session.say(result(&id, &words(40)));
    }
    let fitted = check(&session, 8_000);
    let suffix = fitted
        .items
        .iter()
        .filter(|item| item.places.is_some_and(|span| span.start >= first));
    assert_eq!(suffix.filter(|item| item.why == Why::Newest).count(), 121);
}

#[test]
fn a13_the_newest_user_message_is_there_however_much_follows_it() {
    let mut session = Session::turns(5);
    let place = session.say(user("the task"));
    for _ in 0..1_000 {
        session.say(answer(&words(20)));
    }
    let fitted = check(&session, 2_000);
    let kept = |item: &Item| item.piece == keep(place);
    assert!(fitted.items.iter().any(kept) && fitted.tokens <= 2_000);
}

#[test]
fn a13_a_suffix_larger_than_the_budget_is_shortened_and_says_so() {
    let mut session = Session::turns(5);
    let place = session.say(user(&words(300)));
    for n in 0..6 {
        let id = format!("n{n}");
        session.say(call(&[&id]));
        session.say(result(&id, &words(2_000)));
    }
    let fitted = check(&session, 2_000);
    assert!(fitted.tokens <= 2_000);
    let kept = |item: &Item| item.piece == keep(place);
    assert!(fitted.items.iter().any(kept));
    assert!(fitted.items.iter().any(|item| item.form == Form::Shortened));
    let tiny = check(&session, 700);
    assert_eq!(tiny.authority, PromptAuthority::PreassemblyMayOverflow);
    assert!(tiny.items.iter().any(kept));
}

#[test]
fn a26_a_pin_is_shown_verbatim_wherever_it_is() {
    for is_summarised in [false, true] {
        let mut session = Session::turns(30);
        session.say(user("keep PORT=48213"));
        session.say(answer("noted"));
        session.pins.insert(180);
        (0..60).for_each(|_| session.turn());
        if is_summarised {
            session.summarise(0, 240, 0, 500);
        }
        let newest = 1_100;
        for budget in [newest, 3_000, 20_000, 200_000] {
            let fitted = check(&session, budget);
            let pin = fitted.items.iter().find(|item| item.why == Why::Pinned);
            assert_eq!(
                pin.map(|pin| &pin.piece),
                Some(&Piece::Keep(180)),
                "{budget}"
            );
        }
    }
}

#[test]
fn a_pinned_result_brings_its_call() {
    let mut session = Session::turns(80);
    session.summarise(0, 300, 0, 500);
    session.pins.insert(4);
    let fitted = check(&session, 30_000);
    let pinned = fitted.items.iter().filter(|item| item.why == Why::Pinned);
    let places: Vec<u64> = pinned.map(|item| item.places.unwrap().start).collect();
    assert_eq!(places, [3, 4]);
}

#[test]
fn every_note_counts_however_many_pins_part_what_is_left_out() {
    let mut session = Session::turns(80);
    session.pins.extend((0..20).map(|n| 5 + 18 * n));
    for budget in (6_000..16_000).step_by(250) {
        let fitted = check(&session, budget);
        assert_eq!(fitted.authority, PromptAuthority::Assembled, "{budget}");
        let pins = fitted.items.iter().filter(|item| item.why == Why::Pinned);
        assert_eq!(pins.count(), 20, "{budget}");
    }
}

#[test]
fn a12_a_call_of_before_that_is_answered_in_the_newest_turn_is_a_part_of_it() {
    let mut session = Session::turns(20);
    session.say(user("start it"));
    let call = session.say(call(&["slow"]));
    session.say(answer(&words(900)));
    session.say(user("meanwhile"));
    session.say(result("slow", "done at last"));
    let fitted = check(&session, 600);
    let at = |place: u64| {
        let mut items = fitted.items.iter();
        items.any(|item| item.why == Why::Newest && item.piece == keep(place))
    };
    assert!(
        at(call) && at(call + 2) && at(call + 3),
        "{:?}",
        fitted.items
    );
}

#[test]
fn a27_another_budget_changes_nothing_that_is_kept() {
    let mut session = Session::turns(100);
    session.summarise(0, 300, 0, 900);
    let large = session.fit(200_000);
    let small = check(&session, 8_000);
    assert!(small.tokens <= 8_000 && large.tokens > 40_000);
    assert_eq!(session.fit(200_000), large);
}

#[test]
fn br_071_what_a_summary_stands_for_is_not_shown_beside_it() {
    let mut session = Session::turns(20);
    session.summarise(0, 60, 0, 300);
    let fitted = check(&session, 1_000_000);
    assert!(matches!(fitted.items[0].why, Why::Summary(..)));
    assert_eq!(fitted.items.len(), 1 + 60);
}

#[test]
fn an_oversized_result_is_cut_to_head_and_tail_with_a_handle_whatever_its_turn() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(call(&["a"]));
    let place = session.say(result("a", &words(9_000)));
    let cut = |session: &Session| {
        let fitted = check(session, 20_000);
        let item = fitted
            .items
            .iter()
            .find(|item| item.places.unwrap().start == place);
        item.unwrap().clone()
    };
    let in_newest = cut(&session);
    assert_eq!(
        (in_newest.form, in_newest.tokens <= 5_000),
        (Form::Shortened, true)
    );
    session.say(user("next"));
    assert_eq!(cut(&session).piece, in_newest.piece);
    let Piece::Insert(message) = in_newest.piece else {
        panic!("a cut message is another one");
    };
    assert!(String::from_utf8_lossy(message.payload()).contains("the whole is msg:2"));
}

#[test]
fn a_summary_that_the_store_lost_is_counted_and_not_hidden() {
    let mut session = Session::turns(20);
    let id = session.summarise(0, 60, 0, 300);
    session.nodes.remove(&id);
    let fitted = check(&session, 1_000_000);
    assert_eq!(
        (fitted.items[0].why, fitted.items[0].stands_for),
        (Why::StandIn, 60)
    );
}
