//! An app-server that is this test binary once more: it keeps what each thread was told in files, and
//! answers every prompt. The real one is in `tests/hosts/codex`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use contextwire_codex::Program;
use serde_json::{Value, json};
use tempfile::TempDir;

const CHILD: &str = "codex::app_server::child_that_speaks_as_the_app_server";
const FOLDER: &str = "codex-folder=";
/// Holds the method that it dies in, once, after it did it and before it says so.
const DIES_IN: &str = "dies-in";

/// The app-server's folder, as a test looks into it.
#[derive(Debug)]
pub(crate) struct AppServer(TempDir);

impl AppServer {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn program(&self) -> Program {
        let folder = format!("{FOLDER}{}", self.0.path().display());
        let fixed = [CHILD, "--exact", "--nocapture"].map(str::to_owned);
        Program {
            path: std::env::current_exe().unwrap(),
            args: fixed.into_iter().chain([folder]).collect(),
            ..Program::default()
        }
    }

    /// The next request of this kind is done and never answered.
    pub(crate) fn die_in(&self, method: &str) {
        fs::write(self.0.path().join(DIES_IN), method).unwrap();
    }

    /// The thread is gone.
    pub(crate) fn lose(&self, thread: &str) {
        fs::remove_file(self.0.path().join(thread)).unwrap();
    }

    /// The texts of a thread in order.
    pub(crate) fn texts(&self, thread: &str) -> Vec<String> {
        let lines = fs::read_to_string(self.0.path().join(thread)).unwrap();
        lines.lines().map(str::to_owned).collect()
    }
}

struct Speaking {
    folder: PathBuf,
}

impl Speaking {
    /// What is asked, done; gives the answer, and what is told after it.
    fn act(&self, method: &str, params: &Value) -> (Result<Value, String>, Vec<Value>) {
        let id = params["threadId"].as_str().unwrap_or_default();
        let path = self.folder.join(id);
        let thread = |id: &str| Ok(json!({ "thread": { "id": id, "model": "m" } }));
        match method {
            "initialize" => (Ok(json!({ "userAgent": "fake" })), Vec::new()),
            "thread/start" => {
                let name = format!("thread-{}", fs::read_dir(&self.folder).unwrap().count());
                fs::write(self.folder.join(&name), "").unwrap();
                (thread(&name), Vec::new())
            }
            "thread/resume" if path.exists() => (thread(id), Vec::new()),
            "thread/inject_items" => {
                for item in params["items"].as_array().unwrap() {
                    append(&path, item["content"][0]["text"].as_str().unwrap());
                }
                (Ok(json!({})), Vec::new())
            }
            "turn/start" => {
                append(&path, params["input"][0]["text"].as_str().unwrap());
                append(&path, "answer");
                let turn = json!({ "id": "t", "status": "inProgress" });
                (Ok(json!({ "turn": turn })), told(id))
            }
            _ => (Err("it is not there".to_owned()), Vec::new()),
        }
    }
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{text}").unwrap();
}

fn told(id: &str) -> Vec<Value> {
    let item =
        |item| json!({ "method": "item/completed", "params": { "threadId": id, "item": item } });
    let done = json!({ "threadId": id, "turn": { "id": "t", "status": "completed" } });
    vec![
        item(json!({ "type": "userMessage", "id": "u" })),
        json!({ "method": "thread/later", "params": { "of": "another version" } }),
        item(json!({ "type": "agentMessage", "id": "a", "text": "answer" })),
        json!({ "method": "turn/completed", "params": done }),
    ]
}

#[test]
fn child_that_speaks_as_the_app_server() {
    let folder = std::env::args().find_map(|argument| {
        let folder = argument.strip_prefix(FOLDER)?;
        Some(PathBuf::from(folder))
    });
    let Some(folder) = folder else {
        return;
    };
    let dies_in = folder.join(DIES_IN);
    let speaking = Speaking { folder };
    // The test's own name is on the line that it begins in.
    println!();
    for line in std::io::stdin().lines() {
        let asked: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let method = asked["method"].as_str().unwrap_or_default();
        if asked["id"].is_null() {
            continue;
        }
        let (outcome, told) = speaking.act(method, &asked["params"]);
        if fs::read_to_string(&dies_in).is_ok_and(|dies_in| dies_in == method) {
            fs::remove_file(&dies_in).unwrap();
            return;
        }
        let answer = match outcome {
            Ok(result) => json!({ "id": asked["id"], "result": result }),
            Err(message) => {
                json!({ "id": asked["id"], "error": { "code": -32600, "message": message } })
            }
        };
        println!("{answer}");
        for told in told {
            println!("{told}");
        }
    }
}
