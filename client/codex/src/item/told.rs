//! What happened in a thread, as messages of the session's log.

use serde_json::{Value, json};

/// Output of a command that the log keeps, in bytes; the rest is cut out of its middle.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// The messages that an item of a turn comes to: an answer, or a call with its result. Nothing for
/// what is no part of the conversation, and for the user's own message, which the host stored before
/// the turn. `model` is who answered; `now_ms` stands in where the item has no time.
pub fn messages(item: &Value, model: &str, now_ms: i64) -> Vec<Value> {
    let time = item.get("completedAtMs").and_then(Value::as_i64);
    let telling = Telling {
        item,
        model,
        time: time.unwrap_or(now_ms),
    };
    match telling.text("type") {
        "agentMessage" => telling.answer(),
        "commandExecution" => {
            let arguments = json!({ "cmd": telling.text("command"), "workdir": item["cwd"] });
            let failed = telling.text("status") != "completed"
                || item["exitCode"].as_i64().is_some_and(|code| code != 0);
            telling.call(
                "exec_command",
                &arguments,
                telling.text("aggregatedOutput"),
                failed,
            )
        }
        "fileChange" => {
            let status = telling.text("status");
            let arguments = json!({ "changes": item["changes"] });
            telling.call("apply_patch", &arguments, status, status != "completed")
        }
        "mcpToolCall" => {
            let name = format!("{}.{}", telling.text("server"), telling.text("tool"));
            let text = |field: &str, key: &str| item.get(field).and_then(|value| value.get(key));
            let (result, error) = (text("result", "content"), text("error", "message"));
            let said = error.and_then(Value::as_str).map(str::to_owned);
            let said = said.unwrap_or_else(|| blocks(result.unwrap_or(&Value::Null)));
            telling.call(&name, &item["arguments"], &said, error.is_some())
        }
        "dynamicToolCall" => {
            let failed = item["success"] != true;
            let said = blocks(&item["contentItems"]);
            telling.call(telling.text("tool"), &item["arguments"], &said, failed)
        }
        "webSearch" => {
            let arguments = json!({ "query": item["query"] });
            telling.call("web_search", &arguments, "done", false)
        }
        _ => Vec::new(),
    }
}

struct Telling<'a> {
    item: &'a Value,
    model: &'a str,
    time: i64,
}

impl<'a> Telling<'a> {
    fn text(&self, key: &str) -> &'a str {
        self.item
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn assistant(&self, block: &Value, stop: &str) -> Value {
        json!({
            "role": "assistant", "content": [block], "provider": "codex", "model": self.model,
            "stopReason": stop, "timestamp": self.time,
        })
    }

    fn answer(&self) -> Vec<Value> {
        let text = self.text("text");
        if text.is_empty() {
            return Vec::new();
        }
        vec![self.assistant(&json!({ "type": "text", "text": text }), "stop")]
    }

    fn call(&self, name: &str, arguments: &Value, output: &str, failed: bool) -> Vec<Value> {
        let id = self.text("id");
        let call = json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments });
        let output = json!([{ "type": "text", "text": shortened(output) }]);
        let result = json!({
            "role": "toolResult", "toolCallId": id, "toolName": name, "content": output,
            "isError": failed, "timestamp": self.time,
        });
        vec![self.assistant(&call, "toolUse"), result]
    }
}

fn blocks(content: &Value) -> String {
    let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(text).collect::<Vec<_>>().join("\n")
}

/// Head and tail of an output that is too long.
fn shortened(output: &str) -> String {
    if output.len() <= MAX_OUTPUT_BYTES {
        return output.to_owned();
    }
    let half = MAX_OUTPUT_BYTES / 2;
    let head = output.floor_char_boundary(half);
    let tail = output.ceil_char_boundary(output.len() - half);
    let (head_text, tail_text) = (output.get(..head), output.get(tail..));
    format!(
        "{}\n({} bytes omitted)\n{}",
        head_text.unwrap_or_default(),
        tail - head,
        tail_text.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_call_and_its_result() {
        let item = json!({"type": "commandExecution", "id": "c1", "command": "ls", "cwd": "/w",
            "status": "completed", "aggregatedOutput": "a\n", "exitCode": 0, "completedAtMs": 7});
        let [call, result] = &*messages(&item, "m", 1) else {
            panic!("two messages")
        };
        let arguments = json!({"cmd": "ls", "workdir": "/w"});
        let block = json!({"type": "toolCall", "id": "c1", "name": "exec_command",
            "arguments": arguments});
        assert_eq!(call["content"], json!([block]));
        assert_eq!(
            (&call["model"], &call["timestamp"]),
            (&json!("m"), &json!(7))
        );
        assert_eq!(result["toolCallId"], "c1");
        assert_eq!(result["isError"], false);
        assert_eq!(result["content"][0]["text"], "a\n");
    }

    #[test]
    fn what_failed_says_so_and_what_is_no_part_of_the_conversation_is_not_told() {
        let failed = json!({"type": "mcpToolCall", "id": "c", "server": "s", "tool": "t",
            "arguments": {}, "error": {"message": "no"}, "result": null});
        let told = messages(&failed, "m", 1);
        assert_eq!(told[0]["content"][0]["name"], "s.t");
        assert_eq!(
            (&told[1]["isError"], &told[1]["timestamp"]),
            (&json!(true), &json!(1))
        );
        for kind in ["userMessage", "reasoning", "contextCompaction", "later"] {
            assert!(messages(&json!({ "type": kind, "id": "x" }), "m", 1).is_empty());
        }
    }

    #[test]
    fn a_long_output_keeps_head_and_tail_between_characters() {
        let long = "é".repeat(MAX_OUTPUT_BYTES);
        let short = shortened(&long);
        assert!(short.len() < MAX_OUTPUT_BYTES + 100);
        assert!(short.starts_with('é') && short.ends_with('é'));
        assert!(short.contains("bytes omitted"));
    }
}
