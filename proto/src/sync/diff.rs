//! What changed between two lists, as segments.

use std::collections::HashMap;
use std::ops::Range;

use contextwire_engine::{Digest, Message, Segment, Transcript};

/// The new list as segments over the base: ranges ascend and are disjoint (R3.5), and the bytes
/// depend on what changed.
///
/// Shared beginnings are found by the chains, shared ends by digests, and what moved in between by
/// the messages that occur once on each side. Whatever is not found is inserted, so the result is
/// always right and sometimes larger than the smallest.
pub fn diff(base: &Transcript, new: &Transcript) -> Vec<Segment> {
    let start = base.common_prefix(new);
    let longest = base.len().min(new.len()) - start;
    let pairs = base.iter().rev().zip(new.iter().rev()).take(longest);
    let shared_end = pairs.take_while(|(old, new)| same(old, new)).count();

    let mut out = Output {
        segments: Vec::new(),
        new,
        inserted: start,
    };
    out.keep(0..start);
    let old_middle = start..base.len() - shared_end;
    let new_middle = start..new.len() - shared_end;
    between(base, old_middle, new_middle.clone(), &mut out);
    out.insert_up_to(new_middle.end);
    out.keep(base.len() - shared_end..base.len());
    out.segments
}

/// Keeps what both middles share, inserting the new messages on the way.
fn between(base: &Transcript, old: Range<usize>, new: Range<usize>, out: &mut Output<'_>) {
    let list = out.new;
    let (mut old_at, mut new_at) = (old.start, new.start);
    let equal = |a: usize, b: usize| {
        base.get(a)
            .zip(list.get(b))
            .is_some_and(|(old, new)| same(old, new))
    };
    for (a, b) in anchors(base, &old, list, &new) {
        // An anchor that the range before ran over is part of it already.
        if a < old_at || b < new_at {
            continue;
        }
        let back = (1..=(a - old_at).min(b - new_at))
            .take_while(|n| equal(a - n, b - n))
            .count();
        let longest = (old.end - a).min(new.end - b);
        let forward = (1..longest).take_while(|n| equal(a + n, b + n)).count() + 1;
        out.insert_up_to(b - back);
        out.keep(a - back..a + forward);
        out.inserted = b + forward;
        (old_at, new_at) = (a + forward, b + forward);
    }
}

struct Output<'a> {
    segments: Vec<Segment>,
    new: &'a Transcript,
    /// Messages of the new list that are dealt with.
    inserted: usize,
}

impl Output<'_> {
    fn keep(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.segments.last_mut() {
            Some(Segment::Keep(last)) if last.end == range.start => last.end = range.end,
            Some(Segment::Keep(_) | Segment::Insert(_)) | None => {
                self.segments.push(Segment::Keep(range));
            }
        }
    }

    fn insert_up_to(&mut self, end: usize) {
        let messages = self.new.range(self.inserted..end).cloned();
        self.segments.extend(messages.map(Segment::Insert));
        self.inserted = self.inserted.max(end);
    }
}

fn same(a: &Message, b: &Message) -> bool {
    a.is_same_object(b) || a.digest() == b.digest()
}

/// Pairs (old index, new index) of messages that occur once in each range, ascending on both sides.
fn anchors(
    base: &Transcript,
    old: &Range<usize>,
    list: &Transcript,
    new: &Range<usize>,
) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let old_once = occurring_once(base, old);
    let new_once = occurring_once(list, new);
    let mut pairs: Vec<_> = old_once
        .into_iter()
        .filter_map(|(digest, old)| Some((old?, (*new_once.get(&digest)?)?)))
        .collect();
    pairs.sort_unstable_by_key(|&(_, new)| new);
    longest_ascending(&pairs)
}

/// Index of each message of the range, `None` where it occurs again.
fn occurring_once(list: &Transcript, range: &Range<usize>) -> HashMap<Digest, Option<usize>> {
    let mut seen = HashMap::with_capacity(range.len());
    for (index, message) in range.clone().zip(list.range(range.clone())) {
        seen.entry(message.digest())
            .and_modify(|known| *known = None)
            .or_insert(Some(index));
    }
    seen
}

/// The longest run of pairs whose old indexes ascend too, in O(n log n).
fn longest_ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends a run of it with the smallest old index, by position.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (position, &(old, _)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&(end, _)| end < old);
        before.push(
            length
                .checked_sub(1)
                .and_then(|n| ends.get(n))
                .map(|&(_, at)| at),
        );
        match ends.get_mut(length) {
            Some(end) => *end = (old, position),
            None => ends.push((old, position)),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut at = ends.last().map(|&(_, position)| position);
    while let Some(position) = at {
        run.extend(pairs.get(position));
        at = before.get(position).copied().flatten();
    }
    run.reverse();
    run
}
