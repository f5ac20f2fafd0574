use proptest::prelude::*;

use super::*;
use crate::segment::Assembled;
use crate::transcript::Transcript;

/// `u`: user; `a`: assistant text; `c:x,y`: calls x and y; `r:x`: result of x.
fn list(script: &str) -> Transcript {
    script.split_whitespace().map(message).collect()
}

fn message(word: &str) -> Message {
    let payload = match word.split_once(':') {
        Some(("c", ids)) => {
            let blocks: Vec<String> = ids
                .split(',')
                .map(|id| {
                    format!(r#"{{"type":"toolCall","id":"{id}","name":"t","arguments":{{}}}}"#)
                })
                .collect();
            format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","))
        }
        Some((_, id)) => {
            format!(r#"{{"role":"toolResult","toolCallId":"{id}","content":"{word}"}}"#)
        }
        None if word == "u" => r#"{"role":"user","content":"u"}"#.to_owned(),
        None => r#"{"role":"assistant","content":"a"}"#.to_owned(),
    };
    Message::from_payload(payload)
}

/// (call's message, id, result's message) of every call.
fn pairs(list: &Transcript) -> Vec<(usize, String, Option<usize>)> {
    let pairing = Pairing::of(list.iter());
    pairing
        .calls()
        .iter()
        .map(|call| (call.message, call.id.to_owned(), call.result))
        .collect()
}

fn pair(call: usize, id: &str, result: Option<usize>) -> (usize, String, Option<usize>) {
    (call, id.to_owned(), result)
}

#[test]
fn a04_results_in_any_order_answer_the_calls_of_one_message() {
    let list = list("u c:a,b,c r:c r:a r:b");
    assert_eq!(
        pairs(&list),
        [
            pair(1, "a", Some(3)),
            pair(1, "b", Some(4)),
            pair(1, "c", Some(2))
        ]
    );
    let pairing = Pairing::of(list.iter());
    assert_eq!(pairing.calls_of(1).len(), 3);
    assert_eq!(
        pairing.call_answered_by(2).map(|call| call.ordinal),
        Some(2)
    );
    assert_eq!(pairing.call_answered_by(0), None);
}

#[test]
fn a05_a_call_without_a_result_stays_unanswered() {
    assert_eq!(pairs(&list("u c:a u")), [pair(1, "a", None)]);
}

#[test]
fn a07_an_id_used_again_pairs_within_its_own_position() {
    assert_eq!(
        pairs(&list("u c:a r:a u c:a r:a u c:a u c:a r:a")),
        [
            pair(1, "a", Some(2)),
            pair(4, "a", Some(5)),
            pair(7, "a", None),
            pair(9, "a", Some(10))
        ],
    );
}

#[test]
fn a_result_that_comes_turns_later_still_answers() {
    assert_eq!(
        pairs(&list("u c:a u c:b r:b r:a")),
        [pair(1, "a", Some(5)), pair(3, "b", Some(4))]
    );
}

#[test]
fn br_085_a_result_before_its_call_answers_it_within_the_turn() {
    assert_eq!(pairs(&list("u r:a c:a")), [pair(2, "a", Some(1))]);
    assert_eq!(pairs(&list("u r:a c:a r:a")), [pair(2, "a", Some(3))]);
    assert_eq!(
        pairs(&list("u r:a r:a c:a a c:a")),
        [pair(3, "a", Some(2)), pair(5, "a", Some(1))]
    );
    assert_eq!(
        pairs(&list("u c:a r:a r:a c:a")),
        [pair(1, "a", Some(2)), pair(4, "a", Some(3))]
    );
    let other_turn = list("r:a u c:a");
    assert_eq!(pairs(&other_turn), [pair(2, "a", None)]);
    assert!(Pairing::of(other_turn.iter()).is_orphan(0));
}

#[test]
fn a_second_result_of_one_call_is_an_orphan() {
    let list = list("u c:a r:a r:a");
    assert_eq!(pairs(&list), [pair(1, "a", Some(2))]);
    let pairing = Pairing::of(list.iter());
    assert!(pairing.is_orphan(3) && !pairing.is_orphan(2) && !pairing.is_orphan(1));
}

#[test]
fn a_split_pair_is_reported_from_either_half() {
    let input = list("u c:a,b r:a r:b a");
    let mut lost_result = Assembled::keep(0..3);
    lost_result.push_keep(4..5);
    assert_eq!(
        broken_pairs(&input, &lost_result),
        [BrokenPair {
            position: 1,
            half: Half::Call,
            id: "b".into()
        }],
    );
    assert_eq!(
        broken_pairs(&input, &Assembled::keep(3..5)),
        [BrokenPair {
            position: 0,
            half: Half::Result,
            id: "b".into()
        }],
    );
    let mut reordered = Assembled::keep(2..4);
    reordered.push_keep(1..2);
    assert_eq!(broken_pairs(&input, &reordered).len(), 2);
}

#[test]
fn a_shortened_result_still_answers_and_an_invented_stray_does_not_pass() {
    let input = list("u c:a r:a");
    let mut shortened = Assembled::keep(0..2);
    shortened.push_insert(message("r:a"));
    assert_eq!(broken_pairs(&input, &shortened), []);
    let mut stray = Assembled::keep(0..1);
    stray.push_insert(message("r:a"));
    assert_eq!(broken_pairs(&input, &stray).len(), 1);
    let mut call = Assembled::keep(0..1);
    call.push_insert(message("c:a"));
    assert_eq!(broken_pairs(&input, &call).len(), 1);
}

#[test]
fn a_defect_of_the_input_is_not_the_engines() {
    let input = list("u r:z c:a u r:b c:b");
    for assembled in [
        Assembled::keep(0..6),
        Assembled::keep(0..3),
        Assembled::keep(1..6),
    ] {
        assert_eq!(broken_pairs(&input, &assembled), []);
    }
    let mut copied = Assembled::keep(0..2);
    copied.push_insert(message("c:a"));
    copied.push_insert(message("r:z"));
    assert_eq!(broken_pairs(&input, &copied), []);
}

fn any_script() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let word = prop_oneof![
        Just("u".to_owned()),
        Just("a".to_owned()),
        prop::collection::vec(id.clone(), 1..3).prop_map(|ids| format!("c:{}", ids.join(","))),
        id.prop_map(|id| format!("r:{id}")),
    ];
    prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn every_result_answers_at_most_one_call_with_its_id(script in any_script()) {
        let list = list(&script);
        let pairing = Pairing::of(list.iter());
        let mut answered: Vec<usize> = pairing.calls().iter().filter_map(|call| call.result).collect();
        let count = answered.len();
        answered.sort_unstable();
        answered.dedup();
        prop_assert_eq!(answered.len(), count);
        for call in pairing.calls() {
            let Some(result) = call.result else { continue };
            prop_assert_eq!(list.get(result).and_then(Message::tool_result_for), Some(call.id));
            prop_assert_eq!(pairing.call_answered_by(result), Some(call));
        }
    }

    #[test]
    fn a_slice_from_a_turn_on_pairs_its_calls_as_the_whole_does(script in any_script(), at in any::<prop::sample::Index>()) {
        let list = list(&script);
        let starts: Vec<usize> = (0..list.len()).filter(|&i| list.get(i).unwrap().role() == "user").collect();
        prop_assume!(!starts.is_empty());
        let start = starts[at.index(starts.len())];
        let whole = pairs(&list).into_iter().filter(|(call, _, _)| *call >= start);
        let slice = Pairing::of(list.range(start..list.len()));
        for (whole, slice) in whole.zip(slice.calls()) {
            let result = slice.result.map(|result| result + start);
            prop_assert_eq!((whole.0, whole.1.as_str()), (slice.message + start, slice.id));
            // Only a call that has no result may take one that answered a call before the slice.
            prop_assert!(whole.2 == result || (whole.2.is_none() && result < Some(whole.0)));
        }
    }

    #[test]
    fn keeping_everything_or_a_whole_turn_breaks_nothing(script in any_script()) {
        let list = list(&script);
        prop_assert_eq!(broken_pairs(&list, &Assembled::keep(0..list.len())), []);
    }
}
