//! A context as items of the Responses API, with its real roles.

use std::collections::HashSet;

use contextwire_client::engine::Message;
use serde_json::{Value, json};

/// The items of a context, in order. A tool call and its result become items of that kind where
/// both are there, once each; what has lost its other half is told as text, since no model is
/// shown a call without a result. Thoughts are left out.
pub fn items<'a>(messages: impl Iterator<Item = &'a Message> + Clone) -> Vec<Value> {
    let read = |message: &Message| serde_json::from_slice::<Value>(message.payload()).ok();
    let answered: HashSet<String> = messages
        .clone()
        .filter_map(Message::tool_result_for)
        .map(str::to_owned)
        .collect();
    let mut making = Making {
        answered,
        called: HashSet::new(),
        items: Vec::new(),
    };
    for message in messages.filter_map(read) {
        making.message(&message);
    }
    making.items
}

struct Making {
    /// Calls that have a result somewhere.
    answered: HashSet<String>,
    /// Calls that wait for theirs.
    called: HashSet<String>,
    items: Vec<Value>,
}

impl Making {
    fn message(&mut self, message: &Value) {
        match text_of(message, "role") {
            "assistant" => self.assistant(message),
            "toolResult" => self.result(message),
            "system" | "developer" => self.say("developer", "input_text", &shown(message)),
            _ => self.say("user", "input_text", &shown(message)),
        }
    }

    fn assistant(&mut self, message: &Value) {
        self.say("assistant", "output_text", &shown(message));
        let content = message.get("content").and_then(Value::as_array);
        for block in content.into_iter().flatten() {
            if text_of(block, "type") != "toolCall" {
                continue;
            }
            let (id, name) = (text_of(block, "id"), text_of(block, "name"));
            if self.answered.remove(id) {
                self.called.insert(id.to_owned());
                let arguments = block.get("arguments").unwrap_or(&Value::Null).to_string();
                self.items.push(json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments,
                }));
            } else {
                let text = format!("(a call of the tool {name}, whose result is not shown)");
                self.say("assistant", "output_text", &text);
            }
        }
    }

    fn result(&mut self, message: &Value) {
        let id = text_of(message, "toolCallId");
        let text = shown(message);
        if self.called.remove(id) {
            let item = json!({ "type": "function_call_output", "call_id": id, "output": text });
            self.items.push(item);
        } else {
            let name = text_of(message, "toolName");
            let text = format!("(a result of the tool {name}, whose call is not shown)\n{text}");
            self.say("user", "input_text", &text);
        }
    }

    fn say(&mut self, role: &str, kind: &str, text: &str) {
        if !text.trim().is_empty() {
            let content = json!([{ "type": kind, "text": text }]);
            let item = json!({ "type": "message", "role": role, "content": content });
            self.items.push(item);
        }
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a message; a block of another kind is named in its place.
fn shown(message: &Value) -> String {
    let content = match message.get("content") {
        Some(Value::String(text)) => return text.clone(),
        Some(Value::Array(blocks)) => blocks,
        // A summary or a command keeps its text elsewhere.
        _ => return text_of(message, "summary").to_owned(),
    };
    let block = |block: &Value| match text_of(block, "type") {
        "text" => Some(text_of(block, "text").to_owned()),
        "thinking" | "toolCall" => None,
        other => Some(format!("({other} omitted)")),
    };
    content
        .iter()
        .filter_map(block)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(payloads: &[&str]) -> Vec<Value> {
        let messages: Vec<_> = payloads
            .iter()
            .map(|payload| Message::from_payload((*payload).to_owned()))
            .collect();
        items(messages.iter())
    }

    #[test]
    fn roles_stay_and_a_call_stands_with_its_result() {
        let made = made(&[
            r#"{"role":"user","content":"list it"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"},{"type":"toolCall","id":"c1","name":"ls","arguments":{"path":"."}}]}"#,
            r#"{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"a\nb"},{"type":"image","data":"x"}]}"#,
        ]);
        let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        let wanted = [
            message("user", "input_text", "list it"),
            message("assistant", "output_text", "yes"),
            json!({"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{\"path\":\".\"}"}),
            json!({"type": "function_call_output", "call_id": "c1", "output": "a\nb\n(image omitted)"}),
        ];
        assert_eq!(made, wanted);
    }

    #[test]
    fn what_lost_its_other_half_is_told_as_text() {
        let made = made(&[
            r#"{"role":"toolResult","toolCallId":"gone","toolName":"ls","content":"a"}"#,
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"open","name":"rm","arguments":{}}]}"#,
            r#"{"role":"user","content":""}"#,
        ]);
        let kinds: Vec<_> = made.iter().map(|item| item["type"].clone()).collect();
        assert_eq!(kinds, ["message", "message"]);
        let said = made[1]["content"][0]["text"].as_str().unwrap();
        assert!(said.contains("rm"), "{said}");
    }

    #[test]
    fn a_summary_is_a_users_message() {
        let made = made(&[
            r#"{"role":"compactionSummary","summary":"before that"}"#,
            r#"{"role":"system","content":"rules"}"#,
        ]);
        assert_eq!(made[0]["role"], "user");
        assert_eq!(made[0]["content"][0]["text"], "before that");
        assert_eq!(made[1]["role"], "developer");
    }
}
