//! The part of the app-server's protocol that a host needs (Codex 0.171). Members that are not
//! named here are not read, so that other versions do no harm.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rpc::Notification;

/// What is asked at first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    pub(crate) client_info: ClientInfo,
    pub(crate) capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
pub(crate) struct ClientInfo {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities {
    /// Injected items and tools of the host are experimental.
    pub(crate) experimental_api: bool,
    pub(crate) request_attestation: bool,
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    /// The program and its version.
    #[serde(default)]
    pub user_agent: String,
}

/// In which a thread runs in this process: given when it begins and when it is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunTerms {
    /// Where tools work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The model; absent: Codex's own configuration decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `untrusted`, `on-request` or `never`; absent: Codex's own configuration decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<String>,
    /// `read-only`, `workspace-write` or `danger-full-access`; likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// A thread that is to begin.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStart {
    /// How it runs.
    #[serde(flatten)]
    pub terms: RunTerms,
    /// What stands before everything for as long as the thread lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Tools of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dynamic_tools: Vec<Value>,
    /// Whether it is gone with the process.
    pub ephemeral: bool,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id.
    pub id: String,
    /// Its rollout, once there is one.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// The model that answers in it, where Codex says so.
    #[serde(default)]
    pub model: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ThreadAnswer {
    pub(crate) thread: Thread,
}

/// Says which thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfThread<'a> {
    pub(crate) thread_id: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadResume<'a> {
    pub(crate) thread_id: &'a str,
    #[serde(flatten)]
    pub(crate) terms: &'a RunTerms,
    pub(crate) exclude_turns: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InjectItems<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) items: &'a [Value],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnStart<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) input: [Input<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) additional_context: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Input<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: &'a str,
    pub(crate) text_elements: [(); 0],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnInterrupt<'a> {
    pub(crate) thread_id: &'a str,
    pub(crate) turn_id: &'a str,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TurnAnswer {
    pub(crate) turn: Turn,
}

/// A turn of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// `inProgress`, `completed`, `interrupted` or `failed`.
    #[serde(default)]
    pub status: String,
    /// Why it failed.
    #[serde(default)]
    pub error: Option<TurnProblem>,
}

/// Why a turn failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TurnProblem {
    /// In words.
    #[serde(default)]
    pub message: String,
}

/// Tokens of one request to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct Tokens {
    /// What the model read.
    #[serde(default)]
    pub input_tokens: u64,
    /// What of it the provider had cached.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// What it wrote.
    #[serde(default)]
    pub output_tokens: u64,
    /// All of it.
    #[serde(default)]
    pub total_tokens: u64,
}

/// Something that happened in a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An item is complete: a message, a command, a call of a tool.
    Item {
        /// Of which thread.
        thread_id: String,
        /// The item as the app-server describes it.
        item: Value,
    },
    /// The model was asked.
    Tokens {
        /// Of which thread.
        thread_id: String,
        /// What the last request cost.
        last: Tokens,
        /// The model's window, where it is known.
        window: Option<u64>,
    },
    /// Codex compacted the thread by itself: what was injected may be gone.
    Compacted {
        /// Which thread.
        thread_id: String,
    },
    /// A turn is over.
    Done {
        /// Of which thread.
        thread_id: String,
        /// The turn.
        turn: Turn,
    },
    /// Something worth telling a person.
    Warning(String),
}

const FOLLOWED: [&str; 6] = [
    "item/completed",
    "thread/tokenUsage/updated",
    "thread/compacted",
    "turn/completed",
    "warning",
    "error",
];

pub(crate) fn is_followed(method: &str) -> bool {
    FOLLOWED.contains(&method)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    #[serde(default)]
    thread_id: String,
    #[serde(default)]
    item: Value,
    #[serde(default)]
    token_usage: Usage,
    #[serde(default)]
    turn: Turn,
    #[serde(default)]
    message: String,
    #[serde(default)]
    error: TurnProblem,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default)]
    last: Tokens,
    #[serde(default)]
    model_context_window: Option<u64>,
}

impl Event {
    /// What a notification means; nothing where it means nothing here, or is of another shape.
    pub fn of(told: &Notification) -> Option<Self> {
        let Params {
            thread_id,
            item,
            token_usage,
            turn,
            message,
            error,
        } = Params::deserialize(&told.params).ok()?;
        let is_compaction =
            || item.get("type").and_then(Value::as_str) == Some("contextCompaction");
        match told.method.as_str() {
            "item/completed" if is_compaction() => Some(Self::Compacted { thread_id }),
            "item/completed" => Some(Self::Item { thread_id, item }),
            "thread/tokenUsage/updated" => Some(Self::Tokens {
                thread_id,
                last: token_usage.last,
                window: token_usage.model_context_window,
            }),
            "thread/compacted" => Some(Self::Compacted { thread_id }),
            "turn/completed" => Some(Self::Done { thread_id, turn }),
            "warning" => Some(Self::Warning(message)),
            "error" => Some(Self::Warning(error.message)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(method: &str, params: Value) -> Option<Event> {
        let method = method.to_owned();
        Event::of(&Notification { method, params })
    }

    #[test]
    fn a_compaction_is_told_by_an_item_and_by_a_notification() {
        let thread_id = "t".to_owned();
        let compacted = Some(Event::Compacted { thread_id });
        let item = json!({"threadId": "t", "item": {"type": "contextCompaction", "id": "c"}});
        assert_eq!(event("item/completed", item), compacted);
        let params = json!({"threadId": "t", "turnId": "u"});
        assert_eq!(event("thread/compacted", params), compacted);
    }

    #[test]
    fn what_other_versions_say_besides_does_no_harm() {
        let params = json!({"threadId": "t", "later": 1, "tokenUsage": {
            "last": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9, "later": true},
            "modelContextWindow": null}});
        let last = Tokens {
            input_tokens: 7,
            cached_input_tokens: 0,
            output_tokens: 2,
            total_tokens: 9,
        };
        let thread_id = "t".to_owned();
        let tokens = Event::Tokens {
            thread_id,
            last,
            window: None,
        };
        assert_eq!(event("thread/tokenUsage/updated", params), Some(tokens));
        assert_eq!(event("turn/completed", json!({"turn": 7})), None);
        assert_eq!(event("thread/later", json!({})), None);
    }

    #[test]
    fn a_thread_is_started_with_what_is_set_and_nothing_else() {
        let start = ThreadStart {
            developer_instructions: Some("be brief".to_owned()),
            ..ThreadStart::default()
        };
        let wanted = json!({"developerInstructions": "be brief", "ephemeral": false});
        assert_eq!(serde_json::to_value(start).unwrap(), wanted);
    }
}
