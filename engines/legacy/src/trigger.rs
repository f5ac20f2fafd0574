//! What a host asks for, by what made it ask (HOST-SEMANTICS 10.1).

use contextwire_engine::{Compact, CompactionTarget, RuntimeContext, TokenBudget};

/// Why a host compacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The user said so, perhaps with words of their own.
    Manual {
        /// What the user wants kept.
        instructions: Option<String>,
    },
    /// The prompt cannot be sent as it is.
    Preflight(Preflight),
    /// The context is over its budget, or the provider said so.
    Budget {
        /// Whether to compact even below the threshold.
        force: bool,
    },
    /// The budget of a command line run.
    CliBudget,
}

/// What a required preflight found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preflight {
    /// Too many tokens.
    Tokens,
    /// Too many bytes of transcript.
    TranscriptBytes,
}

impl Trigger {
    /// The request, over the facts of the operation.
    pub fn request(self, budget: Option<TokenBudget>, facts: RuntimeContext) -> Compact {
        let (force, target) = match &self {
            Self::Manual { .. } => (true, CompactionTarget::Threshold),
            Self::Preflight(_) | Self::CliBudget => (true, CompactionTarget::Budget),
            Self::Budget { force } => (*force, CompactionTarget::Budget),
        };
        let mut context = facts;
        let word = |word: &str| Some(word.to_owned());
        context.force_reason = match &self {
            Self::Manual { .. } => word("manual"),
            Self::Preflight(_) => word("preflight_required"),
            Self::Budget { .. } | Self::CliBudget => None,
        };
        context.preflight_trigger = match &self {
            Self::Preflight(Preflight::Tokens) => word("tokens"),
            Self::Preflight(Preflight::TranscriptBytes) => word("transcript_bytes"),
            Self::Manual { .. } | Self::Budget { .. } | Self::CliBudget => None,
        };
        if self == Self::CliBudget {
            context.trigger = word("cli_budget");
        }
        let custom_instructions = match self {
            Self::Manual { instructions } => instructions,
            Self::Preflight(_) | Self::Budget { .. } | Self::CliBudget => None,
        };
        Compact {
            runtime_settings: None,
            current_token_count: context.current_token_count,
            runtime_context: Some(context),
            token_budget: budget,
            force,
            target,
            custom_instructions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(trigger: Trigger) -> (bool, CompactionTarget, [Option<String>; 4]) {
        let facts = RuntimeContext {
            force_reason: Some("left over from before".to_owned()),
            ..RuntimeContext::default()
        };
        let request = trigger.request(TokenBudget::new(9), facts);
        let context = request.runtime_context.unwrap();
        let words = [
            context.force_reason,
            context.preflight_trigger,
            context.trigger,
            request.custom_instructions,
        ];
        (request.force, request.target, words)
    }

    fn words(words: [&str; 4]) -> [Option<String>; 4] {
        words.map(|word| Some(word.to_owned()).filter(|word| !word.is_empty()))
    }

    #[test]
    fn c226_a_manual_compaction_is_forced_aims_at_the_threshold_and_carries_its_instructions() {
        let manual = Trigger::Manual {
            instructions: Some("keep the ports".to_owned()),
        };
        let expected = words(["manual", "", "", "keep the ports"]);
        assert_eq!(
            request(manual),
            (true, CompactionTarget::Threshold, expected)
        );
    }

    #[test]
    fn other_triggers_aim_at_the_budget() {
        let budget = CompactionTarget::Budget;
        for (trigger, force, expected) in [
            (
                Trigger::Preflight(Preflight::Tokens),
                true,
                ["preflight_required", "tokens", "", ""],
            ),
            (
                Trigger::Preflight(Preflight::TranscriptBytes),
                true,
                ["preflight_required", "transcript_bytes", "", ""],
            ),
            (Trigger::Budget { force: false }, false, [""; 4]),
            (Trigger::CliBudget, true, ["", "", "cli_budget", ""]),
        ] {
            assert_eq!(request(trigger), (force, budget, words(expected)));
        }
    }
}
