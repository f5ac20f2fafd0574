use contextwire_engine::Message;
use contextwire_engine::tokens::ModelFamily;
use proptest::prelude::*;

use super::*;

fn item(payload: &str) -> Item {
    let message = Message::from_payload(payload.to_owned());
    Item::of(&message, ModelFamily::Other)
}

fn user(words: usize) -> Item {
    let text = " word".repeat(words);
    item(&format!(r#"{{"role":"user","content":"{text}"}}"#))
}

fn answer(words: usize) -> Item {
    let text = " word".repeat(words);
    item(&format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

fn call(ids: &[&str]) -> Item {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}"#))
        .collect();
    let blocks = blocks.join(",");
    item(&format!(r#"{{"role":"assistant","content":[{blocks}]}}"#))
}

fn result(id: &str, words: usize) -> Item {
    let text = " word".repeat(words);
    item(&format!(
        r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"read","content":[{{"type":"text","text":"{text}"}}]}}"#
    ))
}

fn plan(items: &[Item], keep: u64) -> Option<Plan> {
    Plan::of(items, &Places::of(items), keep, true)
}

fn cut(items: &[Item], keep: u64) -> Option<usize> {
    plan(items, keep).map(|plan| plan.cut())
}

#[test]
fn the_cut_is_at_the_last_message_passed_before_enough_is_kept() {
    let items = [user(50), answer(50), user(50), answer(50)];
    assert_eq!(cut(&items, 60), Some(2));
    assert_eq!(cut(&items, 50), Some(3));
    assert_eq!(cut(&items, 1_000), None, "everything stays");
}

#[test]
fn c339_the_cut_never_lands_on_a_tool_result() {
    let items = [user(50), call(&["a"]), result("a", 50), answer(50)];
    // Enough is kept at the result already: the cut is behind it, not at it.
    assert_eq!(cut(&items, 80), Some(3));
    for keep in 1..300 {
        let cut = cut(&items, keep).unwrap_or_default();
        assert!(cut != 2, "{keep}");
    }
}

#[test]
fn c340_a_newest_result_that_is_too_large_alone_keeps_its_whole_exchange() {
    let items = [
        user(50),
        answer(50),
        user(50),
        call(&["a"]),
        result("a", 900),
    ];
    assert_eq!(cut(&items, 100), Some(3));
}

#[test]
fn c342_without_a_message_that_may_be_first_nothing_is_cut() {
    let items = [result("a", 900), result("b", 900), result("c", 900)];
    assert_eq!(plan(&items, 10), None);
    let carrier = item(r#"{"role":"user","content":"facts","runtimeContextCarrier":true}"#);
    assert_eq!(plan(&[carrier.clone(), carrier], 1), None);
    assert_eq!(plan(&[], 1), None);
}

#[test]
fn c343_a_cut_inside_a_turn_splits_it() {
    let items = [
        user(50),
        answer(50),
        user(50),
        call(&["a"]),
        result("a", 50),
        answer(50),
    ];
    let expected = Plan {
        history: 0..2,
        prefix: 2..5,
    };
    assert_eq!(plan(&items, 40), Some(expected));
    let whole = Plan {
        history: 0..2,
        prefix: 2..2,
    };
    assert_eq!(plan(&items, 170), Some(whole));
}

#[test]
fn a_late_result_keeps_everything_from_its_call_on() {
    let items = [
        user(50),
        call(&["late"]),
        user(50),
        answer(50),
        result("late", 5),
        answer(50),
        user(5),
    ];
    assert_eq!(cut(&items, 150), Some(1));
    assert_eq!(cut(&items, 1), Some(6));
}

#[test]
fn br_085_a_result_before_its_call_is_not_parted_from_it() {
    let items = [
        user(50),
        answer(50),
        result("a", 5),
        call(&["a"]),
        answer(50),
    ];
    // The nearest place before the pair, since a result may not be first.
    assert_eq!(cut(&items, 60), Some(1));
}

#[test]
fn a_pending_user_message_stays_whatever_it_costs_where_it_is_protected() {
    let note = item(r#"{"role":"custom","content":"a note of an extension"}"#);
    let items = [user(50), answer(50), user(900), note.clone(), note];
    let places = Places::of(&items);
    let cut = |protect| Plan::of(&items, &places, 5, protect).map(|plan| plan.cut());
    assert_eq!(cut(true), Some(2));
    assert_eq!(cut(false), Some(4));
}

fn any_item() -> impl Strategy<Value = Item> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        3 => (1usize..60).prop_map(user),
        3 => (1usize..60).prop_map(answer),
        3 => prop::collection::vec(id.clone(), 1..3).prop_map(|ids| call(&ids)),
        5 => (id, 1usize..200).prop_map(|(id, words)| result(id, words)),
        1 => Just(item(r#"{"role":"novel"}"#)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_cut_parts_a_call_from_its_result(items in prop::collection::vec(any_item(), 0..40), keep in 1u64..900) {
        let Some(plan) = plan(&items, keep) else { return Ok(()) };
        let cut = plan.cut();
        prop_assert!(cut > 0 && cut < items.len());
        prop_assert!(items[cut].role.may_be_first());
        prop_assert_eq!((plan.history.start, plan.history.end), (0, plan.prefix.start));
        let pairing = Pairing::of(items.iter().map(|item| &item.message));
        for call in pairing.calls() {
            if let Some(result) = call.result {
                prop_assert_eq!(call.message < cut, result < cut);
            }
        }
    }
}
