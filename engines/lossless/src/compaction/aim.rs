//! What a compaction has to reach.

use contextwire_engine::{CompactionTarget, TokenBudget};

use super::Compaction;
use super::draft::Draft;
use super::work::{Condensing, Reach};

/// The context that the engine answers for keeps at least this part of the budget, however much the host
/// counts beside it (BR-141).
const MIN_OWN_SHARE: u64 = 4;

/// What a compaction has to reach.
pub(crate) struct Aim {
    pub(crate) budget: Option<u64>,
    /// Tokens of the host's count that are not the engine's.
    pub(crate) foreign: u64,
    pub(crate) reach: Reach,
    /// Whether the context exceeds its ceiling.
    pub(crate) is_hard: bool,
    pub(crate) is_due: bool,
}

impl Aim {
    pub(crate) fn of(compaction: &Compaction<'_>, draft: &Draft<'_>) -> Self {
        let request = compaction.request;
        let context = request.runtime_context.as_ref();
        let settings = request.runtime_settings.as_ref();
        let budget = request.token_budget.map(TokenBudget::get);
        let budget = budget
            .or_else(|| context?.token_budget)
            .or_else(|| Some(settings?.prompt_token_budget?.get()))
            .filter(|budget| *budget > 0);
        let own = draft.tokens();
        let counted = request
            .current_token_count
            .or_else(|| context?.current_token_count)
            .unwrap_or(own);
        let foreign = counted.saturating_sub(own);
        let ceiling = budget.map(|budget| match request.target {
            CompactionTarget::Threshold => compaction.settings.threshold(budget),
            // Just below the budget, the next turn would be over it again.
            CompactionTarget::Budget => compaction
                .settings
                .threshold(budget)
                .max(budget - budget / 8),
        });
        let goal = ceiling.zip(budget).map_or(0, |(ceiling, budget)| {
            ceiling.saturating_sub(foreign).max(budget / MIN_OWN_SHARE)
        });
        let is_hard = budget.is_some_and(|budget| own + foreign > budget);
        let is_due = budget.is_some() && own > goal;
        // Somebody who insists below the goal wants what can be summarised to be.
        let goal = if compaction.request.force && !is_due {
            0
        } else {
            goal
        };
        let writer = compaction.writer();
        let room = writer.room(compaction.settings.leaf_output_tokens);
        Self {
            budget,
            foreign,
            is_hard,
            is_due,
            reach: Reach {
                goal,
                tail: draft.tail_start(compaction.settings.tail(budget)),
                leaf_tokens: compaction.settings.leaf_tokens.min(room).max(1),
                insists: compaction.request.force || is_hard,
                condensing: match (is_hard, is_due) {
                    (true, _) => Condensing::Any,
                    (false, true) => Condensing::OneDepth,
                    (false, false) => Condensing::No,
                },
            },
        }
    }
}
