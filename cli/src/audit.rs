//! Whether a log holds each message of a session exactly once, in order.
//!
//! A message is known by its entry id, else by its digest and which equal one it is. Of the messages
//! that are on both sides, as few as possible are called out of order.

use std::collections::{HashMap, HashSet, VecDeque};

use contextwire_engine::{Digest, EntryId, Transcript, TranscriptState};

/// A message on either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Lineage id; empty where there is none.
    pub entry_id: EntryId,
    /// Identity of its content.
    pub digest: Digest,
}

/// Something that is not as it should be. Places count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The session has it, the log does not.
    Missing {
        /// Place in the session.
        at: usize,
    },
    /// Both have the entry, with other content.
    Changed {
        /// Place in the session.
        at: usize,
        /// Place in the log.
        place: usize,
    },
    /// The log has it before or behind a message that stands on its other side in the session.
    OutOfOrder {
        /// Place in the session.
        at: usize,
        /// Place in the log.
        place: usize,
    },
    /// The log has it once more than the session.
    Doubled {
        /// Place in the log of the surplus one.
        place: usize,
    },
    /// The log has it, the session does not.
    Foreign {
        /// Place in the log.
        place: usize,
    },
}

/// What a state alone tells of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateVerdict {
    /// It is the session, message by message.
    Equal,
    /// It is the first messages of the session; so many are missing at its end.
    Behind {
        /// How many.
        missing: usize,
    },
    /// It is something else: a message is missing, doubled, foreign, changed or out of order.
    Differs,
}

/// Compares a log that is known by its state with a session. One state covers every message in
/// order, so equal is certain; it does not say where two logs differ.
pub fn judge(session: &Transcript, log: TranscriptState) -> StateVerdict {
    if !session.starts_with(&log) {
        return StateVerdict::Differs;
    }
    let held = usize::try_from(log.count).unwrap_or(usize::MAX);
    match session.len().saturating_sub(held) {
        0 => StateVerdict::Equal,
        missing => StateVerdict::Behind { missing },
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Identity {
    Id(EntryId),
    Equal(Digest),
}

impl From<&Item> for Identity {
    fn from(item: &Item) -> Self {
        if item.entry_id.is_empty() {
            Self::Equal(item.digest)
        } else {
            Self::Id(item.entry_id.clone())
        }
    }
}

/// Everything that differs: first what is wrong with messages of the session, in its order, then
/// what else the log holds, in its order. Empty when the log is as it should be.
pub fn compare(session: &[Item], log: &[Item]) -> Vec<Finding> {
    let mut places: HashMap<Identity, VecDeque<usize>> = HashMap::new();
    for (place, item) in log.iter().enumerate() {
        places.entry(item.into()).or_default().push_back(place);
    }
    let found: Vec<Option<usize>> = session
        .iter()
        .map(|item| places.get_mut(&item.into())?.pop_front())
        .collect();
    let in_order = longest_rise(found.iter().flatten().copied());
    let mut findings = Vec::new();
    for ((at, item), place) in session.iter().enumerate().zip(&found) {
        let Some(place) = *place else {
            findings.push(Finding::Missing { at });
            continue;
        };
        if log
            .get(place)
            .is_some_and(|stored| stored.digest != item.digest)
        {
            findings.push(Finding::Changed { at, place });
        }
        if !in_order.contains(&place) {
            findings.push(Finding::OutOfOrder { at, place });
        }
    }
    findings.extend(surplus(session, log, &found));
    findings
}

/// Entries of the log that belong to no message of the session.
fn surplus(session: &[Item], log: &[Item], found: &[Option<usize>]) -> Vec<Finding> {
    let known: HashSet<Identity> = session.iter().map(Identity::from).collect();
    let taken: HashSet<usize> = found.iter().flatten().copied().collect();
    let left = log
        .iter()
        .enumerate()
        .filter(|(place, _)| !taken.contains(place));
    left.map(|(place, item)| {
        if known.contains(&item.into()) {
            Finding::Doubled { place }
        } else {
            Finding::Foreign { place }
        }
    })
    .collect()
}

/// A longest rising part of distinct numbers.
fn longest_rise(numbers: impl Iterator<Item = usize>) -> HashSet<usize> {
    // The number that ends the lowest rise of each length, and for each number the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: HashMap<usize, usize> = HashMap::new();
    for number in numbers {
        let length = ends.partition_point(|end| *end < number);
        if let Some(previous) = length.checked_sub(1).and_then(|last| ends.get(last)) {
            before.insert(number, *previous);
        }
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let last = ends.last().copied();
    std::iter::successors(last, |number| before.get(number).copied()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(id: &str, content: u8) -> Item {
        Item {
            entry_id: id.into(),
            digest: Digest([content; 32]),
        }
    }

    /// One entry a letter; the letter is its content too.
    fn named(ids: &str) -> Vec<Item> {
        ids.chars()
            .zip(ids.bytes())
            .map(|(id, content)| item(&id.to_string(), content))
            .collect()
    }

    fn nameless(contents: &[u8]) -> Vec<Item> {
        contents.iter().map(|content| item("", *content)).collect()
    }

    #[test]
    fn a_state_is_the_session_the_first_part_of_it_or_something_else() {
        let message = |n: usize| contextwire_engine::Message::from_payload(n.to_string());
        let session: Transcript = (0..5).map(message).collect();
        let state = |ids: &[usize]| -> TranscriptState {
            let log: Transcript = ids.iter().map(|n| message(*n)).collect();
            log.state()
        };
        assert_eq!(judge(&session, session.state()), StateVerdict::Equal);
        assert_eq!(
            judge(&session, state(&[0, 1])),
            StateVerdict::Behind { missing: 3 }
        );
        assert_eq!(
            judge(&session, TranscriptState::EMPTY),
            StateVerdict::Behind { missing: 5 }
        );
        for other in [&[0, 2][..], &[1, 0], &[0, 1, 2, 3, 4, 4]] {
            assert_eq!(judge(&session, state(other)), StateVerdict::Differs);
        }
    }

    #[test]
    fn an_equal_log_has_no_findings() {
        assert_eq!(compare(&named("abc"), &named("abc")), []);
        assert_eq!(compare(&nameless(&[1, 1, 2]), &nameless(&[1, 1, 2])), []);
        assert_eq!(compare(&[], &[]), []);
    }

    #[test]
    fn what_is_missing_doubled_or_foreign_is_told_apart() {
        assert_eq!(
            compare(&named("abcd"), &named("acxa")),
            [
                Finding::Missing { at: 1 },
                Finding::Missing { at: 3 },
                Finding::Foreign { place: 2 },
                Finding::Doubled { place: 3 },
            ]
        );
    }

    #[test]
    fn one_moved_message_is_one_finding() {
        let moved = compare(&named("abcde"), &named("aecbd".get(..).unwrap()));
        assert!(moved.len() == 2, "{moved:?}");
        assert_eq!(
            compare(&named("abcde"), &named("bcdea")),
            [Finding::OutOfOrder { at: 0, place: 4 }]
        );
    }

    #[test]
    fn the_same_entry_with_other_content_is_changed() {
        let stored = [item("a", b'a'), item("b", b'x')];
        assert_eq!(
            compare(&named("ab"), &stored),
            [Finding::Changed { at: 1, place: 1 }]
        );
    }

    #[test]
    fn of_equal_messages_without_ids_the_count_matters() {
        assert_eq!(
            compare(&nameless(&[1, 1, 2]), &nameless(&[1, 2])),
            [Finding::Missing { at: 1 }]
        );
        assert_eq!(
            compare(&nameless(&[1, 2]), &nameless(&[1, 2, 1])),
            [Finding::Doubled { place: 2 }]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_findings_mean_equal_lists_and_every_difference_is_found(
            session in prop::collection::vec(0u8..4, 0..12),
            log in prop::collection::vec(0u8..4, 0..12),
        ) {
            let findings = compare(&nameless(&session), &nameless(&log));
            prop_assert_eq!(findings.is_empty(), session == log);
        }

        #[test]
        fn as_few_as_possible_are_out_of_order(at in 0usize..20, to in 0usize..20) {
            let ids: Vec<u8> = (0..20).collect();
            let mut moved = ids.clone();
            let one = moved.remove(at);
            moved.insert(to, one);
            let findings = compare(&nameless(&ids), &nameless(&moved));
            prop_assert_eq!(findings.len(), usize::from(at != to));
        }
    }
}
