//! What an engine broke: pairs that were whole in a list and are split in what came of it (R7.7).

use std::cell::OnceCell;

use crate::message::Message;
use crate::pairing::{Call, Pairing};
use crate::segment::{Assembled, Segment};
use crate::transcript::Transcript;

/// Which half of a pair stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// A call whose result is missing.
    Call,
    /// A result whose call is missing or comes after it.
    Result,
}

/// One half of a split pair in an assembled list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPair {
    /// Position in the assembled list.
    pub position: usize,
    /// Which half stands there.
    pub half: Half,
    /// Id of the tool call.
    pub id: String,
}

/// The pairs that the assembled list splits and the transcript did not.
///
/// A kept message is known by its index in the transcript, an insert by the ids it carries: a
/// shortened result still answers, a copied defect is not the engine's. Costs one pass over the
/// assembled list, nothing where it keeps all, and a pass over the transcript only where something
/// in the assembled list stands alone.
pub fn broken_pairs(transcript: &Transcript, assembled: &Assembled) -> Vec<BrokenPair> {
    if matches!(assembled.segments(), [Segment::Keep(range)] if *range == (0..transcript.len())) {
        return Vec::new();
    }
    let gate = Gate {
        transcript,
        origins: origins(assembled),
        output: Pairing::of(assembled.messages(transcript)),
        input: OnceCell::new(),
    };
    let mut broken: Vec<_> = gate.split_calls().collect();
    broken.extend(gate.stray_results(assembled.messages(transcript)));
    broken.sort_by_key(|pair| pair.position);
    broken
}

/// By position in the assembled list: the index in the transcript, none for an insert.
fn origins(assembled: &Assembled) -> Vec<Option<usize>> {
    let mut origins = Vec::with_capacity(assembled.len());
    for segment in assembled.segments() {
        match segment {
            Segment::Keep(range) => origins.extend(range.clone().map(Some)),
            Segment::Insert(_) => origins.push(None),
        }
    }
    origins
}

struct Gate<'a> {
    transcript: &'a Transcript,
    origins: Vec<Option<usize>>,
    output: Pairing<'a>,
    input: OnceCell<Pairing<'a>>,
}

impl<'a> Gate<'a> {
    fn input(&self) -> &Pairing<'a> {
        self.input
            .get_or_init(|| Pairing::of(self.transcript.iter()))
    }

    fn origin(&self, position: usize) -> Option<usize> {
        self.origins.get(position).copied().flatten()
    }

    fn split_calls(&self) -> impl Iterator<Item = BrokenPair> {
        let broken = |position, half, id: &str| BrokenPair {
            position,
            half,
            id: id.to_owned(),
        };
        self.output
            .calls()
            .iter()
            .filter_map(move |call| match call.result {
                None if !self.was_unanswered(call) => {
                    Some(broken(call.message, Half::Call, call.id))
                }
                Some(result) if result < call.message && !self.was_early(call, result) => {
                    Some(broken(result, Half::Result, call.id))
                }
                None | Some(_) => None,
            })
    }

    fn was_unanswered(&self, call: &Call<'_>) -> bool {
        match self.origin(call.message) {
            Some(index) => self
                .input()
                .calls_of(index)
                .get(call.ordinal)
                .is_none_or(|original| original.result.is_none()),
            None => self
                .input()
                .calls()
                .iter()
                .any(|own| own.id == call.id && own.result.is_none()),
        }
    }

    fn was_early(&self, call: &Call<'_>, result: usize) -> bool {
        match (self.origin(result), self.origin(call.message)) {
            (Some(result), Some(call)) => result < call,
            (Some(_) | None, None) | (None, Some(_)) => false,
        }
    }

    fn stray_results(
        &self,
        messages: impl Iterator<Item = &'a Message>,
    ) -> impl Iterator<Item = BrokenPair> {
        messages.enumerate().filter_map(|(position, message)| {
            let id = message
                .tool_result_for()
                .filter(|_| self.output.is_orphan(position))?;
            let was_orphan = match self.origin(position) {
                Some(index) => self.input().is_orphan(index),
                None => self.transcript.iter().enumerate().any(|(index, own)| {
                    own.tool_result_for() == Some(id) && self.input().is_orphan(index)
                }),
            };
            (!was_orphan).then(|| BrokenPair {
                position,
                half: Half::Result,
                id: id.to_owned(),
            })
        })
    }
}
