//! Assemble: what the model sees (HOST-SEMANTICS 2, PROTOCOL 3 and 10).

use std::collections::BTreeSet;

use crate::budget::TokenBudget;
use crate::context::RuntimeContext;
use crate::segment::Assembled;
use crate::settings::RuntimeSettings;
use crate::tokens::{self, ModelFamily};
use crate::transcript::Transcript;

/// Whether the view holds the turn that is about to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CurrentTurn {
    /// The host appends the current prompt itself.
    #[default]
    Excluded,
    /// The newest user message of the view is the current prompt.
    Included,
}

/// Where in a turn the host asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Site {
    /// Before the prompt of a turn.
    #[default]
    BeforePrompt,
    /// Between tool rounds.
    ToolLoop,
    /// A background upload: apply the list, assemble nothing (R3.4).
    Sync,
}

/// What a backend thread already shows (R10.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProjection {
    /// Epoch of the projection in the thread.
    pub epoch: String,
    /// Its fingerprint, where the engine gave one.
    pub fingerprint: Option<String>,
}

/// Asks what the model is to see of the view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assemble {
    /// The host's view of the runtime.
    pub runtime_settings: Option<RuntimeSettings>,
    /// Facts of this operation.
    pub runtime_context: Option<RuntimeContext>,
    /// The view: what the host would send now. Answered, never stored (R3.1).
    pub transcript: Transcript,
    /// Whether the view holds the current turn.
    pub current_turn: CurrentTurn,
    /// Ceiling in tokens for the result; absent where the host knows none.
    pub token_budget: Option<TokenBudget>,
    /// Names of the tools that the model may call; absent where the host did not say.
    pub available_tools: Option<BTreeSet<String>>,
    /// How the host wants citations.
    pub citations_mode: Option<String>,
    /// The model that will read the result.
    pub model: Option<String>,
    /// The current prompt; absent and empty differ.
    pub prompt: Option<String>,
    /// Sections that the host's memory plugin prepared for this run.
    pub memory_prompt: Option<String>,
    /// Where in the turn.
    pub site: Site,
    /// What the backend thread shows.
    pub known_projection: Option<KnownProjection>,
}

/// Whether the assembled list may be trusted to fit (HOST-SEMANTICS 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptAuthority {
    /// The engine's estimate decides.
    #[default]
    Assembled,
    /// The host checks against its own list as well.
    PreassemblyMayOverflow,
}

/// How a persistent backend thread gets the context (PROTOCOL 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectionMode {
    /// With every turn.
    #[default]
    PerTurn,
    /// Once for an epoch.
    ThreadBootstrap,
}

/// Identity of what was injected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextProjection {
    /// How the thread gets it.
    pub mode: ProjectionMode,
    /// Digest of the summaries and pins in force; absent or blank means per turn.
    pub epoch: Option<String>,
    /// Digest of their content.
    pub fingerprint: Option<String>,
}

/// The thread shows the right context already (R10.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unchanged {
    /// Tokens of what the thread shows.
    pub estimated_tokens: u64,
    /// Whether the host must check for overflow.
    pub prompt_authority: Option<PromptAuthority>,
    /// Text for the system prompt of this turn.
    pub system_prompt_addition: Option<String>,
}

/// A new context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssembleReply {
    /// Ranges over the request's transcript plus inserts.
    pub messages: Assembled,
    /// The engine's honest estimate of the result, in tokens.
    pub estimated_tokens: u64,
    /// Whether the host must check for overflow; absent means [`PromptAuthority::Assembled`].
    pub prompt_authority: Option<PromptAuthority>,
    /// Text for the system prompt of this turn.
    pub system_prompt_addition: Option<String>,
    /// For persistent backend threads.
    pub context_projection: Option<ContextProjection>,
    /// Why each segment is there; empty, or one text a segment.
    pub reasons: Vec<String>,
}

/// The answer to [`Assemble`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssembleOutcome {
    /// A context.
    Messages(AssembleReply),
    /// Nothing to send again.
    Unchanged(Unchanged),
}

impl From<AssembleReply> for AssembleOutcome {
    fn from(reply: AssembleReply) -> Self {
        Self::Messages(reply)
    }
}

impl Assemble {
    /// A context with its estimate, counted for the model that will read it.
    ///
    /// The shortest way for an engine to answer; the estimate is cached per message, so only new
    /// messages cost time. An estimate above the request's token budget says so by its authority:
    /// a host would take it for a list that fits otherwise.
    pub fn reply(&self, messages: Assembled) -> AssembleOutcome {
        let family = ModelFamily::of_model(self.model.as_deref());
        let estimate = |message| u64::from(tokens::estimate_message(family, message));
        let estimated_tokens = messages.messages(&self.transcript).map(estimate).sum();
        let is_over = self
            .token_budget
            .is_some_and(|budget| estimated_tokens > budget.get());
        AssembleOutcome::Messages(AssembleReply {
            estimated_tokens,
            messages,
            prompt_authority: is_over.then_some(PromptAuthority::PreassemblyMayOverflow),
            ..AssembleReply::default()
        })
    }
}
