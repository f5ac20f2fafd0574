//! Requests as people write them: one JSON object a hook.

mod plain;

use anyhow::Context;
use bytes::Bytes;
use contextwire_client::EngineRequest;
use contextwire_engine as engine;
use contextwire_engine::{CurrentTurn, EntryAnchor, Message, TokenBudget, TurnAdmission};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use plain::{
    Compact, Dispose, EndSubagent, Maintain, PrepareSubagentSpawn, ResolveSubagentSpawn,
};

/// The form of a hook.
pub(super) trait Form<'a>: Deserialize<'a> {
    /// The session's id and the request.
    fn request(self) -> (String, EngineRequest);
}

/// Reads a form; an unknown field is an error that names the known ones.
pub(super) fn read<'a, F: Form<'a>>(text: &'a str) -> anyhow::Result<(String, EngineRequest)> {
    let form: F = serde_json::from_str(text)
        .context("the request is not what this hook takes; see --help")?;
    Ok(form.request())
}

fn debug_session() -> String {
    "debug".to_owned()
}

/// Messages with the ids of their entries, where the caller names some.
fn messages(payloads: &[&RawValue], entry_ids: Vec<String>) -> Vec<Message> {
    let ids = entry_ids
        .into_iter()
        .chain(std::iter::repeat(String::new()));
    let message = |(payload, id): (&&RawValue, String)| message(payload, id);
    payloads.iter().zip(ids).map(message).collect()
}

fn message(payload: &RawValue, entry_id: String) -> Message {
    let payload = Bytes::copy_from_slice(payload.get().as_bytes());
    Message::from_payload(payload).with_entry_id(entry_id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Assemble<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    entry_ids: Vec<String>,
    token_budget: Option<u64>,
    model: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    current_turn: Turn,
}

impl<'a> Form<'a> for Assemble<'a> {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::Assemble {
            transcript: messages(&self.messages, self.entry_ids)
                .into_iter()
                .collect(),
            token_budget: self.token_budget.and_then(TokenBudget::new),
            model: self.model,
            prompt: self.prompt,
            current_turn: match self.current_turn {
                Turn::Included => CurrentTurn::Included,
                Turn::Excluded => CurrentTurn::Excluded,
            },
            ..engine::Assemble::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Turn {
    #[default]
    Included,
    Excluded,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ingest<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(default)]
    entry_id: String,
    #[serde(default)]
    is_heartbeat: bool,
}

impl<'a> Form<'a> for Ingest<'a> {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::Ingest {
            message: message(self.message, self.entry_id),
            is_heartbeat: self.is_heartbeat,
        };
        (self.session_id, request.into())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestBatch<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    entry_ids: Vec<String>,
    #[serde(default)]
    is_heartbeat: bool,
}

impl<'a> Form<'a> for IngestBatch<'a> {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::IngestBatch {
            messages: messages(&self.messages, self.entry_ids),
            is_heartbeat: self.is_heartbeat,
        };
        (self.session_id, request.into())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bootstrap<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    entry_ids: Vec<String>,
    #[serde(default)]
    background: bool,
}

impl<'a> Form<'a> for Bootstrap<'a> {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::Bootstrap {
            transcript: messages(&self.messages, self.entry_ids)
                .into_iter()
                .collect(),
            background: self.background,
            ..engine::Bootstrap::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AfterTurn<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    entry_ids: Vec<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    pre_prompt_message_count: u64,
    auto_compaction_summary: Option<String>,
    #[serde(default)]
    is_heartbeat: bool,
    token_budget: Option<u64>,
}

impl<'a> Form<'a> for AfterTurn<'a> {
    fn request(self) -> (String, EngineRequest) {
        let request = engine::AfterTurn {
            transcript: messages(&self.messages, self.entry_ids)
                .into_iter()
                .collect(),
            background: self.background,
            pre_prompt_message_count: self.pre_prompt_message_count,
            auto_compaction_summary: self.auto_compaction_summary,
            is_heartbeat: self.is_heartbeat,
            token_budget: self.token_budget.and_then(TokenBudget::new),
            ..engine::AfterTurn::default()
        };
        (self.session_id, request.into())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommitTurn<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    advancement_key: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    #[serde(default)]
    entry_ids: Vec<String>,
    #[serde(default)]
    is_heartbeat: bool,
}

impl<'a> Form<'a> for CommitTurn<'a> {
    fn request(self) -> (String, EngineRequest) {
        let messages = messages(&self.messages, self.entry_ids);
        let anchor = |message: Option<&Message>, position: usize| EntryAnchor {
            agent_id: "debug".to_owned(),
            session_id: self.session_id.clone(),
            session_key: self.session_id.clone(),
            entry_id: message.map_or_else(String::new, |m| m.entry_id().as_str().to_owned()),
            active_message_position: i64::try_from(position).unwrap_or(i64::MAX),
            ..EntryAnchor::default()
        };
        let request = engine::CommitTurn {
            admission: TurnAdmission {
                anchor: anchor(messages.first(), 0),
                logical_turn_id: self.advancement_key.clone(),
                role: "user".to_owned(),
            },
            terminal: anchor(messages.last(), messages.len().saturating_sub(1)),
            advancement_key: self.advancement_key,
            messages,
            is_heartbeat: self.is_heartbeat,
            ..engine::CommitTurn::default()
        };
        (self.session_id, request.into())
    }
}

#[cfg(test)]
mod tests;
