//! The lines of a connection, read and written.

use serde::Deserialize;
use serde_json::Value;

/// Something that the app-server tells without being asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// What it is about.
    pub method: String,
    /// The facts.
    pub params: Value,
}

/// What came.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Answer {
        id: u64,
        outcome: Result<Value, Refusal>,
    },
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification(Notification),
}

/// A failure as the other side puts it.
#[derive(Debug, Deserialize, PartialEq)]
pub(super) struct Refusal {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Line {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Refusal>,
}

/// A line, or nothing where it is none of ours: something that a wrapper printed, an id that we
/// never gave.
pub(super) fn incoming(line: &str) -> Option<Incoming> {
    let Line {
        id,
        method,
        params,
        result,
        error,
    } = serde_json::from_str(line).ok()?;
    match (id, method) {
        (Some(id), Some(method)) => Some(Incoming::Request { id, method, params }),
        (None, Some(method)) => Some(Incoming::Notification(Notification { method, params })),
        (Some(id), None) => Some(Incoming::Answer {
            id: id.as_u64()?,
            outcome: error.map_or(Ok(result), Err),
        }),
        (None, None) => None,
    }
}

/// Lines that go out, each with its line feed.
pub(super) mod outgoing {
    use serde::Serialize;
    use serde_json::{Value, json};

    #[derive(Serialize)]
    struct Request<'a, P> {
        id: u64,
        method: &'a str,
        params: P,
    }

    pub(in super::super) fn request(
        id: u64,
        method: &str,
        params: impl Serialize,
    ) -> serde_json::Result<String> {
        let mut line = serde_json::to_string(&Request { id, method, params })?;
        line.push('\n');
        Ok(line)
    }

    pub(in super::super) fn notification(method: &str) -> String {
        format!("{}\n", json!({ "method": method }))
    }

    pub(in super::super) fn answer(id: &Value, outcome: Result<Value, (i64, String)>) -> String {
        let line = match outcome {
            Ok(result) => json!({ "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "id": id, "error": { "code": code, "message": message } })
            }
        };
        format!("{line}\n")
    }
}
