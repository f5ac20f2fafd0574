//! What a `compacted` record puts in the place of the past.

use std::sync::Arc;

use bytes::Bytes;
use contextwire_client::store::derived;
use serde_json::value::RawValue;

use super::super::entry::Kind;
use super::super::field::{Fields, elements};
use super::super::message::{ContextMessage, Origin};
use super::answer::Answer;
use super::item::{self, Circumstances, Item};
use super::rollout::{Envelope, Rollout};

impl Rollout {
    /// What the model sees from now on in the place of the past.
    pub(super) fn compacted(&mut self, at: &Envelope<'_>, payload: &Fields<'_>) {
        self.finish_answer();
        let head = match payload.get("replacement_history").and_then(elements) {
            Some(items) => self.replacement(at, &items),
            None => self.old_summary(at, payload),
        };
        let kind = Kind::Replacement { head: head.into() };
        self.entry(at, "compacted", None, kind);
    }

    fn replacement(&mut self, at: &Envelope<'_>, items: &[&RawValue]) -> Vec<Arc<ContextMessage>> {
        let mut head = Vec::new();
        let mut answer: Option<Answer> = None;
        for item in items {
            let Ok(fields) = Fields::parse(item.get()) else {
                continue;
            };
            let item_type = fields.text("type").unwrap_or_default();
            let recorded = fields.text("id").and_then(|id| self.message_of(&id));
            let timestamp_ms = recorded
                .as_ref()
                .map_or(at.timestamp_ms, |m| m.timestamp_ms());
            let at_that_time = Envelope {
                timestamp_ms,
                ..*at
            };
            let read = |at: &Circumstances<'_>| item::read(&item_type, &fields, at);
            match self.circumstances(&at_that_time, read) {
                Item::Part(part) => answer
                    .get_or_insert_with(|| Answer::new(at.timestamp_ms))
                    .add(part),
                Item::Message(role, payload) => {
                    head.extend(answer.take().map(|answer| self.new_answer(at, answer)));
                    // What was only kept is the same message still.
                    let kept = recorded.filter(|recorded| *recorded.payload() == payload);
                    head.push(kept.unwrap_or_else(|| self.new_message(at, role, payload)));
                }
                Item::Silent | Item::Foreign | Item::Malformed(_) => {}
            }
        }
        head.extend(answer.take().map(|answer| self.new_answer(at, answer)));
        head
    }

    /// Before replacements were recorded: what the user said, and the summary.
    fn old_summary(&mut self, at: &Envelope<'_>, payload: &Fields<'_>) -> Vec<Arc<ContextMessage>> {
        let path = self.tree.active_branch().into_iter();
        let messages = path.filter_map(|index| self.entries.get(index)?.message().cloned());
        let mut head: Vec<_> = messages
            .filter(|message| message.role() == "user")
            .collect();
        if payload.text("message").is_some() {
            let field = |key: &str| payload.raw(if key == "summary" { "message" } else { key });
            let summary = derived::compaction_summary(field, at.timestamp_ms);
            head.push(self.new_message(at, "compactionSummary", summary));
        }
        head
    }

    fn message_of(&self, id: &str) -> Option<Arc<ContextMessage>> {
        let index = self.tree.find(id)?;
        self.entries.get(index)?.message().cloned()
    }

    fn new_answer(&mut self, at: &Envelope<'_>, answer: Answer) -> Arc<ContextMessage> {
        let payload = answer.finish(self.answering());
        self.new_message(at, "assistant", payload)
    }

    /// A message that stands in no entry's place.
    fn new_message(
        &mut self,
        at: &Envelope<'_>,
        role: &str,
        payload: Bytes,
    ) -> Arc<ContextMessage> {
        let origin = Origin {
            line: at.line,
            key: self.key(),
            entry_id: None,
            timestamp_ms: at.timestamp_ms,
        };
        ContextMessage::new(origin, role.to_owned(), payload)
    }
}
