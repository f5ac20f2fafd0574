//! How much a compaction keeps, how long its summary may be, and when one is due
//! (HOST-SEMANTICS 14).

use std::time::Duration;

use contextwire_engine::TokenBudget;

use crate::prompt_budget::PromptBudget;

/// Longest summary in characters, file lists included.
pub const MAX_SUMMARY_CHARS: usize = 16_000;
/// A shorter summary is none, however small the window is.
const MIN_SUMMARY_CHARS: usize = 1_000;
/// Least room for an answer in tokens, however small the reserve is.
const MIN_OUTPUT_TOKENS: u64 = 512;

/// Settings of the built-in compaction; the defaults are the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactSettings {
    /// Whether a compaction that nobody forces runs at all.
    pub enabled: bool,
    /// Tokens of the window that a prompt leaves free.
    pub reserve_tokens: u64,
    /// The least that [`CompactSettings::reserve_tokens`] is raised to.
    pub reserve_tokens_floor: u64,
    /// Tokens of the newest messages that stay verbatim.
    pub keep_recent_tokens: u64,
    /// Whether a user message that nobody has answered yet stays verbatim whatever it costs.
    pub protect_pending_user: bool,
    /// Attempts at one call of the summariser, the first included.
    pub attempts: u32,
    /// Wait before the second attempt; doubles with each further one.
    pub retry_delay: Duration,
    /// Longest wait between two attempts.
    pub max_retry_delay: Duration,
}

impl Default for CompactSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: 16_384,
            reserve_tokens_floor: 20_000,
            keep_recent_tokens: 20_000,
            protect_pending_user: true,
            attempts: 3,
            retry_delay: Duration::from_millis(500),
            max_retry_delay: Duration::from_secs(5),
        }
    }
}

impl CompactSettings {
    /// Tokens that a prompt leaves free.
    pub fn reserve(&self) -> u64 {
        self.reserve_tokens.max(self.reserve_tokens_floor)
    }

    /// Whether a context of so many tokens asks for a compaction: more than the window less the
    /// reserve. A window of 0 is unknown, and nothing is due.
    pub fn is_due(&self, context_tokens: u64, window: u64) -> bool {
        self.enabled && window > 0 && context_tokens > window.saturating_sub(self.reserve())
    }

    /// What one compaction may spend. Small windows get small shares: what stays verbatim takes at
    /// most half of the prompt, the summary a quarter.
    pub(crate) fn limits(&self, window: Option<TokenBudget>, max_output: Option<u64>) -> Limits {
        let budget = window.map(|window| PromptBudget::of(window, self.reserve()));
        let prompt = budget.map(|budget| budget.prompt_tokens);
        let reserve = budget.map_or(self.reserve(), |budget| budget.effective_reserve);
        // Four characters a token: a quarter of the tokens is as many characters.
        let quarter = prompt.map_or(usize::MAX, |tokens| {
            usize::try_from(tokens).unwrap_or(usize::MAX)
        });
        let output = |tokens: u64| {
            let tokens = tokens.max(MIN_OUTPUT_TOKENS);
            tokens.min(max_output.filter(|max| *max > 0).unwrap_or(u64::MAX))
        };
        Limits {
            prompt_tokens: prompt,
            keep_recent: self
                .keep_recent_tokens
                .min(prompt.map_or(u64::MAX, |tokens| tokens / 2)),
            summary_chars: quarter.clamp(MIN_SUMMARY_CHARS, MAX_SUMMARY_CHARS),
            history_output: output(reserve.saturating_mul(4) / 5),
            prefix_output: output(reserve / 2),
        }
    }
}

/// What one compaction may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Tokens that a prompt may have; absent where the window is unknown.
    pub(crate) prompt_tokens: Option<u64>,
    /// Tokens that stay verbatim.
    pub(crate) keep_recent: u64,
    /// Characters of the summary.
    pub(crate) summary_chars: usize,
    /// Tokens that the model may answer with on the history.
    pub(crate) history_output: u64,
    /// The same on the beginning of a split turn.
    pub(crate) prefix_output: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c338_nothing_is_due_within_the_window_without_a_window_or_when_switched_off() {
        let settings = CompactSettings::default();
        assert_eq!(settings.reserve(), 20_000);
        assert!(!settings.is_due(180_000, 200_000));
        assert!(settings.is_due(180_001, 200_000));
        assert!(!settings.is_due(1_000_000, 0));
        let off = CompactSettings {
            enabled: false,
            ..settings
        };
        assert!(!off.is_due(1_000_000, 200_000));
    }

    #[test]
    fn the_reserve_is_raised_to_its_floor_and_not_lowered_to_it() {
        let own = |reserve_tokens, reserve_tokens_floor| CompactSettings {
            reserve_tokens,
            reserve_tokens_floor,
            ..CompactSettings::default()
        };
        assert_eq!(own(16_384, 0).reserve(), 16_384);
        assert_eq!(own(50_000, 20_000).reserve(), 50_000);
    }

    #[test]
    fn a_large_window_gives_the_hosts_limits() {
        let limits = CompactSettings::default().limits(TokenBudget::new(200_000), Some(8_192));
        let expected = Limits {
            prompt_tokens: Some(180_000),
            keep_recent: 20_000,
            summary_chars: 16_000,
            history_output: 8_192,
            prefix_output: 8_192,
        };
        assert_eq!(limits, expected);
        let unknown = CompactSettings::default().limits(None, None);
        assert_eq!(
            (unknown.history_output, unknown.prefix_output),
            (16_000, 10_000)
        );
        assert_eq!((unknown.keep_recent, unknown.prompt_tokens), (20_000, None));
    }

    #[test]
    fn a_small_window_leaves_room_for_what_follows() {
        let limits = CompactSettings::default().limits(TokenBudget::new(4_096), None);
        assert_eq!(limits.prompt_tokens, Some(4_095));
        assert_eq!((limits.keep_recent, limits.summary_chars), (2_047, 4_095));
        assert_eq!((limits.history_output, limits.prefix_output), (512, 512));
    }
}
