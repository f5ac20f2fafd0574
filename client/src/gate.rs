//! Layer: what an engine says the model is to see is judged against what it was given (R7.7).
//!
//! A message of the result is known by its index in the list, never by its text: equal texts are
//! normal, and a defect that the host's own list had is not the engine's.

use std::collections::HashSet;

use contextwire_engine::pairing::{Half, broken_pairs};
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, CurrentTurn, EntryId, Message,
    PromptAuthority, Segment, Site, TokenBudget, Transcript,
};

use crate::call::{Call, ServedBy};
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, layer};
use crate::request::{EngineReply, EngineRequest};

/// Budgets below it are so small that an engine's overhead alone may exceed them.
const SMALL_BUDGET: u64 = 1024;

/// Lets good contexts through, and makes failures of bad ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GateLayer;

layer!(GateLayer);

impl Wrap for GateLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let EngineRequest::Assemble(request) = &call.request else {
            return Box::pin(below.call(call));
        };
        let input = Input::of(request);
        let answer = below.call(call);
        Box::pin(async move {
            let mut served = answer.await?;
            if let EngineReply::Assembled(outcome) = &mut served.result
                && served.by != ServedBy::InProcess
            {
                input.judge(outcome)?;
            }
            Ok(served)
        })
    }
}

/// What the engine was given, as far as it is judged by it.
#[derive(Clone, Debug)]
struct Input {
    view: Transcript,
    current_turn: CurrentTurn,
    budget: Option<TokenBudget>,
    site: Site,
    may_be_unchanged: bool,
}

impl Input {
    fn of(request: &Assemble) -> Self {
        Self {
            view: request.transcript.clone(),
            current_turn: request.current_turn,
            budget: request.token_budget,
            site: request.site,
            may_be_unchanged: request.known_projection.is_some(),
        }
    }

    fn judge(&self, outcome: &mut AssembleOutcome) -> Result<(), CallError> {
        match outcome {
            AssembleOutcome::Messages(reply) => {
                self.judge_messages(&reply.messages)?;
                self.judge_size(reply)
            }
            AssembleOutcome::Unchanged(_) if !self.may_be_unchanged => Err(violation(
                "unchanged: the host did not say what its thread shows",
            )),
            // The thread has it already: another answer would only add to it.
            AssembleOutcome::Unchanged(unchanged) => {
                if self.is_over(unchanged.estimated_tokens) {
                    unchanged.prompt_authority = Some(PromptAuthority::PreassemblyMayOverflow);
                }
                Ok(())
            }
        }
    }

    fn judge_messages(&self, messages: &Assembled) -> Result<(), CallError> {
        let outside = |error| violation(format!("messages: {error}"));
        messages.check(self.view.len()).map_err(outside)?;
        let is_all =
            matches!(messages.segments(), [Segment::Keep(all)] if *all == (0..self.view.len()));
        if is_all || self.site == Site::Sync {
            return Ok(());
        }
        let newest = self.newest_user();
        if messages.is_empty() && newest.is_some() {
            return Err(violation(
                "messages: is empty although the list holds a user message",
            ));
        }
        match (self.current_turn, newest) {
            (CurrentTurn::Included, Some(newest)) => self.judge_newest(messages, newest)?,
            (CurrentTurn::Excluded, _) => self.judge_doubles(messages)?,
            (CurrentTurn::Included, None) => {}
        }
        self.judge_pairs(messages)
    }

    /// The newest thing that a user said; blank messages say nothing.
    fn newest_user(&self) -> Option<usize> {
        let says = |index: &usize| {
            self.view.get(*index).is_some_and(|message| {
                is_users(message) && message.tool_result_for().is_none() && !is_blank(message)
            })
        };
        (0..self.view.len()).rev().find(says)
    }

    fn judge_newest(&self, messages: &Assembled, newest: usize) -> Result<(), CallError> {
        let mut kept = ranges(messages);
        if !kept.any(|range| range.contains(&newest)) {
            return Err(violation(format!(
                "messages: the newest user message, index {newest}, is lost"
            )));
        }
        let own = self.view.get(newest);
        let is_again = |insert: &Message| {
            own.is_some_and(|own| ids(own).any(|id| ids(insert).any(|it| it == id)))
        };
        if user_inserts(messages).any(is_again) {
            return Err(violation(format!(
                "messages: the newest user message, index {newest}, is there twice"
            )));
        }
        Ok(())
    }

    /// A user message is there again when the engine invents one under its id.
    fn judge_doubles(&self, messages: &Assembled) -> Result<(), CallError> {
        let mut inserted = HashSet::new();
        let again = user_inserts(messages).filter_map(|message| ids(message).next());
        for id in again {
            if !inserted.insert(id) {
                return Err(doubled(id));
            }
        }
        if inserted.is_empty() {
            return Ok(());
        }
        let kept = ranges(messages).flat_map(|range| self.view.range(range));
        let mut kept = kept.filter(|message| is_users(message)).flat_map(ids);
        match kept.find(|id| inserted.contains(id)) {
            Some(id) => Err(doubled(id)),
            None => Ok(()),
        }
    }

    fn judge_pairs(&self, messages: &Assembled) -> Result<(), CallError> {
        let Some(broken) = broken_pairs(&self.view, messages).into_iter().next() else {
            return Ok(());
        };
        let lost = match broken.half {
            Half::Call => "call has lost its result",
            Half::Result => "result has lost its call",
        };
        Err(violation(format!(
            "messages: at {}, a tool {lost} (`{}`)",
            broken.position, broken.id
        )))
    }

    /// The estimate is the engine's word. A little too much is left to the host's own check.
    fn judge_size(&self, reply: &mut AssembleReply) -> Result<(), CallError> {
        let Some(budget) = self.budget.map(TokenBudget::get) else {
            return Ok(());
        };
        let estimated = reply.estimated_tokens;
        let is_tolerable = estimated.saturating_mul(10) <= budget.saturating_mul(11);
        if !is_tolerable && budget >= SMALL_BUDGET {
            return Err(CallError::OverBudget { estimated, budget });
        }
        if self.is_over(estimated) {
            reply.prompt_authority = Some(PromptAuthority::PreassemblyMayOverflow);
        }
        Ok(())
    }

    fn is_over(&self, estimated: u64) -> bool {
        self.budget.is_some_and(|budget| estimated > budget.get())
    }
}

fn is_users(message: &Message) -> bool {
    message.role() == "user"
}

#[cfg(feature = "local")]
fn is_blank(message: &Message) -> bool {
    contextwire_windowed::is_blank(message)
}

#[cfg(not(feature = "local"))]
fn is_blank(message: &Message) -> bool {
    message.payload().is_empty()
}

/// The ids that a message has, the lineage id first.
fn ids(message: &Message) -> impl Iterator<Item = &EntryId> {
    let named = (!message.entry_id().is_empty()).then(|| message.entry_id());
    named.into_iter().chain(message.log_entry_id())
}

fn ranges(messages: &Assembled) -> impl Iterator<Item = std::ops::Range<usize>> {
    messages
        .segments()
        .iter()
        .filter_map(|segment| match segment {
            Segment::Keep(range) => Some(range.clone()),
            Segment::Insert(_) => None,
        })
}

fn user_inserts(messages: &Assembled) -> impl Iterator<Item = &Message> {
    messages
        .segments()
        .iter()
        .filter_map(|segment| match segment {
            Segment::Insert(message) if is_users(message) => Some(message),
            Segment::Insert(_) | Segment::Keep(_) => None,
        })
}

fn doubled(id: &EntryId) -> CallError {
    violation(format!(
        "messages: the user message `{}` is there twice",
        id.as_str()
    ))
}

fn violation(problem: impl Into<String>) -> CallError {
    CallError::ContractViolation(problem.into())
}

#[cfg(test)]
mod tests;
