//! The items of one response of the model, put together into one message.

use bytes::Bytes;
use contextwire_engine::json::ObjectWriter;

use super::super::field::Fields;
use super::content::{Blocks, written};
use super::item::Part;

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

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// What the provider counted; the first word counts.
    pub(super) fn counted(&mut self, usage: &Fields<'_>) {
        if self.usage.is_none() {
            self.usage = Some(in_openclaws_form(usage));
        }
    }

    pub(super) fn finish(self, by: Answering<'_>) -> Bytes {
        let quoted = |text: &str| contextwire_engine::json::quote(text);
        let (provider, model) = (by.provider.map(quoted), by.model.map(quoted));
        let stop_reason = if self.has_calls { "toolUse" } else { "stop" };
        let timestamp_ms = self.timestamp_ms.unwrap_or(0).to_string();
        ObjectWriter::new()
            .text("role", "assistant")
            .json("content", self.blocks.finish().as_bytes())
            .text("api", "openai-responses")
            .maybe("provider", provider.as_deref().map(str::as_bytes))
            .maybe("model", model.as_deref().map(str::as_bytes))
            .maybe("usage", self.usage.as_deref().map(str::as_bytes))
            .text("stopReason", stop_reason)
            .json("timestamp", timestamp_ms.as_bytes())
            .finish()
    }
}

/// OpenClaw counts cached tokens beside the input, Codex within it. Nobody recorded the cost.
fn in_openclaws_form(usage: &Fields<'_>) -> String {
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
