//! What is shown or left out together: a call with its results, and the turns that they belong to.

use contextwire_engine::CurrentTurn;
use contextwire_engine::pairing::Pairing;
use contextwire_windowed::form::Heartbeat;

use super::line::{Key, Line};

/// A message, or a calling message with the results of its calls.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) key: Key,
    /// The lines: the message or the caller, then the results in their order.
    pub(crate) lines: Vec<usize>,
    /// Ids of calls that nobody answered.
    pub(crate) unanswered: Vec<String>,
    pub(crate) is_pinned: bool,
    /// Whether a turn begins with it.
    pub(crate) is_user: bool,
    pub(crate) is_answer: bool,
}

/// A user message and what follows until the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) units: Vec<Unit>,
}

/// Why a line is never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    Blank,
    Heartbeat,
    /// A result whose call is not among what is shown.
    Orphan,
    /// The model has to answer, and this would be an answer.
    Prefill,
}

/// The conversation in turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Oldest first, without the newest.
    pub(crate) older: Vec<Turn>,
    /// The newest user message and everything behind it, with the calls before it that are answered
    /// behind it.
    pub(crate) newest: Turn,
    pub(crate) unsent: Vec<(usize, Unsent)>,
}

impl Turns {
    pub(crate) fn of(
        lines: &[Line],
        is_pinned: impl Fn(&Line) -> bool,
        current: CurrentTurn,
    ) -> Self {
        let mut turns = Self::default();
        let newest_user = lines.iter().rposition(Line::is_user);
        let mut waiting = Vec::new();
        let mut list: Vec<Turn> = Vec::new();
        for unit in units(lines, is_pinned, &mut turns.unsent) {
            let first = unit.lines.first().copied().unwrap_or_default();
            let last = unit.lines.last().copied().unwrap_or_default();
            if newest_user.is_some_and(|user| first < user && last > user) {
                waiting.push(unit);
                continue;
            }
            if unit.is_user || list.is_empty() {
                list.push(Turn::default());
            }
            if let Some(turn) = list.last_mut() {
                turn.units.push(unit);
            }
        }
        turns.newest = match newest_user {
            Some(_) => list.pop().unwrap_or_default(),
            // Without a user message there is one turn.
            None => Turn {
                units: list.drain(..).flat_map(|turn| turn.units).collect(),
            },
        };
        turns.newest.units.splice(0..0, waiting);
        turns.older = list;
        turns.leave_heartbeats(lines, current);
        if current == CurrentTurn::Included {
            turns.drop_prefill();
        }
        turns
    }

    /// A poll of the host and the exact answer that nothing is to be done says nothing (I11).
    fn leave_heartbeats(&mut self, lines: &[Line], current: CurrentTurn) {
        let mut kept = Vec::with_capacity(self.older.len());
        for turn in std::mem::take(&mut self.older) {
            if is_heartbeat(&turn, lines) {
                self.leave(&turn.units, Unsent::Heartbeat);
            } else {
                kept.push(turn);
            }
        }
        self.older = kept;
        if current == CurrentTurn::Excluded && is_heartbeat(&self.newest, lines) {
            let heartbeat = std::mem::take(&mut self.newest);
            self.leave(&heartbeat.units, Unsent::Heartbeat);
            self.newest = self.older.pop().unwrap_or_default();
        }
    }

    /// A model without prefill refuses a prompt that ends in its own answer (BR-095).
    fn drop_prefill(&mut self) {
        while let Some(unit) = self.newest.units.pop_if(|unit| unit.is_answer) {
            self.leave(&[unit], Unsent::Prefill);
        }
    }

    fn leave(&mut self, units: &[Unit], why: Unsent) {
        let lines = units.iter().flat_map(|unit| &unit.lines);
        self.unsent.extend(lines.map(|line| (*line, why)));
    }
}

fn units(
    lines: &[Line],
    is_pinned: impl Fn(&Line) -> bool,
    unsent: &mut Vec<(usize, Unsent)>,
) -> Vec<Unit> {
    let pairing = Pairing::of(lines.iter().map(|line| line.entry.message()));
    let mut units = Vec::with_capacity(lines.len());
    for (first, line) in lines.iter().enumerate() {
        let message = line.entry.message();
        if message.tool_result_for().is_some() {
            let caller = pairing.call_answered_by(first).map(|call| call.message);
            let is_sent = caller
                .and_then(|caller| lines.get(caller))
                .is_some_and(|line| {
                    let look = line.entry.look();
                    !look.is_aborted && !look.is_blank
                });
            if !is_sent {
                unsent.push((first, Unsent::Orphan));
            }
            continue;
        }
        let look = line.entry.look();
        if look.is_blank {
            unsent.push((first, Unsent::Blank));
            continue;
        }
        let mut unit = Unit {
            key: line.key,
            lines: vec![first],
            unanswered: Vec::new(),
            is_pinned: is_pinned(line),
            is_user: line.is_user(),
            is_answer: message.role() == "assistant",
        };
        for call in pairing.calls_of(first).iter().filter(|_| !look.is_aborted) {
            unit.is_answer = false;
            match call.result {
                Some(result) => unit.lines.push(result),
                None => unit.unanswered.push(call.id.to_owned()),
            }
        }
        unit.lines.get_mut(1..).unwrap_or_default().sort_unstable();
        unit.is_pinned = unit
            .lines
            .iter()
            .filter_map(|line| lines.get(*line))
            .any(&is_pinned);
        units.push(unit);
    }
    units
}

fn is_heartbeat(turn: &Turn, lines: &[Line]) -> bool {
    let [poll, answer] = turn.units.as_slice() else {
        return false;
    };
    let heartbeat = |unit: &Unit| {
        let first = unit.lines.first().and_then(|line| lines.get(*line));
        first.map_or(Heartbeat::No, |line| line.entry.look().heartbeat)
    };
    poll.is_user
        && !poll.is_pinned
        && heartbeat(poll) == Heartbeat::Poll
        && heartbeat(answer) == Heartbeat::Ack
}
