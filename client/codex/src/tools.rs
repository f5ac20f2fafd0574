//! Tools of the host that the model may call: each is a command.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// How long a tool may take.
const LIMIT: Duration = Duration::from_mins(2);
/// How much of what it prints is given to the model, in bytes.
const MAX_OUTPUT_BYTES: u64 = 256 << 10;

/// A tool: what the model is told of it, and what runs when the model calls it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tool {
    /// Its name, unique among the tools.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// Program and arguments. The call's arguments come on its standard input, as JSON; its
    /// standard output is the answer, and another exit status than 0 a failure.
    pub command: Vec<String>,
}

/// The tools of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tools(Vec<Tool>);

impl Tools {
    /// These tools, in the order of their names.
    pub fn new(mut tools: Vec<Tool>) -> Self {
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        Self(tools)
    }

    /// Their names.
    pub fn names(&self) -> BTreeSet<String> {
        self.0.iter().map(|tool| tool.name.clone()).collect()
    }

    /// As a thread is told of them; the same set gives the same value.
    pub fn specs(&self) -> Vec<Value> {
        let spec = |tool: &Tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            })
        };
        self.0.iter().map(spec).collect()
    }

    /// Runs what the model calls; a failure is an answer as well.
    pub(crate) async fn call(&self, params: &Value) -> Value {
        let name = params
            .get("tool")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let outcome = match self.0.iter().find(|tool| tool.name == name) {
            None => Err(format!("there is no tool `{name}`")),
            Some(tool) => {
                let arguments = params.get("arguments").unwrap_or(&Value::Null);
                match tokio::time::timeout(LIMIT, run(&tool.command, arguments)).await {
                    Ok(Ok(answer)) => answer,
                    Ok(Err(error)) => Err(format!("`{name}` did not run: {error}")),
                    Err(_) => Err(format!("`{name}` took more than {} s", LIMIT.as_secs())),
                }
            }
        };
        let success = outcome.is_ok();
        let text = outcome.unwrap_or_else(|problem| problem);
        json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": success })
    }
}

async fn run(command: &[String], arguments: &Value) -> std::io::Result<Result<String, String>> {
    let (program, args) = command
        .split_first()
        .ok_or_else(|| std::io::Error::other("its command is empty"))?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let arguments = arguments.to_string();
    let write = async move {
        // A tool that needs no arguments need not read them.
        if let Some(mut input) = input {
            let _unread = input.write_all(arguments.as_bytes()).await.is_err();
        }
    };
    let read = async move {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output
                .take(MAX_OUTPUT_BYTES)
                .read_to_end(&mut bytes)
                .await?;
        }
        std::io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let ((), text) = tokio::join!(write, read);
    let (text, status) = (text?, child.wait().await?);
    Ok(if status.success() {
        Ok(text)
    } else {
        Err(text)
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        let tool = |name: &str, script: &str| Tool {
            name: name.to_owned(),
            description: format!("runs {name}"),
            input_schema: json!({"type": "object"}),
            command: ["sh", "-c", script].map(str::to_owned).into(),
        };
        Tools::new(vec![
            tool("fails", "echo no; exit 3"),
            tool("echo", "cat"),
            tool("deaf", "echo heard nothing"),
        ])
    }

    async fn call(name: &str) -> (bool, String) {
        let params = json!({"tool": name, "arguments": {"a": [1, 2]}});
        let answer = tools().call(&params).await;
        let text = answer["contentItems"][0]["text"].as_str().unwrap();
        (answer["success"].as_bool().unwrap(), text.to_owned())
    }

    #[tokio::test]
    async fn a_tool_is_a_command_that_reads_its_arguments_and_prints_its_answer() {
        assert_eq!(call("echo").await, (true, r#"{"a":[1,2]}"#.to_owned()));
        assert_eq!(call("deaf").await, (true, "heard nothing\n".to_owned()));
        assert_eq!(call("fails").await, (false, "no\n".to_owned()));
        let (well, text) = call("nobody").await;
        assert!(!well && text.contains("no tool"), "{text}");
    }

    #[test]
    fn tools_are_told_in_the_order_of_their_names_and_without_their_commands() {
        let specs = tools().specs();
        let names: Vec<_> = specs.iter().map(|spec| spec["name"].clone()).collect();
        assert_eq!(names, ["deaf", "echo", "fails"]);
        assert!(specs.iter().all(|spec| spec.get("command").is_none()));
    }
}
