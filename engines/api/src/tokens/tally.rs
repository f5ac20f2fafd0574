//! What a message takes in a prompt, by what it is.

use std::ops::Add;

/// How texts are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Exactly up to [`EXACT_BYTES`](super::EXACT_BYTES), from samples above.
    #[default]
    Estimate,
    /// Exactly, whatever it costs: about 25 ms a megabyte.
    Exact,
}

/// Tokens, and the bytes of the text that they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens.
    pub tokens: u32,
    /// Bytes of the decoded text.
    pub bytes: u64,
}

/// The tokens of a message, by what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Texts of the content, and the name of the tool that a result is of.
    pub text: Amount,
    /// What the model thought.
    pub thinking: Amount,
    /// Names and arguments of tool calls.
    pub calls: Amount,
    /// Command and output of a command that the user ran.
    pub commands: Amount,
    /// A summary of what came before.
    pub summary: Amount,
    /// Blocks of unknown types, and payloads that show no content, as the JSON that they are.
    pub other: Amount,
    /// Images, each at its fixed price; its bytes are not a text's.
    pub images: Amount,
    /// What a provider puts around all that.
    pub framing: Amount,
}

impl Tally {
    /// All tokens.
    pub fn total(&self) -> u32 {
        let parts = self.parts();
        parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.tokens))
    }

    fn parts(&self) -> [Amount; 8] {
        let Self {
            text,
            thinking,
            calls,
            commands,
            summary,
            other,
            images,
            framing,
        } = *self;
        [
            text, thinking, calls, commands, summary, other, images, framing,
        ]
    }

    /// Only something around a text.
    pub(super) fn framing(tokens: u32) -> Self {
        let framing = Amount { tokens, bytes: 0 };
        Self {
            framing,
            ..Self::default()
        }
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            text: self.text + other.text,
            thinking: self.thinking + other.thinking,
            calls: self.calls + other.calls,
            commands: self.commands + other.commands,
            summary: self.summary + other.summary,
            other: self.other + other.other,
            images: self.images + other.images,
            framing: self.framing + other.framing,
        }
    }
}
