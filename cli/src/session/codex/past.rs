//! Records that change the past: a compaction replaces it, a rollback takes the end of it back.

use std::sync::Arc;

use bytes::Bytes;
use contextwire_client::store::derived;

use super::super::entry::{Entry, Kind};
use super::super::message::{ContextMessage, Origin};
use super::super::node::Node;
use super::answer::Answer;
use super::item::{self, Circumstances, Item};
use super::rollout::{Envelope, Rollout};

impl Rollout {
    /// What the model sees from now on in the place of the past.
    pub(super) fn compacted(&mut self, at: &Envelope<'_>, payload: &Node<'_>) {
        self.finish_answer();
        let history = payload.get("replacement_history");
        let head = match history.and_then(Node::elements) {
            Some(items) => self.replacement(at, items),
            None => self.old_summary(at, payload),
        };
        let kind = Kind::Replacement { head: head.into() };
        self.bare(at, "compacted", kind);
    }

    fn replacement(&mut self, at: &Envelope<'_>, items: &[Node<'_>]) -> Vec<Arc<ContextMessage>> {
        let mut head = Vec::new();
        let mut answer: Option<Answer> = None;
        for item in items {
            let item_type = item.text_of("type").unwrap_or_default();
            let recorded = item.text_of("id").and_then(|id| self.message_of(&id));
            let timestamp_ms = recorded
                .as_ref()
                .map_or(at.timestamp_ms, |m| m.timestamp_ms());
            let at_that_time = Envelope {
                timestamp_ms,
                ..*at
            };
            let read = |at: &Circumstances<'_>| item::read(&item_type, item, at);
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
    fn old_summary(&mut self, at: &Envelope<'_>, payload: &Node<'_>) -> Vec<Arc<ContextMessage>> {
        let path = self.tree.active_branch().into_iter();
        let messages = path.filter_map(|index| self.entries.get(index)?.message().cloned());
        let mut head: Vec<_> = messages
            .filter(|message| message.role() == "user")
            .collect();
        if payload.get("message").is_some_and(Node::is_text) {
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

    /// The newest turns did not happen: the conversation goes on before them.
    pub(super) fn roll_back(&mut self, turns: u64) {
        self.finish_answer();
        let mut left = turns;
        let mut next = self.tree.leaf();
        let mut before = None;
        while let Some(index) = next.filter(|_| left > 0) {
            next = self.tree.parent(index);
            let message = self.entries.get(index).and_then(Entry::message);
            if message.is_some_and(|message| message.role() == "user") {
                left -= 1;
                before = Some(next);
            }
        }
        if let Some(before) = before {
            self.tree.rewind(before);
        }
    }
}
