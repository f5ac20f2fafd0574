//! The part of a transcript that can matter: found from the end, without looking at the rest.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{Message, Transcript};

use crate::body::Body;
use crate::clean::is_unsendable;

/// The least that a tool result costs, however hard it is shortened, in tokens.
pub(crate) const MIN_RESULT_TOKENS: u32 = 96;
/// An older tool result that costs more than the budget divided by this is cut to that.
const OVERSIZE_SHARE: u64 = 8;
/// What a message counts at least while the slice is measured, so that a history of nothing ends.
const MIN_MESSAGE_TOKENS: u64 = 4;
/// How many messages beyond the budget are looked at for the start of a turn, or for a call.
const LOOK_BACK: usize = 256;

/// Told between messages; false stops the work.
pub(crate) type GoOn<'a> = &'a dyn Fn() -> bool;

/// The messages that a window is chosen from, looked into.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    transcript: &'a Transcript,
    /// System and developer messages at the head.
    instructions: Range<usize>,
    /// Compaction summaries behind them.
    summaries: Range<usize>,
    newest_user: Option<usize>,
    start: usize,
    bodies: HashMap<usize, Body<'a>>,
    /// Messages that are not sent: blank ones, and older copies of a user entry.
    dropped: HashSet<usize>,
}

impl<'a> Slice<'a> {
    /// The slice for a budget, or the whole list without one; none when told to stop.
    pub(crate) fn of(
        transcript: &'a Transcript,
        family: ModelFamily,
        budget: Option<u64>,
        go_on: GoOn<'_>,
    ) -> Option<Self> {
        let instructions = 0..run(transcript, 0, &["system", "developer"]);
        let summaries = instructions.end..run(transcript, instructions.end, &["compactionSummary"]);
        let first = summaries.end;
        let mut slice = Self {
            transcript,
            newest_user: newest_user(transcript, first),
            instructions,
            summaries,
            start: first,
            bodies: HashMap::new(),
            dropped: HashSet::new(),
        };
        if let Some(budget) = budget {
            slice.start = slice.measure(family, budget, go_on)?;
            slice.start = slice.turn_start(slice.start);
            slice.reach_for_calls();
        }
        slice.look_into(go_on)?;
        Some(slice)
    }

    pub(crate) fn message(&self, index: usize) -> Option<&'a Message> {
        self.transcript.get(index)
    }

    pub(crate) fn body(&self, index: usize) -> Option<&Body<'a>> {
        self.bodies.get(&index)
    }

    pub(crate) fn newest_user(&self) -> Option<usize> {
        self.newest_user
    }

    /// Whether the slice reaches back to the first message of the conversation.
    pub(crate) fn is_whole(&self) -> bool {
        self.start == self.summaries.end
    }

    pub(crate) fn instructions(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.instructions.clone()
    }

    pub(crate) fn summaries(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.summaries.clone()
    }

    /// The conversation's indices, oldest first: the newest user message, if it lies before the
    /// contiguous part, and that part.
    pub(crate) fn indices(&self) -> impl DoubleEndedIterator<Item = usize> + use<'a> {
        let apart = self.newest_user.filter(|user| *user < self.start);
        apart.into_iter().chain(self.start..self.transcript.len())
    }

    pub(crate) fn is_dropped(&self, index: usize) -> bool {
        self.dropped.contains(&index)
    }

    /// Whether a user message that is sent stands here.
    pub(crate) fn starts_turn(&self, index: usize) -> bool {
        self.message(index)
            .is_some_and(|message| message.role() == "user")
            && !self.is_dropped(index)
    }

    /// Goes back until the messages cannot fit even with their results shortened.
    fn measure(&self, family: ModelFamily, budget: u64, go_on: GoOn<'_>) -> Option<usize> {
        let older_limit = older_result_limit(budget);
        let (mut start, mut tokens) = (self.transcript.len(), 0);
        while start > self.start && tokens <= budget {
            if !go_on() {
                return None;
            }
            start -= 1;
            let Some(message) = self.message(start) else {
                break;
            };
            let is_newest_turn = self.newest_user.is_none_or(|user| start >= user);
            let limit = match (is_result(message), is_newest_turn) {
                (false, _) => u32::MAX,
                (true, true) => MIN_RESULT_TOKENS,
                (true, false) => older_limit,
            };
            let least = estimate_message(family, message).min(limit);
            tokens += u64::from(least).max(MIN_MESSAGE_TOKENS);
        }
        Some(start)
    }

    /// The user message that leads the turn at `index`, or `index` where that one is far.
    fn turn_start(&self, index: usize) -> usize {
        let low = index.saturating_sub(LOOK_BACK).max(self.summaries.end);
        let found = (low..=index).rev().find(|at| {
            self.message(*at)
                .is_some_and(|message| message.role() == "user")
                || *at == self.summaries.end
        });
        found.unwrap_or(index)
    }

    /// Goes back to calls whose results stand behind the newest user message: a tool may still run
    /// when the user goes on.
    fn reach_for_calls(&mut self) {
        let Some(user) = self.newest_user.filter(|user| *user >= self.start) else {
            return;
        };
        let mut open: HashSet<&str> = HashSet::new();
        for message in self.transcript.range(user..self.transcript.len()).rev() {
            open.extend(message.tool_result_for());
            message.tool_call_ids().iter().for_each(|id| {
                open.remove(id.as_str());
            });
        }
        let low = self.start.saturating_sub(LOOK_BACK).max(self.summaries.end);
        let mut oldest = self.start;
        for at in (low..user).rev() {
            let ids = self
                .message(at)
                .map(Message::tool_call_ids)
                .unwrap_or_default();
            let open_before = open.len();
            open.retain(|open| !ids.iter().any(|id| id == open));
            if open.len() < open_before {
                oldest = oldest.min(at);
            }
        }
        if oldest < self.start {
            self.start = self.turn_start(oldest);
        }
    }

    fn look_into(&mut self, go_on: GoOn<'_>) -> Option<()> {
        let mut entries = HashSet::new();
        let lead = self.instructions.start..self.summaries.end;
        for index in self.indices().rev().chain(lead) {
            if !go_on() {
                return None;
            }
            let Some(message) = self.message(index) else {
                continue;
            };
            let body = Body::of(message.payload());
            let id = message.entry_id();
            // The newest body of a user entry that was sent again counts (I07).
            let is_sent = !is_unsendable(message, &body)
                && (message.role() != "user" || id.is_empty() || entries.insert(id.as_str()));
            if !is_sent {
                self.dropped.insert(index);
            }
            self.bodies.insert(index, body);
        }
        Some(())
    }
}

/// The most that a tool result of an older turn may cost, in tokens: a share of the budget.
pub(crate) fn older_result_limit(budget: u64) -> u32 {
    u32::try_from(budget / OVERSIZE_SHARE)
        .unwrap_or(u32::MAX)
        .max(4 * MIN_RESULT_TOKENS)
}

/// Whether a message answers a tool call.
pub(crate) fn is_result(message: &Message) -> bool {
    message.tool_result_for().is_some()
}

/// End of the run of messages with one of these roles.
fn run(transcript: &Transcript, start: usize, roles: &[&str]) -> usize {
    let of_role = |message: &&Message| roles.contains(&message.role());
    start
        + transcript
            .range(start..transcript.len())
            .take_while(of_role)
            .count()
}

fn newest_user(transcript: &Transcript, first: usize) -> Option<usize> {
    (first..transcript.len()).rev().find(|index| {
        transcript.get(*index).is_some_and(|message| {
            message.role() == "user" && !is_unsendable(message, &Body::of(message.payload()))
        })
    })
}
