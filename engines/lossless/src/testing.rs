//! Payloads of a host, for tests.

pub(crate) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

pub(crate) fn answer(text: &str) -> String {
    format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#)
}

pub(crate) fn call(ids: &[&str]) -> String {
    let calls: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"toolCall","id":"{id}","name":"read","arguments":{{"path":"src/{id}"}}}}"#))
        .collect();
    format!(r#"{{"role":"assistant","content":[{}]}}"#, calls.join(","))
}

pub(crate) fn result(id: &str, text: &str) -> String {
    format!(
        r#"{{"role":"toolResult","toolCallId":"{id}","content":[{{"type":"text","text":"{text}"}}]}}"#
    )
}

/// A text of about so many tokens.
pub(crate) fn words(tokens: usize) -> String {
    "word ".repeat(tokens)
}
