//! An assembled context with the view that it refers to.

use contextwire_engine::{AssembleOutcome, Message, PromptAuthority, Transcript};

/// What the model is to see.
#[derive(Clone, Debug)]
pub struct Context {
    /// The outcome as the engine, or whoever served, gave it.
    pub outcome: AssembleOutcome,
    /// The view that its ranges refer to.
    pub view: Transcript,
}

impl Context {
    /// The messages in order; kept ones are the caller's own objects. Nothing when the outcome is
    /// that a thread shows the right context already.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        let messages = match &self.outcome {
            AssembleOutcome::Messages(reply) => Some(&reply.messages),
            AssembleOutcome::Unchanged(_) => None,
        };
        messages
            .into_iter()
            .flat_map(|messages| messages.messages(&self.view))
    }

    /// Whether whoever served vouches for its size; one that does not say so does.
    pub fn prompt_authority(&self) -> PromptAuthority {
        let said = match &self.outcome {
            AssembleOutcome::Messages(reply) => reply.prompt_authority,
            AssembleOutcome::Unchanged(unchanged) => unchanged.prompt_authority,
        };
        said.unwrap_or_default()
    }

    /// The estimate in tokens of whoever served.
    pub fn estimated_tokens(&self) -> u64 {
        match &self.outcome {
            AssembleOutcome::Messages(reply) => reply.estimated_tokens,
            AssembleOutcome::Unchanged(unchanged) => unchanged.estimated_tokens,
        }
    }
}
