//! The conversation that a compaction is about: the messages that are still shown, and what stands
//! for those that are not (HOST-SEMANTICS 1.8 and 14).

use bytes::Bytes;
use contextwire_engine::tokens::{self, ModelFamily, SUMMARY_TOKENS};
use contextwire_engine::{HookContext, Transcript};

use crate::body::Body;
use crate::error::CompactionError;
use crate::files::Files;
use crate::item::{Item, Role};

/// A summary of the messages before those that are still shown, by an earlier compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Its text.
    pub summary: String,
    /// How many messages of the list it stands for, from the first on.
    pub covered: usize,
    /// The `details` of that compaction, a JSON object.
    pub details: Option<Bytes>,
}

/// The shown part of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) items: Vec<Item>,
    /// Place of each item in the list.
    places: Vec<usize>,
    /// The text of the summary before, without its file lists.
    pub(crate) earlier: Option<String>,
    pub(crate) earlier_tokens: u64,
    pub(crate) files: Files,
    /// When that summary was written.
    pub(crate) boundary: Option<i64>,
}

impl Conversation {
    /// Reads a list: from behind what `earlier` covers, else from the newest summary in the list
    /// on, with what that kept.
    pub(crate) fn of(
        cx: &HookContext,
        list: &Transcript,
        earlier: Option<&Earlier>,
        family: ModelFamily,
    ) -> Result<Self, CompactionError> {
        let mut conversation = Self::default();
        let shown: Vec<usize> = if let Some(earlier) = earlier {
            conversation.begin_with(&earlier.summary, earlier.details.as_deref(), family);
            (earlier.covered..list.len()).collect()
        } else if let Some((at, first_kept)) = newest_summary(list) {
            if let Some(message) = list.get(at) {
                let body = Body::of(message.payload());
                let summary = body.summary.unwrap_or_default();
                conversation.begin_with(&summary, body.details.as_deref(), family);
                conversation.boundary = message.timestamp_ms();
            }
            (first_kept..at).chain(at + 1..list.len()).collect()
        } else {
            (0..list.len()).collect()
        };
        for place in shown {
            // Counting a long list takes seconds, and nobody may be waiting any more.
            CompactionError::check(cx)?;
            if let Some(message) = list.get(place) {
                conversation.items.push(Item::of(message, family));
                conversation.places.push(place);
            }
        }
        Ok(conversation)
    }

    /// Tokens of the messages that are shown and of the summary before them, by estimate.
    pub(crate) fn tokens(&self) -> u64 {
        let items: u64 = self.items.iter().map(|item| item.tokens).sum();
        items.saturating_add(self.earlier_tokens)
    }

    /// Place in the list of an item; the list's end for the end.
    pub(crate) fn place(&self, item: usize) -> usize {
        let last = self.places.last().map_or(0, |place| place + 1);
        self.places.get(item).copied().unwrap_or(last)
    }

    fn begin_with(&mut self, summary: &str, details: Option<&[u8]>, family: ModelFamily) {
        let (text, listed) = Files::taken_from(summary);
        self.files = details.map(Files::of_details).unwrap_or_default();
        self.files.add(listed);
        self.earlier_tokens = summary_tokens(family, summary);
        self.earlier = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    }
}

/// What a summary costs at the head of a prompt.
pub(crate) fn summary_tokens(family: ModelFamily, summary: &str) -> u64 {
    let text = tokens::count_text(family, summary);
    u64::from(
        text.saturating_add(SUMMARY_TOKENS)
            .saturating_add(tokens::MESSAGE_TOKENS),
    )
}

/// Place of the newest summary and of the first message before it that it kept; an unknown one, or
/// one that does not stand before it, keeps nothing.
fn newest_summary(list: &Transcript) -> Option<(usize, usize)> {
    let mut places = (0..list.len()).rev();
    let at = places.find(|at| {
        list.get(*at)
            .is_some_and(|message| message.role() == "compactionSummary")
    })?;
    let kept = list
        .get(at)
        .and_then(|message| Body::of(message.payload()).first_kept_entry_id)
        .filter(|id| !id.is_empty());
    let first_kept = kept.and_then(|id| {
        (0..at).find(|place| {
            list.get(*place)
                .is_some_and(|message| message.entry_id().as_str() == id)
        })
    });
    Some((at, first_kept.unwrap_or(at)))
}

/// What the user asked for last among these, in at most `max` characters.
pub(crate) fn last_request(items: &[Item], max: usize) -> Option<String> {
    let newest = items.iter().rfind(|item| item.role == Role::User)?;
    let text = newest.body().text();
    let text = crate::text::head(text.trim(), max);
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{Message, Session, SessionId};

    use super::*;

    fn list(payloads: &[(&str, &str)]) -> Transcript {
        let message = |(id, payload): &(&str, &str)| {
            Message::from_payload((*payload).to_owned()).with_entry_id(*id)
        };
        payloads.iter().map(message).collect()
    }

    fn shown(list: &Transcript, earlier: Option<&Earlier>) -> (Vec<usize>, Option<String>) {
        let session = Session::new(SessionId::new("s").unwrap());
        let cx = HookContext::new(session, Duration::from_secs(5));
        let family = ModelFamily::Other;
        let found = Conversation::of(&cx, list, earlier, family).unwrap();
        assert_eq!(found.items.len(), found.places.len());
        (found.places, found.earlier)
    }

    const USER: &str = r#"{"role":"user","content":"hi"}"#;

    #[test]
    fn c344_the_newest_summary_in_a_list_is_the_base_and_what_it_kept_is_included() {
        let old = r#"{"role":"compactionSummary","summary":"old","firstKeptEntryId":"a"}"#;
        let new = r#"{"role":"compactionSummary","summary":"new\n\n<read-files>\na.rs\n</read-files>","firstKeptEntryId":"c"}"#;
        let list = list(&[
            ("a", USER),
            ("b", old),
            ("c", USER),
            ("d", new),
            ("e", USER),
        ]);
        assert_eq!(shown(&list, None), (vec![2, 4], Some("new".to_owned())));
    }

    #[test]
    fn c351_an_unknown_first_kept_entry_keeps_only_what_follows() {
        for first_kept in [
            r#","firstKeptEntryId":"gone""#,
            r#","firstKeptEntryId":"c""#,
            "",
        ] {
            let summary = format!(r#"{{"role":"compactionSummary","summary":"s"{first_kept}}}"#);
            let list = list(&[("a", USER), ("b", &summary), ("c", USER)]);
            assert_eq!(shown(&list, None), (vec![2], Some("s".to_owned())));
        }
    }

    #[test]
    fn a_summary_at_the_head_of_a_context_has_everything_behind_it() {
        let summary = r#"{"role":"compactionSummary","summary":"s"}"#;
        let list = list(&[("k", summary), ("b", USER), ("c", USER)]);
        assert_eq!(shown(&list, None), (vec![1, 2], Some("s".to_owned())));
    }

    #[test]
    fn c344_a_summary_that_a_host_hands_over_stands_for_what_it_covers() {
        let list = list(&[("a", USER), ("b", USER), ("c", USER)]);
        let earlier = Earlier {
            summary: "known".to_owned(),
            covered: 2,
            details: None,
        };
        assert_eq!(
            shown(&list, Some(&earlier)),
            (vec![2], Some("known".to_owned()))
        );
        assert_eq!(shown(&list, None), (vec![0, 1, 2], None));
    }
}
