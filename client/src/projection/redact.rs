//! Secrets do not go into a thread's history with a tool's output (HOST-SEMANTICS 6.4).
//!
//! What looks like one is masked: values of fields with such a name, tokens whose form is known,
//! private keys, passwords in addresses. A guess by form, and no promise.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

const MASK: &str = "[redacted]";

/// Values that say nothing: they stay, so that a result remains readable.
const PLAIN: [&str; 9] = [
    "true",
    "false",
    "null",
    "none",
    "undefined",
    "string",
    "str",
    "",
    MASK,
];

static FORMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.)*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"|(?-u:\b)(?:",
        r"(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}",
        r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}",
        r"|xox[abeprs]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}",
        r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}",
        r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
        r"|(?P<scheme>[Bb]earer +)[A-Za-z0-9._~+/=-]{8,})",
        r"|(?P<user>://[^/ \t\r\n:@]*:)[^/ \t\r\n@]+@",
    ))
    .ok()
});

static FIELDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?P<field>(?i-u:api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key|secret",
        r"|signing[_-]?key|encryption[_-]?key|token|password|passwd|passphrase|authorization",
        r#"|cookie|credentials?)\\*["']?[ \t]*[:=][ \t]*)"#,
        r#"(?:(?P<open>")(?P<double>(?:[^"\\]|\\(?s:.))*)|(?P<nested>\\+")(?P<inner>(?:[^"\\]|\\[^"])*)"#,
        r#"|(?P<single>'[^'\n]*')"#,
        r#"|(?P<bare>(?:(?i-u:basic|bearer|token) +)?[^ \t\r\n,;"'\\}\])]+))"#,
    ))
    .ok()
});

/// The text with what looks like a secret masked.
pub(super) fn redact(text: &str) -> String {
    let masked = replace(FORMS.as_ref(), text, |found| {
        let kept = found.name("scheme").or(found.name("user"));
        let end = if found.name("user").is_some() {
            "@"
        } else {
            ""
        };
        let kept = kept.map_or("", |kept| kept.as_str());
        format!("{kept}{MASK}{end}")
    });
    replace(FIELDS.as_ref(), &masked, mask_field).into_owned()
}

/// An expression that does not compile would be found by the tests; masking everything is what it
/// comes to here.
fn replace<'t>(
    expression: Option<&Regex>,
    text: &'t str,
    mask: impl Fn(&Captures<'_>) -> String,
) -> Cow<'t, str> {
    match expression {
        Some(expression) => expression.replace_all(text, mask),
        None => Cow::Borrowed(MASK),
    }
}

fn mask_field(found: &Captures<'_>) -> String {
    let group = |name| found.name(name).map_or("", |part| part.as_str());
    let (field, bare) = (group("field"), group("bare"));
    let open = [group("open"), group("nested")].concat();
    let single = group("single").trim_matches('\'');
    let value = [group("double"), group("inner"), single, bare].concat();
    let is_masked = bare.ends_with(MASK.trim_end_matches(']'));
    let is_plain = is_masked || PLAIN.iter().any(|plain| value.eq_ignore_ascii_case(plain));
    // An expression of source code is not the value of anything.
    let is_code = bare.starts_with(['$', '<', '[', '{', '&']) || bare.contains('(');
    if is_plain || is_code {
        return found.get(0).map_or("", |all| all.as_str()).to_owned();
    }
    if open.is_empty() && bare.is_empty() {
        format!("{field}'{MASK}'")
    } else {
        format!("{field}{open}{MASK}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        redact(text)
    }

    #[test]
    fn c278_values_that_look_like_secrets_are_masked() {
        for (text, expected) in [
            (
                r#"{"password": 12345, "n": 7}"#,
                r#"{"password": [redacted], "n": 7}"#,
            ),
            (
                r#"{"access_token":"a b \"c","x":"y"}"#,
                r#"{"access_token":"[redacted]","x":"y"}"#,
            ),
            (r"API_KEY=abcdef", "API_KEY=[redacted]"),
            ("Authorization: Basic YWJj", "Authorization: [redacted]"),
            ("DB_PASSWORD=pa$$w0rd", "DB_PASSWORD=[redacted]"),
            (
                "client_secret: 'a b c' # x",
                "client_secret: '[redacted]' # x",
            ),
            (
                "Authorization: Bearer abc.def-123",
                "Authorization: Bearer [redacted]",
            ),
            (
                "curl -H 'x: bearer abcdefgh1234'",
                "curl -H 'x: bearer [redacted]'",
            ),
            ("key sk-proj-abcdefghij0123456789 end", "key [redacted] end"),
            ("ghp_abcdefghijklmnopqrst0123", "[redacted]"),
            (
                "postgres://me:hunter2@db/x",
                "postgres://me:[redacted]@db/x",
            ),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "[redacted]"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
        let key = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
        assert_eq!(masked(key), "a\n[redacted]\nb");
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIE";
        assert_eq!(masked(cut), "[redacted]", "a key that breaks off is one");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            r#"{"max_tokens": 500, "totalTokens": 12}"#,
            "let token = next_token(input);",
            "token: ${{ secrets.TOKEN }}",
            r#"{"token": null, "password": ""}"#,
            "the token is in the vault",
            "https://example.org:8080/a@b",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn fields_in_json_within_json_are_found() {
        assert_eq!(
            masked(r#"{\"token\":\"abc\",\"n\":1}"#),
            r#"{\"token\":\"[redacted]\",\"n\":1}"#
        );
    }
}
