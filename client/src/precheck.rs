//! Whether a prompt fits before it is sent, and what a host does where it does not (HOST-SEMANTICS 11).
//!
//! ```
//! use contextwire_client::engine::{Message, TokenBudget, Transcript};
//! use contextwire_client::precheck::{PromptCheck, Route};
//!
//! let messages: Transcript = [Message::from_payload(r#"{"role":"user","content":"hello"}"#)]
//!     .into_iter()
//!     .collect();
//! let window = TokenBudget::new(200_000).ok_or("a window holds tokens")?;
//! let check = PromptCheck::new(messages, window, 20_000);
//! let checked = check.run();
//! assert_eq!(checked.route, Route::Fits);
//! # Ok::<(), &str>(())
//! ```

use contextwire_engine::{AssembleOutcome, PromptAuthority, SessionId, TokenBudget, Transcript};
use contextwire_legacy::precheck::{Prompt, is_checked};
use serde::{Deserialize, Serialize};

pub use contextwire_legacy::precheck::{AssembleState, Precheck, RenderedCount, Route};

use crate::call::{Served, ServedBy};
use crate::context::Context;
use crate::error::CallError;
use crate::wall_clock::now_ms;

/// What is about to be sent, and to whom.
#[derive(Clone, Debug)]
pub struct PromptCheck<'a> {
    /// The list that goes to the model.
    pub messages: Transcript,
    /// The host's whole list, where the context may be less than it: it counts where it is larger,
    /// and its tool output is what may be cut.
    pub unwindowed: Option<Transcript>,
    /// The system prompt.
    pub system: Option<&'a str>,
    /// The prompt; empty in the middle of a turn.
    pub prompt: &'a str,
    /// A better count of the prompt as it will be sent, and who counted.
    pub rendered: Option<RenderedCount>,
    /// The model's window in tokens.
    pub window: TokenBudget,
    /// Tokens of it that stay free for the answer, where the window is large enough.
    pub reserve: u64,
    /// The model's provider, for the snapshot.
    pub provider: Option<String>,
    /// The model, for the snapshot.
    pub model: Option<String>,
    /// The session, for the snapshot.
    pub session_id: Option<SessionId>,
}

impl<'a> PromptCheck<'a> {
    /// A list alone, against a window of which so many tokens stay free.
    pub fn new(messages: Transcript, window: TokenBudget, reserve: u64) -> Self {
        Self {
            messages,
            unwindowed: None,
            system: None,
            prompt: "",
            rendered: None,
            window,
            reserve,
            provider: None,
            model: None,
            session_id: None,
        }
    }

    /// What an Assemble came to, with the host's whole list, by the authority that the engine claims
    /// for it. Nothing where the engine is trusted: it owns compaction, answered, and does not say that
    /// its context may overflow.
    pub fn of_context(
        served: &Served<Context>,
        whole: &Transcript,
        (window, reserve): (TokenBudget, u64),
        owns_compaction: bool,
    ) -> Option<Self> {
        let state = assemble_state(served);
        if !is_checked(owns_compaction, state) {
            return None;
        }
        let messages = served.result.messages().cloned().collect();
        // The thread shows its context already: the engine knows how much that is.
        let shown = matches!(served.result.outcome, AssembleOutcome::Unchanged(_));
        let rendered = shown.then(|| of_thread(served.result.estimated_tokens()));
        let is_less = state == AssembleState::Answered(PromptAuthority::PreassemblyMayOverflow);
        Some(Self {
            unwindowed: is_less.then(|| whole.clone()),
            rendered,
            ..Self::new(messages, window, reserve)
        })
    }

    /// With the system prompt and the prompt around the list.
    #[must_use]
    pub fn with_prompt(self, system: Option<&'a str>, prompt: &'a str) -> Self {
        Self {
            system,
            prompt,
            ..self
        }
    }

    /// Decides what to do with it.
    pub fn run(&self) -> Precheck {
        let prompt = Prompt {
            messages: self.messages.clone(),
            unwindowed: self.unwindowed.clone(),
            system: self.system,
            prompt: self.prompt,
            rendered: self.rendered.clone(),
        };
        Precheck::of(&prompt, self.window, self.reserve)
    }

    /// The status of a check that was just made.
    pub fn snapshot(&self, checked: &Precheck) -> PrecheckStatus {
        PrecheckStatus {
            schema_version: 1,
            source: "pre-prompt-estimate".to_owned(),
            updated_at: now_ms(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            route: route_name(checked.route).to_owned(),
            should_compact: checked.route.compacts(),
            estimated_prompt_tokens: checked.estimated_tokens,
            context_token_budget: self.window.get(),
            prompt_budget_before_reserve: checked.budget.prompt_tokens,
            reserve_tokens: self.reserve,
            effective_reserve_tokens: checked.budget.effective_reserve,
            overflow_tokens: checked.overflow_tokens,
            remaining_prompt_budget_tokens: checked.remaining_tokens,
            tool_result_reducible_chars: checked.reducible_chars,
            message_count: self.messages.len() as u64,
            unwindowed_message_count: self.unwindowed.as_ref().map(|list| list.len() as u64),
            session_id: self.session_id.as_ref().map(|id| id.as_str().to_owned()),
        }
    }
}

/// What a thread shows, as a count.
#[expect(
    clippy::cast_precision_loss,
    reason = "no window holds so many tokens that a float loses one"
)]
fn of_thread(tokens: u64) -> RenderedCount {
    RenderedCount {
        tokens: tokens as f64,
        label: "bound_thread".to_owned(),
    }
}

/// What an Assemble says of itself to the check. A turn that somebody else served is not the
/// engine's; its answer claims no more than that it may overflow.
fn assemble_state(served: &Served<Context>) -> AssembleState {
    let failed = served
        .reason
        .as_ref()
        .is_some_and(|reason| !matches!(**reason, CallError::Absent { .. }));
    if failed && served.by == ServedBy::InProcess {
        return AssembleState::Failed;
    }
    AssembleState::Answered(served.result.prompt_authority())
}

/// The name of a route in reports.
pub fn route_name(route: Route) -> &'static str {
    match route {
        Route::Fits => "fits",
        Route::CompactOnly => "compact_only",
        Route::TruncateToolResultsOnly => "truncate_tool_results_only",
        Route::CompactThenTruncate => "compact_then_truncate",
    }
}

/// What a host does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The prompt is sent.
    Send,
    /// Tool output is cut in the stored session first; then [`NextStep::after_truncation`].
    Truncate,
    /// The prompt is checked once more: what was cut is handled.
    TryAgain,
    /// The prompt is not sent; the engine compacts, and the attempt is made again.
    Compact(Overflow),
}

impl NextStep {
    /// What a check asks for. `site` is where it was made.
    pub fn of(checked: &Precheck, site: CheckSite) -> Self {
        match checked.route {
            Route::Fits => Self::Send,
            Route::TruncateToolResultsOnly => Self::Truncate,
            Route::CompactOnly | Route::CompactThenTruncate => {
                Self::Compact(Overflow::of(checked, site))
            }
        }
    }

    /// What follows after tool output was to be cut: nothing was left to cut, and it is compacted.
    pub fn after_truncation(checked: &Precheck, site: CheckSite, changed: bool) -> Self {
        if changed {
            return Self::TryAgain;
        }
        let checked = Precheck {
            route: Route::CompactOnly,
            ..checked.clone()
        };
        Self::Compact(Overflow::of(&checked, site))
    }
}

/// Where a check was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckSite {
    /// Before a turn's prompt.
    Prompt,
    /// After new tool results, in the middle of a turn.
    MidTurn,
}

/// A prompt that was not sent, in the words of a provider that refuses one, for a host's recovery.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Context overflow: the prompt takes {estimated_tokens} tokens, {overflow_tokens} more than \
     its budget of {prompt_tokens} ({})",
    source_name(*.site)
)]
pub struct Overflow {
    /// Where the check was made.
    pub site: CheckSite,
    /// What to do about it.
    pub route: Route,
    /// Tokens of the prompt.
    pub estimated_tokens: u64,
    /// Tokens that it may have.
    pub prompt_tokens: u64,
    /// Tokens too many.
    pub overflow_tokens: u64,
}

fn source_name(site: CheckSite) -> &'static str {
    match site {
        CheckSite::Prompt => "precheck",
        CheckSite::MidTurn => "mid-turn precheck",
    }
}

impl Overflow {
    fn of(checked: &Precheck, site: CheckSite) -> Self {
        Self {
            site,
            route: checked.route,
            estimated_tokens: checked.estimated_tokens,
            prompt_tokens: checked.budget.prompt_tokens,
            overflow_tokens: checked.overflow_tokens,
        }
    }
}

/// The last check of a session, as hosts show it. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrecheckStatus {
    /// 1.
    pub schema_version: u32,
    /// `pre-prompt-estimate`.
    pub source: String,
    /// When.
    pub updated_at: u64,
    /// The model's provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The route's name.
    pub route: String,
    /// Whether the prompt is not sent and the engine compacts.
    pub should_compact: bool,
    /// Tokens of the prompt with everything around it.
    pub estimated_prompt_tokens: u64,
    /// The model's window.
    pub context_token_budget: u64,
    /// Tokens that the prompt may have.
    pub prompt_budget_before_reserve: u64,
    /// Tokens that were to stay free.
    pub reserve_tokens: u64,
    /// Tokens that do.
    pub effective_reserve_tokens: u64,
    /// Tokens too many.
    pub overflow_tokens: u64,
    /// Tokens that are left.
    pub remaining_prompt_budget_tokens: u64,
    /// Characters of tool output that could go.
    pub tool_result_reducible_chars: u64,
    /// Messages of the list.
    pub message_count: u64,
    /// Messages of the host's whole list, where it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwindowed_message_count: Option<u64>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[cfg(test)]
mod tests;
