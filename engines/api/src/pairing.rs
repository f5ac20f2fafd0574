//! Which tool result answers which tool call.
//!
//! Ids may come again in later turns, so position decides (A07): a result answers the nearest call
//! before it with its id that is not answered yet. A result that precedes its call (BR-085) answers
//! it when nothing behind the call does and no user message lies between. What remains are calls
//! without a result (A05) and orphan results.

mod gate;

use std::collections::HashMap;

pub use gate::{BrokenPair, Half, broken_pairs};

use crate::message::Message;

/// One tool call of an assistant message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Index of the message that makes the call.
    pub message: usize,
    /// Which of that message's calls, from 0.
    pub ordinal: usize,
    /// The id that the host gave it.
    pub id: &'a str,
    /// Index of the message that answers it.
    pub result: Option<usize>,
}

/// The pairs of a list, or of any slice of one: in a slice that starts where a turn does, calls
/// have the results that they have in the whole list. Results of calls before the slice are orphans
/// in it, unless they precede an unanswered call with their id in their own turn.
#[derive(Clone, Debug, Default)]
pub struct Pairing<'a> {
    calls: Vec<Call<'a>>,
    /// By result message: position in `calls`, or none for an orphan.
    results: HashMap<usize, Option<usize>>,
}

impl<'a> Pairing<'a> {
    /// Pairs up messages, oldest first; indices count from 0. Costs one pass over the headers.
    pub fn of(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut pairing = Self::default();
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut early: Vec<(usize, &'a str)> = Vec::new();
        let mut turn_starts = Vec::new();
        for (index, message) in messages.into_iter().enumerate() {
            if message.role() == "user" {
                turn_starts.push(index);
            }
            for (ordinal, id) in message.tool_call_ids().iter().enumerate() {
                open.entry(id).or_default().push(pairing.calls.len());
                pairing.calls.push(Call {
                    message: index,
                    ordinal,
                    id,
                    result: None,
                });
            }
            let Some(id) = message.tool_result_for() else {
                continue;
            };
            if let Some(call) = open.get_mut(id).and_then(Vec::pop) {
                pairing.answer(call, index);
            } else {
                pairing.results.insert(index, None);
                early.push((index, id));
            }
        }
        if !early.is_empty() {
            pairing.answer_early(&early, &turn_starts);
        }
        pairing
    }

    fn answer(&mut self, call: usize, result: usize) {
        if let Some(call) = self.calls.get_mut(call) {
            call.result = Some(result);
        }
        self.results.insert(result, Some(call));
    }

    /// Gives each unanswered call the nearest result before it in its turn that no call took.
    fn answer_early(&mut self, early: &[(usize, &'a str)], turn_starts: &[usize]) {
        let turn = |index: usize| turn_starts.partition_point(|start| *start <= index);
        let mut waiting: HashMap<(&str, usize), Vec<usize>> = HashMap::new();
        let mut early = early.iter().copied().peekable();
        for position in 0..self.calls.len() {
            let Some(&Call {
                message,
                id,
                result: None,
                ..
            }) = self.calls.get(position)
            else {
                continue;
            };
            while let Some((result, id)) = early.next_if(|(result, _)| *result < message) {
                waiting.entry((id, turn(result))).or_default().push(result);
            }
            if let Some(result) = waiting.get_mut(&(id, turn(message))).and_then(Vec::pop) {
                self.answer(position, result);
            }
        }
    }

    /// Every call, by message and then by its place in the message.
    pub fn calls(&self) -> &[Call<'a>] {
        &self.calls
    }

    /// The calls that one message makes.
    pub fn calls_of(&self, message: usize) -> &[Call<'a>] {
        let start = self.calls.partition_point(|call| call.message < message);
        let end = self.calls.partition_point(|call| call.message <= message);
        self.calls.get(start..end).unwrap_or_default()
    }

    /// The call that a result answers; `None` for an orphan and for any other message.
    pub fn call_answered_by(&self, result: usize) -> Option<&Call<'a>> {
        self.calls.get((*self.results.get(&result)?)?)
    }

    /// Whether the message is a result that answers no call here.
    pub fn is_orphan(&self, message: usize) -> bool {
        self.results.get(&message) == Some(&None)
    }
}

#[cfg(test)]
mod tests;
