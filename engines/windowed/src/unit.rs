//! What is kept or left out together: a tool call and its results, and the turns they belong to.

use contextwire_engine::CurrentTurn;
use contextwire_engine::pairing::Pairing;

use crate::body::{BlockKind, Body, Content};
use crate::slice::{Slice, is_result};

/// What a host's heartbeat prompt names, and what a model answers when there is nothing to do.
pub(crate) const HEARTBEAT_ACK: &str = "HEARTBEAT_OK";

/// One message, or a calling message with the results of its calls.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Index of the message, or of the caller.
    pub(crate) first: usize,
    /// Indices of the results, in the order in which they came.
    pub(crate) results: Vec<usize>,
    /// Ids of calls that nobody answered.
    pub(crate) unanswered: Vec<String>,
}

/// A user message and what follows until the next one.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) units: Vec<Unit>,
    /// Position of the unit that holds the leading user message.
    pub(crate) head: Option<usize>,
}

impl Turn {
    /// Whether a unit is the leading user message.
    pub(crate) fn is_head(&self, position: usize) -> bool {
        self.head == Some(position)
    }
}

/// The turns of a slice, oldest first. The last is the newest; it takes with it the calls of
/// earlier turns that are answered in it.
pub(crate) fn turns(slice: &Slice<'_>, current_turn: CurrentTurn) -> Vec<Turn> {
    let mut turns = vec![Turn::default()];
    let mut waiting = Vec::new();
    for unit in units(slice) {
        let answered = unit.results.last().copied().unwrap_or(unit.first);
        if slice
            .newest_user()
            .is_some_and(|user| unit.first < user && answered > user)
        {
            waiting.push(unit);
            continue;
        }
        if slice.starts_turn(unit.first) {
            turns.push(Turn::default());
        }
        let Some(turn) = turns.last_mut() else {
            continue;
        };
        if slice.starts_turn(unit.first) {
            turn.head = Some(0);
        }
        turn.units.push(unit);
    }
    turns.retain(|turn| !turn.units.is_empty());
    if let Some(newest) = turns.last_mut() {
        newest.head = newest.head.map(|head| head + waiting.len());
        newest.units.splice(0..0, waiting);
    }
    let heartbeats = match current_turn {
        CurrentTurn::Excluded => turns.len(),
        CurrentTurn::Included => turns.len().saturating_sub(1),
    };
    let mut position = 0;
    turns.retain(|turn| {
        position += 1;
        position > heartbeats || !is_heartbeat(slice, turn)
    });
    if let (CurrentTurn::Included, Some(newest)) = (current_turn, turns.last_mut()) {
        drop_prefill(slice, newest);
    }
    turns
}

/// A model without prefill refuses a prompt that ends in its own answer (BR-095).
fn drop_prefill(slice: &Slice<'_>, newest: &mut Turn) {
    let is_answer = |unit: &Unit| {
        let is_assistant = slice
            .message(unit.first)
            .is_some_and(|m| m.role() == "assistant");
        is_assistant && unit.results.is_empty() && unit.unanswered.is_empty()
    };
    while newest.units.last().is_some_and(is_answer) {
        newest.units.pop();
    }
}

fn units(slice: &Slice<'_>) -> Vec<Unit> {
    let indices: Vec<usize> = slice.indices().collect();
    let pairing = Pairing::of(indices.iter().filter_map(|index| slice.message(*index)));
    let mut units = Vec::new();
    for (position, &first) in indices.iter().enumerate() {
        // Results stand with their caller; those without one cannot be sent.
        if slice.is_dropped(first) || slice.message(first).is_none_or(is_result) {
            continue;
        }
        let mut unit = Unit {
            first,
            results: Vec::new(),
            unanswered: Vec::new(),
        };
        let is_aborted = slice.body(first).is_some_and(|body| body.is_aborted);
        for call in pairing.calls_of(position).iter().filter(|_| !is_aborted) {
            match call.result.and_then(|result| indices.get(result)) {
                Some(&result) => unit.results.push(result),
                None => unit.unanswered.push(call.id.to_owned()),
            }
        }
        unit.results.sort_unstable();
        units.push(unit);
    }
    units
}

/// A poll of the host and the exact answer that nothing is to be done (I11).
fn is_heartbeat(slice: &Slice<'_>, turn: &Turn) -> bool {
    let [poll, answer] = turn.units.as_slice() else {
        return false;
    };
    let text = |unit: &Unit| slice.body(unit.first).map(plain_text).unwrap_or_default();
    turn.is_head(0) && text(answer).trim() == HEARTBEAT_ACK && text(poll).contains(HEARTBEAT_ACK)
}

/// The texts of a body; of a body with anything else, nothing.
pub(crate) fn plain_text(body: &Body<'_>) -> String {
    match &body.content {
        Content::Text(text) => text.decode().into_owned(),
        Content::Blocks(_, blocks) => blocks
            .iter()
            .map(|block| match &block.kind {
                BlockKind::Text(text) => Some(text.decode()),
                BlockKind::Empty | BlockKind::Thinking => Some("".into()),
                BlockKind::Call { .. } | BlockKind::Image { .. } | BlockKind::Other => None,
            })
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat())
            .unwrap_or_default(),
        Content::Absent | Content::Null(_) | Content::Other(_) => String::new(),
    }
}
