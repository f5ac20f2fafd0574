//! The lines of a session file as values; the order of the fields is the order in the file.

use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

#[derive(Serialize)]
pub(super) struct HeaderLine<'a> {
    pub(super) r#type: &'a str,
    pub(super) version: u32,
    pub(super) id: &'a str,
    pub(super) timestamp: &'a str,
    pub(super) cwd: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntryLine<'a> {
    pub(super) r#type: &'a str,
    pub(super) id: &'a str,
    pub(super) parent_id: Option<&'a str>,
    pub(super) timestamp: &'a str,
    #[serde(flatten)]
    pub(super) body: &'a Body,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum Body {
    Message {
        message: Message,
    },
    ModelChange {
        provider: &'static str,
        model_id: &'static str,
    },
    ThinkingLevel {
        thinking_level: &'static str,
    },
    SessionInfo {
        name: &'static str,
    },
    Custom {
        custom_type: &'static str,
        data: Checkpoint,
    },
    CustomMessage {
        custom_type: &'static str,
        content: String,
        display: bool,
    },
    BranchSummary {
        from_id: String,
        summary: String,
    },
    Compaction {
        summary: String,
        first_kept_entry_id: String,
        tokens_before: u64,
    },
    Label {
        target_id: String,
        label: &'static str,
    },
}

impl Body {
    pub(super) fn entry_type(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::ModelChange { .. } => "model_change",
            Self::ThinkingLevel { .. } => "thinking_level_change",
            Self::SessionInfo { .. } => "session_info",
            Self::Custom { .. } => "custom",
            Self::CustomMessage { .. } => "custom_message",
            Self::BranchSummary { .. } => "branch_summary",
            Self::Compaction { .. } => "compaction",
            Self::Label { .. } => "label",
        }
    }
}

#[derive(Serialize)]
pub(super) struct Checkpoint {
    pub(super) commit: String,
    pub(super) dirty: bool,
}

#[derive(Serialize)]
#[serde(
    tag = "role",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Message {
    User {
        content: Vec<Block>,
        timestamp: u64,
    },
    Assistant {
        content: Vec<Block>,
        api: &'static str,
        provider: &'static str,
        model: &'static str,
        usage: Usage,
        stop_reason: &'static str,
        timestamp: u64,
    },
    ToolResult {
        tool_call_id: String,
        tool_name: &'static str,
        content: Vec<Block>,
        is_error: bool,
        timestamp: u64,
    },
    BashExecution {
        command: &'static str,
        output: String,
        exit_code: u32,
        cancelled: bool,
        truncated: bool,
        timestamp: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        exclude_from_context: Option<bool>,
    },
}

#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        thinking_signature: String,
    },
    ToolCall {
        id: String,
        name: &'static str,
        arguments: Arguments,
    },
}

/// What a tool is called with.
#[derive(Clone, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum Arguments {
    Read {
        path: &'static str,
    },
    Grep {
        pattern: &'static str,
        path: &'static str,
    },
    Bash {
        command: String,
    },
    Edit {
        path: &'static str,
        old_text: String,
        new_text: String,
    },
    Write {
        path: &'static str,
        content: String,
    },
}

impl Arguments {
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Grep { .. } => "grep",
            Self::Bash { .. } => "bash",
            Self::Edit { .. } => "edit",
            Self::Write { .. } => "write",
        }
    }
}

/// What the provider counted, in tokens.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) total_tokens: u64,
}

pub(super) fn text(text: impl Into<String>) -> Vec<Block> {
    vec![Block::Text { text: text.into() }]
}

/// `2026-03-02T09:00:00.000Z`
pub(super) fn iso(millis: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}
