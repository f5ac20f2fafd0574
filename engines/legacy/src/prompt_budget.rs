//! How much of a model's window a prompt may take (HOST-SEMANTICS 11.3).

use contextwire_engine::TokenBudget;

/// A reserve never takes more than what leaves a prompt this many tokens.
const MIN_PROMPT_TOKENS: u64 = 8_000;

/// The two shares of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBudget {
    /// Tokens of the window that stay free for the answer.
    pub effective_reserve: u64,
    /// Tokens that the prompt may have.
    pub prompt_tokens: u64,
}

impl PromptBudget {
    /// Splits a window, of which `reserve` tokens are to stay free where it is large enough.
    pub fn of(window: TokenBudget, reserve: u64) -> Self {
        let window = window.get();
        let half = (window / 2).max(1);
        let floor = MIN_PROMPT_TOKENS.min(window.saturating_sub(1));
        let least = MIN_PROMPT_TOKENS.min(half).max(floor);
        let effective_reserve = reserve.min(window.saturating_sub(least));
        Self {
            effective_reserve,
            prompt_tokens: window.saturating_sub(effective_reserve).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(window: u64, reserve: u64) -> (u64, u64) {
        let budget = PromptBudget::of(TokenBudget::new(window).unwrap(), reserve);
        (budget.effective_reserve, budget.prompt_tokens)
    }

    #[test]
    fn c241_a_reserve_larger_than_the_window_leaves_eight_thousand() {
        assert_eq!(split(16_000, 20_000), (8_000, 8_000));
    }

    #[test]
    fn c242_a_small_window_is_the_prompts_but_for_one_token() {
        assert_eq!(split(4_096, 20_000), (1, 4_095));
    }

    #[test]
    fn c243_around_eight_thousand_the_reserve_begins_to_grow() {
        assert_eq!(split(8_000, 20_000), (1, 7_999));
        assert_eq!(split(9_000, 20_000), (1_000, 8_000));
    }

    #[test]
    fn c244_a_large_window_gives_the_whole_reserve() {
        assert_eq!(split(32_000, 20_000), (20_000, 12_000));
        assert_eq!(split(200_000, 32_000), (32_000, 168_000));
    }

    #[test]
    fn the_smallest_window_still_has_a_prompt() {
        assert_eq!(split(1, 20_000), (0, 1));
    }
}
