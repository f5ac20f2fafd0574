//! What a host of this program takes.

use clap::Args;
use contextwire_client::Target;

use crate::command::replay::CompactChoice;
use crate::config::{FailureChoice, FallbackChoice, PolicyChoice, Settings, Span, Text};

/// How an engine is called.
#[derive(Clone, Debug, Default, Args)]
pub struct HostFlags {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`, several of them with
    /// commas between (replicas of one engine), or `spawn:COMMAND` (run for this command alone).
    #[arg(long)]
    pub target: Option<Target>,
    /// Ceiling of each context in tokens, 60000 by default; 0 is none.
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<u64>,
    /// When each turn must be answered, for instance `500ms`; 5 s by default.
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Span>,
    /// The model that contexts are for; the recorded one by default.
    #[arg(long)]
    pub model: Option<String>,
    /// How failures are judged; `direct` by default.
    #[arg(long, value_enum)]
    pub policy: Option<PolicyChoice>,
    /// What happens when the engine does not answer; `substitute` by default.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on_engine_failure: Option<FailureChoice>,
    /// Who answers in the engine's place; `last-good` by default.
    #[arg(long, value_enum, value_name = "WHO")]
    pub fallback: Option<FallbackChoice>,
    /// Whether a context over the budget is compacted and asked for again: by an engine that owns
    /// compaction (the default), by any engine, or never.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub compact_over_budget: Option<CompactChoice>,
}

impl HostFlags {
    /// Puts what is given over the other layers.
    pub fn over(&self, settings: &mut Settings) {
        let target = self.target.clone().map(Text);
        settings.flag("host.target", "--target", target.as_ref(), |o| {
            &mut o.host.target
        });
        settings.flag("host.budget", "--budget", self.budget.as_ref(), |o| {
            &mut o.host.budget
        });
        let deadline = self.deadline.map(Text);
        settings.flag("host.deadline", "--deadline", deadline.as_ref(), |o| {
            &mut o.host.deadline
        });
        settings.flag("host.model", "--model", self.model.as_ref(), |o| {
            &mut o.host.model
        });
        settings.flag("host.policy", "--policy", self.policy.as_ref(), |o| {
            &mut o.host.policy
        });
        let on_failure = ("host.on_engine_failure", "--on-engine-failure");
        let failure = self.on_engine_failure.as_ref();
        settings.flag(on_failure.0, on_failure.1, failure, |o| {
            &mut o.host.on_engine_failure
        });
        settings.flag("host.fallback", "--fallback", self.fallback.as_ref(), |o| {
            &mut o.host.fallback
        });
        let compact = ("host.compact_over_budget", "--compact-over-budget");
        let choice = self.compact_over_budget.as_ref();
        settings.flag(compact.0, compact.1, choice, |o| {
            &mut o.host.compact_over_budget
        });
    }
}
