//! What a provider counted for an answer, as the message of it says.

use super::field::Fields;
use super::message::ContextMessage;

/// Tokens that a provider counted for one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The model that answered, as the message names it.
    pub model: Option<String>,
    /// The whole prompt, what came from a cache or went into one included.
    pub prompt: u64,
    /// The answer.
    pub output: u64,
}

impl ContextMessage {
    /// What the provider counted; `None` where the message does not say, or says that nothing was
    /// sent, as for an answer that failed.
    pub fn usage(&self) -> Option<Usage> {
        if self.role() != "assistant" {
            return None;
        }
        let payload = std::str::from_utf8(self.payload()).ok()?;
        let message = Fields::parse(payload).ok()?;
        let usage = message.object("usage")?;
        let count = |key| usage.whole(key).unwrap_or(0);
        let prompt = ["input", "cacheRead", "cacheWrite"]
            .into_iter()
            .fold(0, |sum: u64, key| sum.saturating_add(count(key)));
        let usage = Usage {
            model: message.text("model"),
            prompt,
            output: count("output"),
        };
        (usage.prompt > 0).then_some(usage)
    }
}
