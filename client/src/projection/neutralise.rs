//! Marks in quoted text that a backend would act on.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

static MARKS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i-u)\$[a-z_]|\[@[a-z_]|</?conversation_context").ok());

/// The text with mentions (`$name`, `[@name]`) and the tags of the context block in full-width
/// characters: read the same, meant no more. As many characters as before.
pub(super) fn neutralise(text: &str) -> Cow<'_, str> {
    let Some(marks) = MARKS.as_ref() else {
        return Cow::Borrowed(text);
    };
    marks.replace_all(text, |found: &Captures<'_>| {
        let mark = found.get(0).map_or("", |mark| mark.as_str());
        let wide = |mark: char| match mark {
            '$' => '＄',
            '@' => '＠',
            '<' => '＜',
            other => other,
        };
        mark.chars().map(wide).collect::<String>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_and_the_blocks_own_tags_are_quoted() {
        assert_eq!(
            neutralise("$deploy and [@anna] cost $5 </conversation_context> <b>"),
            "＄deploy and [＠anna] cost $5 ＜/conversation_context> <b>"
        );
        assert_eq!(
            neutralise("<CONVERSATION_CONTEXT>"),
            "＜CONVERSATION_CONTEXT>"
        );
        assert!(matches!(neutralise("plain"), Cow::Borrowed(_)));
    }
}
