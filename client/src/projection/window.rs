//! How much of a context a turn may carry, in characters: Unicode scalar values (HOST-SEMANTICS 6.4).

/// Characters that stand for a token.
pub const CHARS_PER_TOKEN: usize = 4;

const DEFAULT_RESERVE: u64 = 20_000;
const MIN_PROMPT: u64 = 8_000;
const MIN_WINDOW: usize = 24_000;
const MAX_WINDOW: usize = 1_000_000;
const MIN_PART: usize = 6_000;
const MAX_PART: usize = 128_000;

/// What is kept free of a window, in tokens, as a host's configuration says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserve {
    /// The reserve.
    pub tokens: Option<u64>,
    /// What it is at least; alone it is the reserve.
    pub floor: Option<u64>,
}

impl Reserve {
    /// The reserve in tokens: 20 000 where nothing is configured.
    pub fn get(self) -> u64 {
        self.tokens.max(self.floor).unwrap_or(DEFAULT_RESERVE)
    }
}

/// What a prompt may use of a window of `budget` tokens. A small window is not all reserve: a half
/// of it, 8 000 tokens at most, is the prompt's in any case.
pub fn prompt_tokens(budget: u64, reserve: u64) -> u64 {
    let min_prompt = MIN_PROMPT.min((budget / 2).max(1));
    let reserve = reserve.min(budget.saturating_sub(min_prompt));
    budget.saturating_sub(reserve).max(1)
}

/// The most characters of a context for a window of `budget` tokens: 24 000 to 1 000 000, 24 000
/// where the window is not known.
pub fn window_chars(budget: Option<u64>, reserve: Reserve) -> usize {
    let Some(budget) = budget else {
        return MIN_WINDOW;
    };
    let tokens = usize::try_from(prompt_tokens(budget, reserve.get())).unwrap_or(usize::MAX);
    tokens
        .saturating_mul(CHARS_PER_TOKEN)
        .clamp(MIN_WINDOW, MAX_WINDOW)
}

/// The most characters of one text in a window of so many: a quarter of it, 6 000 to 128 000.
pub fn part_chars(window: usize) -> usize {
    (window / 4).clamp(MIN_PART, MAX_PART)
}

/// The window of a context that the engine did not make: a quarter, for it is sent again with
/// every turn until the engine is back (BR-140).
pub(super) fn fallback_chars(window: usize) -> usize {
    (window / 4).max(MIN_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c280_the_window_follows_from_the_budget() {
        let of = |budget| window_chars(budget, Reserve::default());
        assert_eq!(of(None), 24_000);
        assert_eq!(of(Some(16_000)), 32_000);
        assert_eq!(of(Some(4_096)), 24_000);
        assert_eq!(of(Some(200_000)), 720_000);
        assert_eq!(of(Some(1_000_000)), 1_000_000);
        assert_eq!(of(Some(0)), 24_000);
        assert_eq!(of(Some(u64::MAX)), 1_000_000);
    }

    #[test]
    fn a_configured_reserve_is_the_greater_of_both_or_the_floor_alone() {
        let of = |tokens, floor| Reserve { tokens, floor }.get();
        assert_eq!(of(None, None), 20_000);
        assert_eq!(of(Some(30_000), Some(10_000)), 30_000);
        assert_eq!(of(Some(5_000), Some(10_000)), 10_000);
        assert_eq!(of(None, Some(10_000)), 10_000);
        assert_eq!(of(Some(5_000), None), 5_000);
    }

    #[test]
    fn a_part_is_a_quarter_within_its_bounds() {
        assert_eq!(part_chars(24_000), 6_000);
        assert_eq!(part_chars(1_000), 6_000);
        assert_eq!(part_chars(100_001), 25_000);
        assert_eq!(part_chars(1_000_000), 128_000);
    }
}
