//! The engine's last good result, joined to the list as it is now (R7.13).

use std::borrow::Cow;
use std::collections::HashMap;

use contextwire_engine::json::{Cursor, JsonError, Kind};
use contextwire_engine::{Assembled, Message, Segment, Transcript};

/// The key of a payload that names one message for ever, where the host writes one.
const IDEMPOTENCY_KEY: &str = "idempotencyKey";

/// What the result `messages` over the list `base` says of everything before the newest user message
/// that both lists have, and then the new list from there.
///
/// `None` where they have no such message, or where the lists differ before it: then something was
/// rewritten, erased or compacted since, and what the engine made of it must not come back.
pub(crate) fn join(
    base: &Transcript,
    messages: &Assembled,
    list: &Transcript,
) -> Option<Assembled> {
    let (was, is) = newest_common_user(base, list)?;
    if base.state_at(was) != list.state_at(is) {
        return None;
    }
    let mut joined = before(messages, was);
    joined.push_keep(is..list.len());
    Some(joined)
}

/// The items of a result that come of base messages before `end`: kept ones, and what the engine
/// put in front of the first later one.
fn before(messages: &Assembled, end: usize) -> Assembled {
    let mut earlier = Assembled::new();
    let mut is_behind = false;
    for segment in messages.segments() {
        match segment {
            Segment::Keep(range) => {
                is_behind |= range.end > end;
                earlier.push_keep(range.start..range.end.min(end));
            }
            Segment::Insert(message) if !is_behind => earlier.push_insert(message.clone()),
            Segment::Insert(_) => {}
        }
    }
    earlier
}

/// Where the newest user message of `base` that is in `list` once is in both.
fn newest_common_user(base: &Transcript, list: &Transcript) -> Option<(usize, usize)> {
    let mut places: HashMap<Identity<'_>, Place> = HashMap::new();
    for (index, message) in users(list) {
        for identity in identities(message) {
            let place = places.entry(identity);
            place
                .and_modify(|place| *place = Place::Several)
                .or_insert(Place::Once(index));
        }
    }
    let mut newest_first = users(base).collect::<Vec<_>>().into_iter().rev();
    newest_first.find_map(|(was, message)| {
        let identity = identities(message).into_iter().next()?;
        match places.get(&identity)? {
            Place::Once(is) => Some((was, *is)),
            Place::Several => None,
        }
    })
}

fn users(list: &Transcript) -> impl Iterator<Item = (usize, &Message)> {
    list.iter()
        .enumerate()
        .filter(|(_, message)| message.role() == "user")
}

/// Where an identity is in the new list; two candidates are none.
#[derive(Clone, Copy, Debug)]
enum Place {
    Once(usize),
    Several,
}

/// What tells a message from all others, the surest first.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity<'a> {
    Entry(&'a str),
    Log(&'a str),
    Key(Cow<'a, str>),
    Time(&'a str, i64),
}

fn identities(message: &Message) -> Vec<Identity<'_>> {
    let entry = message.entry_id();
    let entry = (!entry.is_empty()).then(|| Identity::Entry(entry.as_str()));
    let log = message.log_entry_id().map(|id| Identity::Log(id.as_str()));
    let key = idempotency_key(message.payload()).ok().flatten();
    let time = message.timestamp_ms();
    let time = time.map(|time| Identity::Time(message.role(), time));
    let all = [entry, log, key.map(Identity::Key), time];
    all.into_iter().flatten().collect()
}

fn idempotency_key(payload: &[u8]) -> Result<Option<Cow<'_, str>>, JsonError> {
    let mut cursor = Cursor::new(payload);
    let mut found = None;
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        if key.is(IDEMPOTENCY_KEY) && cursor.kind()? == Kind::String {
            found = Some(cursor.text()?.decode());
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(role: &str, n: usize) -> Message {
        Message::from_payload(format!(r#"{{"role":"{role}","content":"{n}"}}"#))
            .with_entry_id(format!("e{n}"))
    }

    /// A user, an assistant, a user again, and so on.
    fn list(len: usize) -> Transcript {
        (0..len)
            .map(|n| message(["user", "assistant"][n % 2], n))
            .collect()
    }

    fn summary() -> Message {
        Message::from_payload(r#"{"role":"user","content":"so far"}"#).with_synthetic(true)
    }

    /// A summary of what is before, then the rest of the list.
    fn summarised(from: usize, len: usize) -> Assembled {
        let mut messages = Assembled::new();
        messages.push_insert(summary());
        messages.push_keep(from..len);
        messages
    }

    #[test]
    fn r7_13_the_summary_stays_and_the_new_list_goes_on_from_the_newest_common_user_message() {
        let joined = join(&list(9), &summarised(4, 9), &list(13)).unwrap();
        assert_eq!(joined, summarised(4, 13));
    }

    #[test]
    fn r7_13_a_live_form_that_differs_is_the_same_message() {
        let mut base = list(8);
        let decorated = r#"{"role":"user","content":"<note/>8"}"#;
        base.push(Message::from_payload(decorated).with_entry_id("e8"));
        let joined = join(&base, &summarised(4, 9), &list(11)).unwrap();
        assert_eq!(joined, summarised(4, 11));
    }

    #[test]
    fn r7_13_what_was_derived_of_later_messages_is_left_out() {
        let mut messages = summarised(2, 5);
        messages.push_insert(message("toolResult", 90));
        messages.push_keep(6..9);
        messages.push_insert(message("user", 91));
        let mut expected = summarised(2, 5);
        expected.push_insert(message("toolResult", 90));
        expected.push_keep(6..10);
        // The newest common user message is number 8.
        assert_eq!(join(&list(9), &messages, &list(10)), Some(expected));
    }

    #[test]
    fn r7_13_without_a_common_user_message_there_is_nothing_to_join() {
        let others: Transcript = (100..109).map(|n| message("user", n)).collect();
        assert_eq!(join(&list(9), &summarised(4, 9), &others), None);
        assert_eq!(join(&list(9), &summarised(4, 9), &Transcript::new()), None);
        let assistants: Transcript = (0..3).map(|n| message("assistant", n)).collect();
        assert_eq!(join(&assistants, &summarised(1, 3), &assistants), None);
    }

    #[test]
    fn r7_13_what_was_rewritten_erased_or_compacted_does_not_come_back() {
        let base = list(9);
        let rewritten: Transcript = base
            .iter()
            .enumerate()
            .map(|(n, own)| match n {
                3 => Message::from_payload("{}").with_entry_id("e3"),
                _ => own.clone(),
            })
            .collect();
        let erased: Transcript = base.range(1..9).cloned().collect();
        let mut compacted: Transcript = [summary()].into_iter().collect();
        compacted.extend(base.range(6..9).cloned());
        for list in [rewritten, erased, compacted] {
            assert_eq!(join(&base, &summarised(4, 9), &list), None);
        }
    }

    #[test]
    fn r7_13_two_candidates_are_none() {
        let nameless = |n: i64| {
            Message::from_payload(format!(
                r#"{{"role":"user","content":"go on","timestamp":{n}}}"#
            ))
        };
        let base: Transcript = [10, 20].map(nameless).into_iter().collect();
        let grown: Transcript = [10, 20, 30].map(nameless).into_iter().collect();
        let joined = join(&base, &summarised(1, 2), &grown).unwrap();
        assert_eq!(joined, summarised(1, 3));
        // The newest is there twice, so the older one decides, and nothing comes before it.
        let doubled: Transcript = [10, 20, 20].map(nameless).into_iter().collect();
        let joined = join(&base, &summarised(1, 2), &doubled).unwrap();
        let mut expected = Assembled::new();
        expected.push_insert(summary());
        expected.push_keep(0..3);
        assert_eq!(joined, expected);
    }

    #[test]
    fn r7_13_an_id_of_the_log_or_a_key_in_the_payload_will_do() {
        let of_log = |n: usize| {
            let bare = format!(r#"{{"role":"user","content":"{n}"}}"#);
            Message::from_payload(bare).with_log_entry_id(Some(format!("l{n}").into()))
        };
        let keyed = |n: usize| {
            Message::from_payload(format!(
                r#"{{"role":"user","idempotencyKey":"k{n}","content":[1e400,{{}}]}}"#
            ))
        };
        let lists = |make: &dyn Fn(usize) -> Message| {
            let of = |len| (0..len).map(make).collect::<Transcript>();
            join(&of(3), &summarised(1, 3), &of(5))
        };
        assert_eq!(lists(&of_log), Some(summarised(1, 5)));
        assert_eq!(lists(&keyed), Some(summarised(1, 5)));
        let bare = |_| Message::from_payload(r#"{"role":"user"}"#);
        assert_eq!(lists(&bare), None, "nothing tells them apart");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_joined_result_is_sound_and_ends_with_the_new_list(
            len in 1usize..40, grown in 0usize..40, from in 0usize..40,
        ) {
            let (base, list) = (list(len), list(len + grown));
            let messages = summarised(from.min(len), len);
            let joined = join(&base, &messages, &list).unwrap();
            prop_assert_eq!(joined.check(list.len()), Ok(()));
            prop_assert!(joined.messages(&list).last() == list.last());
        }
    }
}
