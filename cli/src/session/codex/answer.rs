//! The items of one response of the model, put together into one message.

use std::borrow::Cow;

use bytes::Bytes;
use contextwire_engine::json::ObjectWriter;

use super::super::entry::Kind;
use super::super::node::Node;
use super::content::{Blocks, written};
use super::item::{Call, ENVELOPE, Part};
use super::rollout::{Envelope, Rollout};

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Answer {
    blocks: Blocks,
    has_calls: bool,
    timestamp_ms: Option<i64>,
    usage: Option<String>,
    /// Whether a later part is another answer's: something else came, or the response ended.
    is_closed: bool,
}

/// Who answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answering<'a> {
    pub(super) provider: Option<&'a str>,
    pub(super) model: Option<&'a str>,
}

impl Answer {
    /// An answer that begins with this time.
    pub(super) fn new(timestamp_ms: Option<i64>) -> Self {
        Self {
            blocks: Blocks::default(),
            has_calls: false,
            timestamp_ms,
            usage: None,
            is_closed: false,
        }
    }

    pub(super) fn add(&mut self, part: Part) {
        self.has_calls |= part.call.is_some();
        self.blocks.append(part.blocks);
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// What the provider counted; the first word counts.
    pub(super) fn counted(&mut self, usage: &Node<'_>) {
        if self.usage.is_none() {
            self.usage = Some(in_openclaws_form(usage));
        }
    }

    pub(super) fn finish(self, by: Answering<'_>) -> Bytes {
        let quoted = |text: &str| contextwire_engine::json::quote(text);
        let (provider, model) = (by.provider.map(quoted), by.model.map(quoted));
        let stop_reason = if self.has_calls { "toolUse" } else { "stop" };
        let timestamp_ms = self.timestamp_ms.unwrap_or(0).to_string();
        let content = self.blocks.finish();
        ObjectWriter::with_capacity(content.len() + 2 * ENVELOPE)
            .text("role", "assistant")
            .json("content", content.as_bytes())
            .text("api", "openai-responses")
            .maybe("provider", provider.as_deref().map(str::as_bytes))
            .maybe("model", model.as_deref().map(str::as_bytes))
            .maybe("usage", self.usage.as_deref().map(str::as_bytes))
            .text("stopReason", stop_reason)
            .json("timestamp", timestamp_ms.as_bytes())
            .finish()
    }
}

impl Rollout {
    /// A part of the answer that is being given, or the first one of another.
    pub(super) fn part(&mut self, at: &Envelope<'_>, id: Option<Cow<'_, str>>, part: Part) {
        let is_given = |answer: &(usize, Answer)| !answer.1.is_closed;
        if !self.answer.as_ref().is_some_and(is_given) {
            self.finish_answer();
            let entry_type = self.tags.of("response_item", Some("answer"));
            let index = self.entry(at, entry_type, id, Kind::Silent);
            self.forget(index);
            self.answer = Some((index, Answer::new(at.timestamp_ms)));
        }
        if let Some(Call { id, tool }) = &part.call {
            self.tools.insert(id.clone(), tool.clone());
        }
        if let Some((_, answer)) = &mut self.answer {
            answer.add(part);
        }
    }

    /// The record of an answer is not looked at again, and the next one can have its room.
    fn forget(&mut self, index: usize) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.json = Bytes::new();
        }
    }

    /// Whatever comes next belongs to another answer.
    pub(super) fn close_answer(&mut self) {
        if let Some((_, answer)) = &mut self.answer {
            answer.close();
        }
    }

    /// What a response used ends it, and is said after it.
    pub(super) fn counted(&mut self, usage: Option<&Node<'_>>) {
        let usage = usage.filter(|usage| usage.is_object());
        if let (Some((_, answer)), Some(usage)) = (&mut self.answer, usage) {
            answer.counted(usage);
            answer.close();
        }
    }

    pub(super) fn finish_answer(&mut self) {
        let Some((index, answer)) = self.answer.take() else {
            return;
        };
        let payload = answer.finish(self.answering());
        self.set_message(index, "assistant", payload);
    }

    pub(super) fn answering(&self) -> Answering<'_> {
        Answering {
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
        }
    }
}

/// OpenClaw counts cached tokens beside the input, Codex within it. Nobody recorded the cost.
fn in_openclaws_form(usage: &Node<'_>) -> String {
    let count = |key| usage.whole(key).unwrap_or(0);
    let (read, write) = (
        count("cached_input_tokens"),
        count("cache_write_input_tokens"),
    );
    let cached = read.saturating_add(write);
    let fresh = count("input_tokens").saturating_sub(cached);
    let number = |object: ObjectWriter, (key, value): (&str, u64)| {
        object.json(key, value.to_string().as_bytes())
    };
    let counts = [
        ("input", fresh),
        ("output", count("output_tokens")),
        ("cacheRead", read),
        ("cacheWrite", write),
        ("totalTokens", count("total_tokens")),
    ];
    let usage = counts.into_iter().fold(ObjectWriter::new(), number);
    let nothing = ["input", "output", "cacheRead", "cacheWrite", "total"].map(|key| (key, 0));
    let cost = nothing.into_iter().fold(ObjectWriter::new(), number);
    written(usage.json("cost", &cost.finish()))
}
