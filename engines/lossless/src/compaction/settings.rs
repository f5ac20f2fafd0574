//! How much a compaction keeps and how much it asks of a model at once.

use contextwire_legacy::CompactSettings;

/// Settings of compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Percent of the budget from which on a compaction is due, and below which it ends; 1 to 100.
    pub threshold_percent: u64,
    /// Tokens of the newest entries that stay verbatim, but never more than a quarter of the budget.
    /// The newest user message's turn stays in any case.
    pub tail_tokens: u64,
    /// Tokens of the conversation in one leaf.
    pub leaf_tokens: u64,
    /// Tokens of a leaf's summary at most.
    pub leaf_output_tokens: u64,
    /// Tokens of a condensed summary at most.
    pub condensed_output_tokens: u64,
    /// How many summaries of one depth make a condensed one, at least and at most.
    pub fanout: (usize, usize),
    /// Bytes of the entries' bodies that are in memory at once; what can not be parted and is larger is
    /// there alone. A leaf is of a sixth of it at most.
    pub held_bytes: u32,
    /// Summaries that are written at the same time.
    pub parallel: usize,
    /// Window of the summariser where it names none, in tokens.
    pub window: u64,
    /// How often one call is tried, and how fast.
    pub calls: CompactSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            threshold_percent: 75,
            tail_tokens: 20_000,
            leaf_tokens: 12_000,
            leaf_output_tokens: 1_500,
            condensed_output_tokens: 2_000,
            fanout: (4, 8),
            held_bytes: 24 * 1024 * 1024,
            parallel: 4,
            window: 100_000,
            calls: CompactSettings {
                attempts: 2,
                ..CompactSettings::default()
            },
        }
    }
}

impl Settings {
    /// Tokens above which a compaction is due.
    pub fn threshold(&self, budget: u64) -> u64 {
        let percent = self.threshold_percent.clamp(1, 100);
        let share = u128::from(budget) * u128::from(percent) / 100;
        u64::try_from(share).unwrap_or(budget)
    }

    /// Bytes of the bodies of one leaf: images have few tokens and many bytes.
    pub(crate) fn leaf_bytes(&self) -> u64 {
        u64::from(self.held_bytes / 6)
    }

    /// Tokens of the newest entries that stay.
    pub(crate) fn tail(&self, budget: Option<u64>) -> u64 {
        let most = budget.map_or(u64::MAX, |budget| budget / 4);
        self.tail_tokens.min(most)
    }
}
