//! How many tokens a context has: what the provider counted last, and an estimate of what came
//! after (HOST-SEMANTICS 14).

use contextwire_engine::json::{Cursor, JsonError, Kind};

use crate::item::{Item, Role};

/// The word by which a host says that it cannot know the size of the context any more.
const UNAVAILABLE: &str = "unavailable";

/// What an answer says of the prompt that it answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    exact: Option<u64>,
    total: Option<u64>,
    parts: u64,
    is_unavailable: bool,
}

impl Usage {
    /// The exact figure, else the total, else the sum of the parts; zero is no figure.
    fn tokens(self) -> Option<u64> {
        let known = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
        known(self.exact)
            .or(known(self.total))
            .or(known(Some(self.parts)))
    }
}

/// Reads the value of `usage`.
pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Usage, JsonError> {
    let mut usage = Usage::default();
    if cursor.kind()? != Kind::Object {
        cursor.skip_value()?;
        return Ok(usage);
    }
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        if key.is("contextUsage") {
            read_exact(cursor, &mut usage)?;
        } else if key.is("totalTokens") {
            usage.total = number(cursor)?;
        } else if ["input", "output", "cacheRead", "cacheWrite"]
            .iter()
            .any(|name| key.is(name))
        {
            let tokens = number(cursor)?.unwrap_or_default();
            usage.parts = usage.parts.saturating_add(tokens);
        } else {
            cursor.skip_value()?;
        }
    }
    Ok(usage)
}

/// A number, the word for "unknown", or an object with one of them.
fn read_exact(cursor: &mut Cursor<'_>, usage: &mut Usage) -> Result<(), JsonError> {
    match cursor.kind()? {
        Kind::Number => usage.exact = number(cursor)?,
        Kind::String => usage.is_unavailable = cursor.text()?.is(UNAVAILABLE),
        Kind::Object => {
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                match cursor.kind()? {
                    Kind::Number if key.is("tokens") || key.is("totalTokens") => {
                        usage.exact = number(cursor)?;
                    }
                    Kind::String => usage.is_unavailable |= cursor.text()?.is(UNAVAILABLE),
                    Kind::Null | Kind::Object | Kind::Array | Kind::Number | Kind::Bool => {
                        cursor.skip_value()?;
                    }
                }
            }
        }
        Kind::Array | Kind::Bool | Kind::Null => {
            cursor.skip_value()?;
        }
    }
    Ok(())
}

/// A whole number; a fraction is cut off, anything else is unknown.
fn number(cursor: &mut Cursor<'_>) -> Result<Option<u64>, JsonError> {
    if cursor.kind()? != Kind::Number {
        cursor.skip_value()?;
        return Ok(None);
    }
    let text = cursor.number()?;
    let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
    Ok(whole.parse().ok())
}

/// The size of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextTokens {
    /// All of it.
    pub(crate) tokens: u64,
    /// The same by estimate alone.
    pub(crate) estimated: u64,
}

impl ContextTokens {
    /// Of a list whose messages up to `boundary` (milliseconds since the Unix epoch) were counted
    /// by a provider when more stood before them.
    pub(crate) fn of(items: &[Item], boundary: Option<i64>) -> Self {
        let estimated = items.iter().map(|item| item.tokens).sum();
        let (mut later, mut counted) = (0u64, None);
        for item in items.iter().rev() {
            if item.role == Role::Assistant && !item.is_broken_off {
                let is_stale = boundary.is_some_and(|boundary| {
                    let time = item.message.timestamp_ms();
                    time.is_some_and(|time| time <= boundary)
                });
                if item.usage.is_unavailable || is_stale {
                    break;
                }
                counted = item.usage.tokens();
                if counted.is_some() {
                    break;
                }
            }
            later = later.saturating_add(item.tokens);
        }
        Self {
            tokens: counted.map_or(estimated, |tokens| tokens.saturating_add(later)),
            estimated,
        }
    }

    /// How much of `keep` estimated tokens stays, so that it is `keep` by the provider's count.
    pub(crate) fn scale(self, keep: u64) -> u64 {
        if self.tokens <= self.estimated || self.tokens == 0 {
            return keep;
        }
        let scaled = u128::from(keep) * u128::from(self.estimated) / u128::from(self.tokens);
        u64::try_from(scaled).unwrap_or(keep).clamp(1, keep.max(1))
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;
    use contextwire_engine::tokens::ModelFamily;

    use super::*;

    fn items(payloads: &[&str]) -> Vec<Item> {
        let item = |payload: &&str| {
            let message = Message::from_payload(payload.as_bytes().to_vec());
            Item::of(&message, ModelFamily::Other)
        };
        payloads.iter().map(item).collect()
    }

    fn tokens(payloads: &[&str]) -> u64 {
        ContextTokens::of(&items(payloads), None).tokens
    }

    const USER: &str = r#"{"role":"user","content":"hello"}"#;
    const GOOD: &str = r#"{"role":"assistant","content":"a","stopReason":"stop","usage":{"input":10,"output":5,"cacheRead":2,"cacheWrite":1,"totalTokens":900}}"#;

    #[test]
    fn c349_the_usage_of_an_answer_that_broke_off_is_ignored() {
        let user = items(&[USER]).first().unwrap().tokens;
        assert_eq!(tokens(&[USER, GOOD, USER]), 900 + user);
        for reason in ["aborted", "error"] {
            let broken = format!(
                r#"{{"role":"assistant","content":"","stopReason":"{reason}","usage":{{"totalTokens":7}}}}"#
            );
            let own = items(&[&broken]).first().unwrap().tokens;
            assert_eq!(tokens(&[USER, GOOD, &broken]), 900 + own);
        }
    }

    #[test]
    fn the_exact_figure_goes_before_the_total_and_the_total_before_the_sum() {
        let usage =
            |usage: &str| format!(r#"{{"role":"assistant","content":"a","usage":{usage}}}"#);
        for (json, expected) in [
            (r#"{"contextUsage":70,"totalTokens":900,"input":1}"#, 70),
            (r#"{"contextUsage":{"tokens":71},"totalTokens":900}"#, 71),
            (r#"{"totalTokens":900,"input":1}"#, 900),
            (
                r#"{"input":10,"output":5,"cacheRead":2,"cacheWrite":1,"totalTokens":0}"#,
                18,
            ),
            (r#"{"input":10.9}"#, 10),
        ] {
            assert_eq!(tokens(&[&usage(json)]), expected, "{json}");
        }
    }

    #[test]
    fn zero_usage_is_skipped_and_an_unavailable_marker_hides_older_usage() {
        let zero = r#"{"role":"assistant","content":"a","usage":{"input":0,"totalTokens":0}}"#;
        let own = items(&[zero]).first().unwrap().tokens;
        assert_eq!(tokens(&[GOOD, zero]), 900 + own);
        for marker in [r#""unavailable""#, r#"{"state":"unavailable"}"#] {
            let lost = format!(
                r#"{{"role":"assistant","content":"a","usage":{{"contextUsage":{marker},"totalTokens":5}}}}"#
            );
            let list = items(&[GOOD, &lost]);
            let context = ContextTokens::of(&list, None);
            assert_eq!(context.tokens, context.estimated);
        }
    }

    #[test]
    fn usage_from_before_the_last_compaction_says_nothing_of_the_context_after_it() {
        let old = r#"{"role":"assistant","content":"a","timestamp":5,"usage":{"totalTokens":900}}"#;
        let list = items(&[old, USER]);
        let context = ContextTokens::of(&list, Some(6));
        assert_eq!(context.tokens, context.estimated);
        assert!(ContextTokens::of(&list, Some(4)).tokens > 900);
    }

    #[test]
    fn what_is_kept_shrinks_where_the_provider_counts_more_than_the_estimate() {
        let context = |tokens, estimated| ContextTokens { tokens, estimated };
        assert_eq!(context(100, 100).scale(20_000), 20_000);
        assert_eq!(context(50, 100).scale(20_000), 20_000);
        assert_eq!(context(200, 100).scale(20_000), 10_000);
        assert_eq!(context(u64::MAX, 1).scale(20_000), 1);
        assert_eq!(context(0, 0).scale(20_000), 20_000);
    }
}
