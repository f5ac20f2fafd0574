//! Token counts and estimates.
//!
//! [`count_text`] is exact (byte-pair encoding of the model's family) up to
//! [`EXACT_BYTES`] and a sampled estimate above, so that no text costs more than a few
//! milliseconds. [`estimate_message`] adds what a provider adds: a fixed overhead per message and
//! per tool call and a fixed price per image, whatever the size of its base64 text.

mod family;
mod tally;
mod weigh;

pub use family::ModelFamily;
pub use tally::{Amount, Precision, Tally};

use std::ops::Range;

use crate::json::Text;
use crate::message::Message;

/// Longest text in bytes that is counted exactly.
pub const EXACT_BYTES: usize = 64 * 1024;
/// What a message costs beside its content: role and separators.
pub const MESSAGE_TOKENS: u32 = 4;
/// What a tool call costs beside its name and arguments: id and framing.
pub const TOOL_CALL_TOKENS: u32 = 10;
/// What an image costs, of any size.
pub const IMAGE_TOKENS: u32 = 1600;
/// The sentence and tags that a host puts around a summary.
pub const SUMMARY_TOKENS: u32 = 24;

/// Windows of a longer text that are counted.
const SAMPLES: usize = 16;
/// Size of one window; all of them together are as much as the longest exact text.
const SAMPLE_BYTES: usize = EXACT_BYTES / SAMPLES;

/// Tokens of a text: exact up to [`EXACT_BYTES`], estimated from samples above.
///
/// The samples lie at the same places for the same length, so equal texts have equal counts.
pub fn count_text(family: ModelFamily, text: &str) -> u32 {
    if text.len() <= EXACT_BYTES {
        return clamp(family.encoding().count(text));
    }
    sampled(text.len(), |window| {
        let window = text.floor_char_boundary(window.start)..text.floor_char_boundary(window.end);
        family
            .encoding()
            .count(text.get(window).unwrap_or_default())
    })
}

/// Tokens of a JSON string. A long one is never decoded as a whole: its escapes would cost more
/// than the counting.
pub(crate) fn count_json_text(family: ModelFamily, text: &Text<'_>) -> u32 {
    if text.raw().len() <= EXACT_BYTES {
        return count_text(family, &text.decode());
    }
    sampled(text.raw().len(), |window| {
        family.encoding().count(&*text.decode_part(window))
    })
}

/// Scales what `count` says of [`SAMPLES`] windows up to `len` bytes, which is more than they cover.
fn sampled(len: usize, count: impl Fn(Range<usize>) -> usize) -> u32 {
    let stride = len / SAMPLES;
    let room = stride - SAMPLE_BYTES;
    let window = |sample: usize| {
        // Irregular places, or a text with a period of the stride would show one of its lines only.
        let shift = (sample * 40_503 % 65_536) * room / 65_536;
        let start = sample * stride + shift;
        start..start + SAMPLE_BYTES
    };
    let tokens: usize = (0..SAMPLES).map(|sample| count(window(sample))).sum();
    let scaled = (tokens as u128 * len as u128).div_ceil((SAMPLES * SAMPLE_BYTES) as u128);
    u32::try_from(scaled).unwrap_or(u32::MAX)
}

/// Tokens that a message takes in a prompt, remembered in the message.
///
/// Counted are texts, thinking, tool-call names and arguments, command and output, summaries, tool
/// names, and images at [`IMAGE_TOKENS`]; not what hosts keep beside them, as usage and details.
/// A message that the host excludes from the context costs nothing. A payload that shows no content
/// is counted by its size. The sender's own estimate counts only where the body did not travel.
pub fn estimate_message(family: ModelFamily, message: &Message) -> u32 {
    message.cached_tokens(family, || {
        tally_message(family, Precision::Estimate, message).total()
    })
}

/// The same by what the message holds, never remembered.
pub fn tally_message(family: ModelFamily, precision: Precision, message: &Message) -> Tally {
    let Some(omitted) = message.omitted() else {
        let counter = weigh::Counter { family, precision };
        return weigh::payload(counter, message.payload());
    };
    // Three bytes a token errs on the dear side for prose and is near for logs.
    let by_size = omitted.bytes.div_ceil(3);
    let tokens = message.estimated_tokens().unwrap_or(by_size);
    let other = Amount {
        tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
        bytes: omitted.bytes,
    };
    Tally {
        other,
        ..Tally::default()
    }
}

fn clamp(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;
