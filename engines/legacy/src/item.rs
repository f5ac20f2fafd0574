//! A message as a compaction sees it: its part in the conversation and its weight.

use contextwire_engine::Message;
use contextwire_engine::tokens::{ModelFamily, estimate_message};

use crate::body::Body;
use crate::usage::Usage;

/// The part that a message plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    /// Answers a tool call.
    Result,
    /// A command that the user ran.
    Shell,
    /// A message of an extension.
    Custom,
    BranchSummary,
    CompactionSummary,
    /// Facts of a run, or a role that nobody here knows.
    Aside,
}

impl Role {
    pub(crate) fn of(message: &Message, body: &Body) -> Self {
        match message.role() {
            "toolResult" => Self::Result,
            _ if message.tool_result_for().is_some() => Self::Result,
            "user" | "custom" if body.is_carrier => Self::Aside,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "bashExecution" => Self::Shell,
            "custom" => Self::Custom,
            "branchSummary" => Self::BranchSummary,
            "compactionSummary" => Self::CompactionSummary,
            _ => Self::Aside,
        }
    }

    /// Whether what stays verbatim may begin here.
    pub(crate) fn may_be_first(self) -> bool {
        match self {
            Self::User
            | Self::Assistant
            | Self::Shell
            | Self::Custom
            | Self::BranchSummary
            | Self::CompactionSummary => true,
            Self::Result | Self::Aside => false,
        }
    }

    /// Whether a turn begins here.
    pub(crate) fn begins_turn(self) -> bool {
        match self {
            Self::User
            | Self::Shell
            | Self::Custom
            | Self::BranchSummary
            | Self::CompactionSummary => true,
            Self::Assistant | Self::Result | Self::Aside => false,
        }
    }
}

/// A message of the conversation that is compacted.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) message: Message,
    pub(crate) role: Role,
    /// Its share of a prompt; 0 where no model sees it.
    pub(crate) tokens: u64,
    pub(crate) usage: Usage,
    /// Whether the model's answer broke off.
    pub(crate) is_broken_off: bool,
    pub(crate) is_excluded: bool,
}

impl Item {
    pub(crate) fn of(message: &Message, family: ModelFamily) -> Self {
        Self {
            tokens: u64::from(estimate_message(family, message)),
            ..Self::unweighed(message)
        }
    }

    /// The same where nobody asks for its weight.
    pub(crate) fn unweighed(message: &Message) -> Self {
        let body = Body::of(message.payload());
        Self {
            role: Role::of(message, &body),
            tokens: 0,
            usage: body.usage,
            is_broken_off: body.is_broken_off(),
            is_excluded: body.is_excluded,
            message: message.clone(),
        }
    }

    /// What the message says. Read again where it is needed: a long conversation is held once.
    pub(crate) fn body(&self) -> Body {
        Body::of(self.message.payload())
    }
}
