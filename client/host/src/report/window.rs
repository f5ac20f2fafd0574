//! Everything that counts against the window.

use serde::{Deserialize, Serialize};

/// A part of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Messages or pieces that it consists of.
    pub count: usize,
    /// Its characters.
    pub chars: usize,
    /// Its tokens, by the tokenizer of the model.
    pub tokens: u32,
}

/// The window of a run, by kinds of what is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowShares {
    /// The model's window in tokens; 0 where nobody knows it.
    pub context_tokens: u32,
    /// All sections of the system prompt, and what the engine added to them.
    pub system_prompt: Share,
    /// Schemas of the tools.
    pub tool_schemas: Share,
    /// What the user said.
    pub user: Share,
    /// What the model said, its thinking included.
    pub assistant: Share,
    /// The calls of tools.
    pub tool_calls: Share,
    /// What the tools answered.
    pub tool_results: Share,
    /// Images and files in messages.
    pub attachments: Share,
    /// Summaries in place of earlier messages.
    pub summaries: Share,
    /// What stands in the place of pruned or shortened results.
    pub pruned: Share,
    /// Custom messages, context of the runtime, and what else is shown.
    pub other: Share,
    /// What the provider adds to a message and to a call.
    pub wrappers: Share,
}
