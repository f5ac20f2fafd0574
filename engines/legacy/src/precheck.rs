//! Whether a prompt fits before it is sent, and what to do where it does not (HOST-SEMANTICS 11).

mod estimate;

use contextwire_engine::{PromptAuthority, TokenBudget, Transcript};

use crate::prompt_budget::PromptBudget;

/// What became of the engine's Assemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssembleState {
    /// It answered, with this authority.
    Answered(PromptAuthority),
    /// It did not, and the host's own list is sent.
    Failed,
}

/// Whether the check runs at all: an engine that owns compaction and answered is trusted, unless it
/// says that its list may overflow.
pub fn is_checked(owns_compaction: bool, assemble: AssembleState) -> bool {
    match assemble {
        AssembleState::Answered(PromptAuthority::Assembled) => !owns_compaction,
        AssembleState::Answered(PromptAuthority::PreassemblyMayOverflow)
        | AssembleState::Failed => true,
    }
}

/// A count of the prompt as it will be sent, by somebody who knows it better than an estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedCount {
    /// Tokens; what is not finite is no count.
    pub tokens: f64,
    /// Who counted; blank is `rendered_llm_boundary`.
    pub label: String,
}

/// What is about to be sent.
#[derive(Clone, Debug, Default)]
pub struct Prompt<'a> {
    /// The list that goes to the model.
    pub messages: Transcript,
    /// The host's whole list, where the engine says that its own may overflow.
    pub unwindowed: Option<Transcript>,
    /// The system prompt; a blank one is none.
    pub system: Option<&'a str>,
    /// The prompt itself; empty in the middle of a turn.
    pub prompt: &'a str,
    /// A better count of it.
    pub rendered: Option<RenderedCount>,
}

/// What to do with a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Send it.
    Fits,
    /// Compact: there is no tool output to cut.
    CompactOnly,
    /// Cut tool output and ask again; that will do.
    TruncateToolResultsOnly,
    /// Compact, then cut tool output.
    CompactThenTruncate,
}

impl Route {
    /// The route for so many tokens too many, with so many characters of tool output that could go.
    pub fn of(overflow_tokens: u64, reducible_chars: u64) -> Self {
        let enough = overflow_tokens
            .saturating_mul(4)
            .saturating_add(2_048)
            .max(overflow_tokens.saturating_mul(6));
        match (overflow_tokens, reducible_chars) {
            (0, _) => Self::Fits,
            (_, 0) => Self::CompactOnly,
            (_, chars) if chars >= enough => Self::TruncateToolResultsOnly,
            _ => Self::CompactThenTruncate,
        }
    }

    /// Whether the prompt is not sent and the engine compacts first.
    pub fn compacts(self) -> bool {
        match self {
            Self::CompactOnly | Self::CompactThenTruncate => true,
            Self::Fits | Self::TruncateToolResultsOnly => false,
        }
    }
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precheck {
    /// What to do.
    pub route: Route,
    /// Tokens of the prompt with everything around it.
    pub estimated_tokens: u64,
    /// How that is known: `transcript_estimate`, `unwindowed_transcript_estimate`, or the label of
    /// a better count.
    pub source: String,
    /// The shares of the window.
    pub budget: PromptBudget,
    /// Tokens too many.
    pub overflow_tokens: u64,
    /// Tokens that are left.
    pub remaining_tokens: u64,
    /// Characters of tool output that could go.
    pub reducible_chars: u64,
}

impl Precheck {
    /// Checks a prompt against a window of which `reserve` tokens stay free.
    pub fn of(prompt: &Prompt<'_>, window: TokenBudget, reserve: u64) -> Self {
        let budget = PromptBudget::of(window, reserve);
        let estimate = |list| estimate::prompt(list, prompt.system, prompt.prompt);
        let mut measured = &prompt.messages;
        let mut estimated_tokens = estimate(measured);
        let mut source = "transcript_estimate".to_owned();
        if let Some((tokens, label)) = prompt.rendered.as_ref().and_then(counted) {
            (estimated_tokens, source) = (tokens, label);
        }
        if let Some(whole) = &prompt.unwindowed {
            let tokens = estimate(whole);
            if tokens > estimated_tokens {
                (estimated_tokens, measured) = (tokens, whole);
                "unwindowed_transcript_estimate".clone_into(&mut source);
            }
        }
        let overflow_tokens = estimated_tokens.saturating_sub(budget.prompt_tokens);
        let reducible_chars = estimate::reducible_chars(measured);
        Self {
            route: Route::of(overflow_tokens, reducible_chars),
            estimated_tokens,
            source,
            budget,
            overflow_tokens,
            remaining_tokens: budget.prompt_tokens.saturating_sub(estimated_tokens),
            reducible_chars,
        }
    }
}

fn counted(count: &RenderedCount) -> Option<(u64, String)> {
    if !count.tokens.is_finite() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "finite and not negative; a float cast saturates"
    )]
    let tokens = count.tokens.max(0.0).ceil() as u64;
    let label = count.label.trim();
    let label = if label.is_empty() {
        "rendered_llm_boundary"
    } else {
        label
    };
    Some((tokens, label.to_owned()))
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;

    fn list(payloads: &[String]) -> Transcript {
        let payloads = payloads.iter();
        payloads
            .map(|payload| Message::from_payload(payload.clone()))
            .collect()
    }

    fn user(chars: usize) -> String {
        format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(chars))
    }

    fn result(chars: usize) -> String {
        format!(
            r#"{{"role":"toolResult","toolCallId":"c","content":"{}"}}"#,
            "x".repeat(chars)
        )
    }

    fn check(prompt: &Prompt<'_>) -> Precheck {
        Precheck::of(prompt, TokenBudget::new(16_000).unwrap(), 20_000)
    }

    #[test]
    fn c246_an_estimate_within_the_budget_fits() {
        let checked = check(&Prompt {
            messages: list(&[user(4_000)]),
            prompt: "hi",
            ..Prompt::default()
        });
        assert_eq!(
            (checked.route, checked.route.compacts()),
            (Route::Fits, false)
        );
        assert_eq!(checked.source, "transcript_estimate");
        assert_eq!(checked.estimated_tokens + checked.remaining_tokens, 8_000);
    }

    #[test]
    fn c247_an_overflow_without_tool_output_compacts_only() {
        let checked = check(&Prompt {
            messages: list(&[user(60_000)]),
            ..Prompt::default()
        });
        assert_eq!(checked.route, Route::CompactOnly);
        assert!(checked.route.compacts() && checked.overflow_tokens > 9_000);
        assert_eq!(Route::of(1, 0), Route::CompactOnly);
    }

    #[test]
    fn c248_and_c249_enough_tool_output_is_cut_instead() {
        assert_eq!(Route::of(200, 2_848), Route::TruncateToolResultsOnly);
        assert_eq!(Route::of(200, 2_847), Route::CompactThenTruncate);
        assert_eq!(Route::of(2_000, 12_000), Route::TruncateToolResultsOnly);
        assert_eq!(Route::of(2_000, 11_999), Route::CompactThenTruncate);
        assert!(!Route::TruncateToolResultsOnly.compacts());
        assert!(Route::CompactThenTruncate.compacts());
    }

    #[test]
    fn c250_an_owning_engine_that_answered_is_trusted() {
        let answered = AssembleState::Answered(PromptAuthority::Assembled);
        assert!(!is_checked(true, answered));
        let may_overflow = AssembleState::Answered(PromptAuthority::PreassemblyMayOverflow);
        assert!(is_checked(true, may_overflow));
    }

    #[test]
    fn c252_after_a_failed_assemble_the_check_runs_for_every_engine() {
        assert!(is_checked(true, AssembleState::Failed));
    }

    #[test]
    fn c253_an_engine_that_owns_no_compaction_is_always_checked() {
        assert!(is_checked(
            false,
            AssembleState::Answered(PromptAuthority::Assembled)
        ));
    }

    #[test]
    fn c254_a_rendered_count_replaces_the_estimate_under_its_label() {
        let counted = |tokens, label: &str| {
            let checked = check(&Prompt {
                messages: list(&[user(60_000)]),
                rendered: Some(RenderedCount {
                    tokens,
                    label: label.to_owned(),
                }),
                ..Prompt::default()
            });
            (checked.estimated_tokens, checked.source)
        };
        assert_eq!(counted(12.2, "provider"), (13, "provider".to_owned()));
        assert_eq!(counted(12.0, " "), (12, "rendered_llm_boundary".to_owned()));
        assert_eq!(counted(f64::NAN, "provider").1, "transcript_estimate");
    }

    #[test]
    fn br_064_the_unwindowed_list_counts_where_it_is_larger() {
        let windowed = |unwindowed| {
            check(&Prompt {
                messages: list(&[user(400)]),
                unwindowed,
                ..Prompt::default()
            })
        };
        assert_eq!(windowed(None).route, Route::Fits);
        let whole = windowed(Some(list(&[user(400), result(60_000)])));
        assert_eq!(whole.source, "unwindowed_transcript_estimate");
        assert!(
            whole.reducible_chars > 50_000,
            "and so does its tool output"
        );
        let smaller = windowed(Some(list(&[user(4)])));
        assert_eq!(smaller.source, "transcript_estimate");
    }
}
