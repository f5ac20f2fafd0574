use std::ops::Range;

use contextwire_engine::{Message, Segment, SegmentError, Transcript, TranscriptState};
use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::v1;

fn message(n: usize) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{n}"}}"#))
}

fn list(range: Range<usize>) -> Transcript {
    range.map(message).collect()
}

fn keeps(segments: &[Segment]) -> Vec<Range<usize>> {
    let kept = |segment: &Segment| match segment {
        Segment::Keep(range) => Some(range.clone()),
        Segment::Insert(_) => None,
    };
    segments.iter().filter_map(kept).collect()
}

fn inserts(segments: &[Segment]) -> usize {
    segments.len() - keeps(segments).len()
}

/// Few different messages, so that lists repeat themselves; some with entry ids.
fn any_message() -> impl Strategy<Value = Message> {
    (0usize..12, 0usize..4, 0usize..60).prop_map(|(text, id, size)| {
        let payload = format!(
            r#"{{"role":"user","content":"{text}{}"}}"#,
            "x".repeat(size % 3 * 20)
        );
        let message = Message::from_payload(payload);
        if id == 0 {
            message.with_entry_id(format!("e{text}"))
        } else {
            message
        }
    })
}

fn any_list() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(any_message(), 0..40)
}

/// A list and one that was made of it by a few cuts, moves and inserts.
fn any_pair() -> impl Strategy<Value = (Vec<Message>, Vec<Message>)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any_message(), 0u8..4), 0..6);
    (any_list(), edits, any_list(), any::<bool>()).prop_map(|(old, edits, other, related)| {
        if !related {
            return (old, other);
        }
        let mut new = old.clone();
        for (at, message, kind) in edits {
            let at = at.index(new.len() + 1);
            match kind {
                0 => new.insert(at, message),
                1 if at < new.len() => drop(new.remove(at)),
                2 => {
                    let by = at.min(new.len());
                    new.rotate_left(by);
                }
                _ => new.truncate(at),
            }
        }
        (old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn applying_the_difference_gives_the_new_list((old, new) in any_pair()) {
        let (old, new): (Transcript, Transcript) = (old.into_iter().collect(), new.into_iter().collect());
        let segments = diff(&old, &new);
        let kept = keeps(&segments);
        prop_assert!(kept.iter().zip(kept.iter().skip(1)).all(|(a, b)| a.end <= b.start));
        let applied = apply(&old, segments);
        prop_assert_eq!(applied.as_ref().map(Transcript::state), Ok(new.state()));
        prop_assert!(applied.unwrap().iter().map(Message::digest).eq(new.iter().map(Message::digest)));
    }

    #[test]
    fn parts_of_any_size_give_the_new_list((old, new) in any_pair(), first in 0usize..900, rest in 420usize..1500) {
        let (old, new): (Transcript, Transcript) = (old.into_iter().collect(), new.into_iter().collect());
        let limits = PartLimits { first, rest };
        let Parts { updates, stubbed } = parts((1, List::View), old.state(), &new, diff(&old, &new), limits);
        prop_assert!(stubbed.is_empty());

        let mut applier = Applier::new(old.clone());
        let last = updates.len() - 1;
        for (n, update) in updates.into_iter().enumerate() {
            let len = v1::TranscriptUpdate::from(update.clone()).encoded_len();
            let limit = if n == 0 { first.max(FRAME) } else { rest };
            prop_assert!(len <= limit, "part {} has {} of {} bytes", n, len, limit);
            let UpdateBody::Part(part) = update.body else { unreachable!() };
            prop_assert_eq!((part.base, part.more), (old.state(), n != last));
            applier.part(part.segments, &part.head).unwrap();
            prop_assert!(new.starts_with(&applier.list().state()));
        }
        prop_assert_eq!(applier.into_list(), new);
    }

    #[test]
    fn a_message_never_costs_more_than_it_is_counted_for(
        payload in prop::collection::vec(any::<u8>(), 0..200),
        ids in prop::collection::vec("\\PC{0,20}", 0..4),
        (entry, log_entry, tokens) in ("\\PC{0,20}", proptest::option::of("\\PC{0,20}"), any::<u64>()),
    ) {
        let header = contextwire_engine::Header {
            role: "assistant".to_owned(),
            timestamp_ms: Some(-1),
            tool_call_ids: ids,
            tool_result_for: Some(entry.clone()),
        };
        let message = Message::with_header(payload.into(), header)
            .with_entry_id(entry)
            .with_log_entry_id(log_entry.map(Into::into))
            .with_estimated_tokens(Some(tokens))
            .with_synthetic(true)
            .with_omitted(Some(contextwire_engine::Omitted { bytes: u64::MAX, sha256: [7; 32] }));
        let wire = v1::TranscriptUpdate {
            segments: vec![Segment::Insert(message.clone()).into()],
            ..v1::TranscriptUpdate::default()
        };
        prop_assert!(wire.encoded_len() <= encoded_len(&message));
    }
}

/// What an update without segments costs at most.
const FRAME: usize = 160;

#[test]
fn an_append_is_one_keep_and_one_insert() {
    for len in [1, 255, 256, 257, 10_000] {
        let old = list(0..len);
        let mut new = old.clone();
        new.push(message(len));
        assert_eq!(
            diff(&old, &new),
            [Segment::Keep(0..len), Segment::Insert(message(len))]
        );
    }
}

#[test]
fn nothing_changed_is_one_keep_and_nothing_at_all_is_no_segment() {
    assert_eq!(diff(&list(0..5), &list(0..5)), [Segment::Keep(0..5)]);
    assert_eq!(diff(&list(0..5), &list(0..0)), []);
    assert_eq!(inserts(&diff(&list(0..0), &list(0..5))), 5);
}

#[test]
fn an_edit_in_the_middle_of_1000_is_three_segments() {
    let old = list(0..1000);
    let new: Transcript = (0..1000)
        .map(|n| message(if n == 500 { 9999 } else { n }))
        .collect();
    assert_eq!(
        diff(&old, &new),
        [
            Segment::Keep(0..500),
            Segment::Insert(message(9999)),
            Segment::Keep(501..1000)
        ],
    );
}

#[test]
fn two_edits_far_apart_keep_what_is_between_them() {
    let old = list(0..1000);
    let edited = |n| {
        if n == 100 || n == 900 {
            message(n + 5000)
        } else {
            message(n)
        }
    };
    let new: Transcript = (0..1000).map(edited).collect();
    let segments = diff(&old, &new);
    assert_eq!(keeps(&segments), [0..100, 101..900, 901..1000]);
    assert_eq!(inserts(&segments), 2);
}

#[test]
fn a_moved_block_is_kept_on_one_side_and_inserted_on_the_other() {
    let old = list(0..10);
    let new: Transcript = (5..10).chain(0..5).map(message).collect();
    let segments = diff(&old, &new);
    assert_eq!(inserts(&segments), 5);
    assert_eq!(apply(&old, segments), Ok(new));
}

#[test]
fn ranges_that_would_multiply_messages_are_refused() {
    let base = list(0..4);
    let twice = [Segment::Keep(0..3), Segment::Keep(2..4)];
    assert_eq!(
        apply(&base, twice),
        Err(SegmentError::Repeated {
            segment: 1,
            index: 2
        })
    );
    let back = [Segment::Keep(2..4), Segment::Keep(0..1)];
    assert_eq!(
        apply(&base, back),
        Err(SegmentError::Repeated {
            segment: 1,
            index: 0
        })
    );
    let outside = [Segment::Insert(message(9)), Segment::Keep(3..5)];
    assert_eq!(
        apply(&base, outside),
        Err(SegmentError::OutOfRange {
            segment: 1,
            end: 5,
            base: 4
        })
    );
    assert_eq!(
        apply(&base, [Segment::Keep(1..1)]),
        Err(SegmentError::Empty { segment: 0 })
    );
}

#[test]
fn ranges_stay_disjoint_over_all_parts() {
    let mut applier = Applier::new(list(0..4));
    assert_eq!(
        applier.part([Segment::Keep(0..2)], &list(0..2).state()),
        Ok(())
    );
    assert_eq!(
        applier.part([Segment::Keep(1..3)], &list(0..2).state()),
        Err(ApplyError::Segment(SegmentError::Repeated {
            segment: 1,
            index: 1
        })),
    );
}

#[test]
fn e_syn_07_a_head_that_does_not_match_is_named() {
    let mut applier = Applier::new(Transcript::new());
    assert_eq!(
        applier.part([Segment::Insert(message(0))], &list(1..2).state()),
        Err(ApplyError::Head {
            announced: 1,
            actual: 1
        }),
    );
}

#[test]
fn a_host_without_a_base_sends_one_empty_part() {
    let new = list(0..3);
    let limits = PartLimits {
        first: 1000,
        rest: 1000,
    };
    let Parts { updates, .. } = parts((1, List::Log), new.state(), &new, Vec::new(), limits);
    let part = Part {
        base: new.state(),
        segments: Vec::new(),
        head: new.state(),
        more: false,
    };
    let update = TranscriptUpdate {
        seq: 1,
        list: List::Log,
        body: UpdateBody::Part(part),
    };
    assert_eq!(updates, [update]);
}

#[test]
fn a_message_that_fits_nowhere_travels_as_a_stub_of_the_same_digest() {
    let large = format!(
        r#"{{"role":"toolResult","toolCallId":"c","content":"{}"}}"#,
        "x".repeat(5000)
    );
    let large = Message::from_payload(large).with_entry_id("e1");
    let new: Transcript = [message(0), large.clone(), message(1)]
        .into_iter()
        .collect();
    let limits = PartLimits {
        first: 600,
        rest: 600,
    };
    let made = parts(
        (1, List::View),
        TranscriptState::EMPTY,
        &new,
        diff(&Transcript::new(), &new),
        limits,
    );
    assert_eq!(made.stubbed, [1]);
    let mut applier = Applier::new(Transcript::new());
    for update in made.updates {
        let UpdateBody::Part(part) = update.body else {
            unreachable!()
        };
        applier.part(part.segments, &part.head).unwrap();
    }
    let stub = applier.list().get(1).unwrap().clone();
    assert_eq!(applier.into_list(), new);
    assert_eq!(
        stub.omitted().map(|omitted| omitted.bytes),
        Some(large.payload().len() as u64)
    );
    assert_eq!(
        (stub.header(), stub.entry_id()),
        (large.header(), large.entry_id())
    );
}

#[test]
fn an_engine_offers_its_newest_list_densely_at_the_end_and_then_the_other_heads() {
    let newest = list(0..10);
    let other = list(20..23);
    let offered = have(Some(&newest), [&other, &newest, &Transcript::new()]);
    let counts: Vec<_> = offered.iter().map(|state| state.count).collect();
    assert_eq!(counts, [10, 9, 8, 6, 2, 3]);
    assert_eq!(have(None, []), []);
    let many: Vec<_> = (0..60).map(|n| list(n..n + 1)).collect();
    assert_eq!(have(Some(&list(0..100_000)), &many).len(), 32);
}

#[test]
fn e_syn_02_a_host_answers_from_the_longest_state_that_it_knows() {
    let engine = list(0..8);
    let host: Transcript = (0..6).chain(90..95).map(message).collect();
    let known = newest_known(&have(Some(&engine), []), &host);
    assert_eq!(known.count, 6);
    assert!(host.starts_with(&known));
}

#[test]
fn e_syn_05_nothing_in_common_starts_from_the_empty_list() {
    assert_eq!(
        newest_known(&have(Some(&list(0..8)), []), &list(10..20)),
        TranscriptState::EMPTY
    );
}
