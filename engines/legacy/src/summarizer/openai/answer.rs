//! What an endpoint says: a text, or why there is none.

use std::time::Duration;

use serde::Deserialize;

use super::http::HttpAnswer;
use crate::summarizer::{Flaw, SummarizeError, SummaryText};

/// Longest code of an error that is passed on.
const CODE_CHARS: usize = 64;
/// How endpoints say that a prompt is too long; none of them in the same words.
const TOO_LONG: [&str; 8] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "too many tokens",
    "token limit",
];

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    model: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    message: Said,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Said {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    tool_calls: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Default, Deserialize)]
struct Failure {
    #[serde(default)]
    error: Option<Failed>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Failed {
    Told {
        #[serde(default)]
        code: Option<serde_json::Value>,
        #[serde(default, rename = "type")]
        kind: Option<String>,
    },
    Other(serde::de::IgnoredAny),
}

/// The text of an answer, or what its status means.
pub(super) fn read(answer: &HttpAnswer) -> Result<SummaryText, SummarizeError> {
    match answer.status {
        200..300 => completion(&answer.body),
        status => Err(refused(status, &answer.text(), answer.retry_after)),
    }
}

fn completion(body: &[u8]) -> Result<SummaryText, SummarizeError> {
    let Ok(Completion { choices, model }) = serde_json::from_slice(body) else {
        return Err(SummarizeError::Unreadable(
            "it is not the JSON of a completion",
        ));
    };
    let Some(Choice {
        message,
        finish_reason,
    }) = choices.into_iter().next()
    else {
        return Err(SummarizeError::Unreadable("there is no choice in it"));
    };
    let text = match message.content {
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
        None => String::new(),
    };
    match finish_reason.as_deref() {
        Some("length") => return Err(Flaw::CutOff.into()),
        Some("content_filter") => {
            return Err(SummarizeError::Rejected {
                status: 200,
                code: finish_reason,
            });
        }
        Some(_) | None => {}
    }
    if text.trim().is_empty() && message.tool_calls.is_some_and(|calls| !calls.is_empty()) {
        return Err(Flaw::ToolCall.into());
    }
    Ok(SummaryText {
        text,
        model: model.filter(|model| !model.is_empty()),
        is_extract: false,
    })
}

fn refused(status: u16, text: &str, retry_after: Option<Duration>) -> SummarizeError {
    let code = code(text);
    match status {
        401 | 403 => SummarizeError::Unauthorized { status },
        413 => SummarizeError::TooLong,
        400 | 422 if is_too_long(text) => SummarizeError::TooLong,
        // An account without money is not helped by waiting.
        429 if code.as_deref() == Some("insufficient_quota") => {
            SummarizeError::Rejected { status, code }
        }
        429 => SummarizeError::RateLimited { retry_after },
        408 | 409 | 425 | 500.. => SummarizeError::Unavailable { status },
        _ => SummarizeError::Rejected { status, code },
    }
}

fn is_too_long(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    TOO_LONG.iter().any(|words| text.contains(words))
}

/// The endpoint's own word for the failure. Its message may quote the conversation and is not
/// passed on.
fn code(text: &str) -> Option<String> {
    let failure: Failure = serde_json::from_str(text).ok()?;
    let Failed::Told { code, kind } = failure.error? else {
        return None;
    };
    let code = code
        .and_then(|code| code.as_str().map(str::to_owned))
        .or(kind)?;
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    (!code.is_empty() && code.len() <= CODE_CHARS && code.chars().all(is_word)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> Result<String, SummarizeError> {
        completion(body.as_bytes()).map(|text| text.text)
    }

    #[test]
    fn the_text_of_the_first_choice_is_the_answer() {
        let plain = r#"{"model":"m","choices":[{"message":{"content":"sum"},"finish_reason":"stop"},{"message":{"content":"no"}}]}"#;
        let expected = SummaryText {
            text: "sum".to_owned(),
            model: Some("m".to_owned()),
            is_extract: false,
        };
        assert_eq!(completion(plain.as_bytes()), Ok(expected));
        let parts = r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"x"},{"text":"b"}]}}]}"#;
        assert_eq!(text(parts).as_deref(), Ok("ab"));
    }

    #[test]
    fn an_answer_without_a_text_says_why() {
        let cut = r#"{"choices":[{"message":{"content":"half"},"finish_reason":"length"}]}"#;
        assert_eq!(text(cut), Err(Flaw::CutOff.into()));
        let call = r#"{"choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"tool_calls"}]}"#;
        assert_eq!(text(call), Err(Flaw::ToolCall.into()));
        let filtered = r#"{"choices":[{"finish_reason":"content_filter"}]}"#;
        assert!(matches!(
            text(filtered),
            Err(SummarizeError::Rejected { .. })
        ));
        for odd in [
            "",
            "<html>",
            r#"{"choices":[]}"#,
            r#"{"error":{"message":"x"}}"#,
        ] {
            assert!(
                matches!(text(odd), Err(SummarizeError::Unreadable(_))),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_bad_status_is_read_with_its_code_and_never_its_message() {
        let rejected = |status, code: Option<&str>| SummarizeError::Rejected {
            status,
            code: code.map(str::to_owned),
        };
        let quota = r#"{"error":{"message":"secret","code":"insufficient_quota"}}"#;
        for (status, text, expected) in [
            (401, "", SummarizeError::Unauthorized { status: 401 }),
            (403, "", SummarizeError::Unauthorized { status: 403 }),
            (413, "", SummarizeError::TooLong),
            (
                400,
                r#"{"error":{"code":"context_length_exceeded"}}"#,
                SummarizeError::TooLong,
            ),
            (
                400,
                "the request exceeds the available Context Size",
                SummarizeError::TooLong,
            ),
            (
                400,
                r#"{"error":{"code":"bad_model"}}"#,
                rejected(400, Some("bad_model")),
            ),
            (
                404,
                r#"{"error":{"code":404,"type":"not_found"}}"#,
                rejected(404, Some("not_found")),
            ),
            (
                400,
                r#"{"error":{"code":"quotes the text"}}"#,
                rejected(400, None),
            ),
            (400, r#"{"error":"secret"}"#, rejected(400, None)),
            (302, "", rejected(302, None)),
            (429, quota, rejected(429, Some("insufficient_quota"))),
            (429, "", SummarizeError::RateLimited { retry_after: None }),
            (408, "", SummarizeError::Unavailable { status: 408 }),
            (503, "", SummarizeError::Unavailable { status: 503 }),
        ] {
            let error = refused(status, text, None);
            assert_eq!(error, expected, "{status} {text}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
