//! Plain texts of validators that complain about keys they do not know (HOST-SEMANTICS 4.1).

/// The code that one family of validators uses, also inside of dumped JSON.
const CODE: &str = "unrecognized_keys";

/// What stands in front of a rejected name.
const BEFORE: [&str; 6] = [
    "unrecognized key in object",
    "unrecognized keys in object",
    "unrecognized key(s) in object",
    "additional property",
    "additional properties",
    CODE,
];
const JUDGED: [&str; 4] = ["unexpected", "extraneous", "unknown", "invalid"];
const NOUNS: [&str; 6] = ["property", "properties", "field", "fields", "key", "keys"];
/// What stands behind one.
const AFTER: [&str; 2] = ["is not allowed", "was not allowed"];

/// From here on a text names what would have been right.
const ENDS: [&str; 8] = [
    "expected",
    "allowed keys",
    "allowed fields",
    "allowed properties",
    "valid keys",
    "valid fields",
    "must be one of",
    "did you mean",
];

/// The quoted names that a text rejects, in its order.
pub(super) fn rejected_names(text: &str) -> Vec<&str> {
    // One spelling; bytes stay where they are.
    let lower = text
        .to_ascii_lowercase()
        .replace("unrecognised", "unrecognized");
    quoted(text)
        .filter(|name| is_rejected(&lower, name))
        .map(|name| name.text)
        .collect()
}

/// A name in quotes and where it is.
#[derive(Clone, Copy, Debug)]
struct Quoted<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

/// Names in single quotes, double quotes or backticks; what has blanks inside is no name.
fn quoted(text: &str) -> impl Iterator<Item = Quoted<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(from..)?;
            let open = rest.find(['\'', '"', '`'])?;
            let quote = rest.get(open..)?.chars().next()?;
            let start = from + open + 1;
            let inside = text.get(start..)?;
            let length = inside
                .find(|letter: char| !is_of_a_name(letter))
                .unwrap_or(inside.len());
            let closes = inside.get(length..).is_some_and(|it| it.starts_with(quote));
            if length == 0 || !closes {
                from = start;
                continue;
            }
            from = start + length + 1;
            let text = inside.get(..length)?;
            return Some(Quoted {
                text,
                start: start - 1,
                end: from,
            });
        }
    })
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '[' | ']' | '#')
}

fn is_rejected(lower: &str, name: &Quoted<'_>) -> bool {
    let before = lower.get(..name.start).unwrap_or_default();
    let after = lower.get(name.end..).unwrap_or_default();
    is_announced(before) || is_followed(after)
}

/// A phrase stands before the name, and nothing between them ends what the phrase announces.
fn is_announced(before: &str) -> bool {
    let phrase = BEFORE
        .into_iter()
        .filter_map(|phrase| before.rfind(phrase).map(|at| at + phrase.len()));
    let Some(end) = phrase.chain(judged_noun(before)).max() else {
        return false;
    };
    let between = before.get(end..).unwrap_or_default();
    !ENDS.into_iter().any(|end| between.contains(end))
}

/// Where the last "unknown field" or its like ends.
fn judged_noun(before: &str) -> Option<usize> {
    let ends = JUDGED.into_iter().flat_map(|judged| {
        before.match_indices(judged).filter_map(move |(at, _)| {
            let noun_at = at + judged.len() + 1;
            let noun = before.get(noun_at..)?;
            let is_noun = |noun_text: &&&str| {
                let behind = noun.get(noun_text.len()..);
                noun.starts_with(**noun_text)
                    && behind.is_some_and(|it| !it.starts_with(|c: char| c.is_alphanumeric()))
            };
            NOUNS
                .iter()
                .filter(is_noun)
                .map(|noun| noun_at + noun.len())
                .max()
        })
    });
    ends.max()
}

/// The name's own clause says that it is not allowed.
fn is_followed(after: &str) -> bool {
    let clause = after.split(['\'', '"', '`', '\n', ';']).next();
    let clause = clause.unwrap_or_default();
    AFTER.into_iter().any(|phrase| clause.contains(phrase))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn c78_c93_every_form_is_recognised() {
        for text in [
            "Unrecognized key(s) in object: 'sessionKey'",
            "[engine] unrecognised keys in object: \"sessionKey\"",
            "Unrecognized key in object: `sessionKey`",
            "must NOT have additional properties: 'sessionKey'",
            "additional properties are not permitted (\"sessionKey\")",
            "Additional property 'sessionKey' found",
            "unexpected property 'sessionKey'",
            "extraneous field \"sessionKey\" at line 1",
            "Unknown key `sessionKey`",
            "invalid property: 'sessionKey'",
            "unknown field `sessionKey`, expected one of `prompt`, `messages`",
            "\"sessionKey\" is not allowed",
            "the key 'sessionKey' of the request was not allowed here",
            r#"[{"code":"unrecognized_keys","keys":["sessionKey"],"path":[]}]"#,
            r#"{"issues": [{"code": "unrecognized_keys", "keys": ["sessionKey"]}]}"#,
        ] {
            assert!(rejected_names(text).contains(&"sessionKey"), "{text}");
            assert!(!rejected_names(text).contains(&"prompt"), "{text}");
        }
    }

    #[test]
    fn c86_one_text_may_name_several_keys() {
        let text = "Unrecognized key(s) in object: 'sessionKey', 'prompt', 'runtimeSettings'";
        assert_eq!(
            rejected_names(text),
            ["sessionKey", "prompt", "runtimeSettings"]
        );
        let dump = r#"{"code":"unrecognized_keys","keys":["prompt","sessionKey"]}"#;
        assert_eq!(rejected_names(dump)[1..], ["prompt", "sessionKey"]);
    }

    #[test]
    fn c94_texts_about_values_reject_no_key() {
        for text in [
            "sessionKey lookup failed",
            "Unknown sessionKey \"agent:main:x\"",
            "'sessionKey' must be a string",
            "unknown fieldset 'sessionKey'",
            "invalid value for 'sessionKey'",
            "unknown field sessionKey",
            "'prompt' is too long; \"x y\" is not allowed",
            "",
            "'",
            "''''",
        ] {
            assert_eq!(rejected_names(text), [""; 0], "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,40}['\"`ü]{0,3}\\PC{0,40}") {
            for name in rejected_names(&format!("unknown field {text}")) {
                prop_assert!(!name.is_empty());
            }
        }
    }
}
