//! An update cut into frames that fit (R3.4, R2.5).

use bytes::Bytes;
use contextwire_engine::digest::sha256;
use contextwire_engine::{Message, Omitted, Segment, Transcript, TranscriptState, json};

use super::{List, Part, TranscriptUpdate, UpdateBody};

/// What a frame costs besides its segments: two states, the numbers, the tags around them.
const FRAME_BYTES: usize = 160;
/// A kept range at most.
const KEEP_BYTES: usize = 32;
/// A message besides its texts at most: tags, lengths, numbers, `omitted`.
const MESSAGE_BYTES: usize = 128;
/// A text besides its bytes at most.
const TEXT_BYTES: usize = 6;

/// How large frames may be, in bytes of the encoded update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// The first part, which shares its frame with the start of the hook.
    pub first: usize,
    /// Every further part.
    pub rest: usize,
}

/// An update in frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// At least one, in order.
    pub updates: Vec<TranscriptUpdate>,
    /// Indexes in the new list of the messages that travel as stubs, each worth one warning (R2.5).
    pub stubbed: Vec<usize>,
}

/// Cuts the segments of `new` into frames within the limits, each with the state after it.
///
/// `segments` describe `new` over the list that `base` is the state of. A message that fits into no
/// frame travels as a stub with the digest of the whole (R2.5).
pub fn parts(
    (seq, list): (u32, List),
    base: TranscriptState,
    new: &Transcript,
    segments: Vec<Segment>,
    limits: PartLimits,
) -> Parts {
    let mut cutter = Cutter {
        room: limits.first.saturating_sub(FRAME_BYTES),
        part: Part {
            base,
            ..Part::default()
        },
        parts: Vec::new(),
        done: 0,
    };
    let whole_frame = limits.rest.saturating_sub(FRAME_BYTES);
    let mut stubbed = Vec::new();
    for segment in segments {
        let segment = match segment {
            Segment::Insert(message) if encoded_len(&message) > whole_frame => {
                stubbed.push(cutter.done);
                Segment::Insert(omitted(&message))
            }
            fitting @ (Segment::Insert(_) | Segment::Keep(_)) => fitting,
        };
        cutter.add(segment, new, whole_frame);
    }
    let updates = cutter.finish(new).into_iter();
    let updates = updates.map(|part| TranscriptUpdate {
        seq,
        list,
        body: UpdateBody::Part(part),
    });
    Parts {
        updates: updates.collect(),
        stubbed,
    }
}

struct Cutter {
    /// Bytes left in the part at hand.
    room: usize,
    part: Part,
    parts: Vec<Part>,
    /// Messages of the new list that the segments so far describe.
    done: usize,
}

impl Cutter {
    fn add(&mut self, segment: Segment, new: &Transcript, whole_frame: usize) {
        let (bytes, messages) = match &segment {
            Segment::Keep(range) => (KEEP_BYTES, range.len()),
            Segment::Insert(message) => (encoded_len(message), 1),
        };
        // A stub larger than a frame cannot be made smaller: it goes alone and the sender's own
        // size check refuses it.
        let alone = self.part.segments.is_empty() && !self.parts.is_empty();
        if bytes > self.room && !alone {
            let base = self.part.base;
            let mut full = std::mem::replace(
                &mut self.part,
                Part {
                    base,
                    ..Part::default()
                },
            );
            full.head = new.state_at(self.done).unwrap_or_default();
            full.more = true;
            self.parts.push(full);
            self.room = whole_frame;
        }
        self.room = self.room.saturating_sub(bytes);
        self.done += messages;
        self.part.segments.push(segment);
    }

    fn finish(mut self, new: &Transcript) -> Vec<Part> {
        self.part.head = new.state();
        self.parts.push(self.part);
        self.parts
    }
}

/// What a message costs in a frame, in bytes: never less than its encoded size.
pub fn encoded_len(message: &Message) -> usize {
    let calls = message
        .tool_call_ids()
        .iter()
        .map(|id| id.len() + TEXT_BYTES);
    let texts = [
        message.role().len(),
        message.entry_id().as_str().len(),
        message.log_entry_id().map_or(0, |id| id.as_str().len()),
        message.tool_result_for().map_or(0, str::len),
    ];
    message.payload().len() + calls.sum::<usize>() + texts.iter().sum::<usize>() + MESSAGE_BYTES
}

/// What travels in place of a message that is too large: its header, its hash, and a stub payload
/// (R2.5).
pub fn omitted(message: &Message) -> Message {
    if message.omitted().is_some() {
        return message.clone();
    }
    let omitted = Omitted {
        bytes: message.payload().len() as u64,
        sha256: sha256(message.payload()),
    };
    let note = json::quote(&format!("[{} bytes omitted]", omitted.bytes));
    let role = json::quote(message.role());
    let payload = Bytes::from(format!(r#"{{"role":{role},"content":{note}}}"#));
    Message::with_header(payload, message.header().clone())
        .with_entry_id(message.entry_id().clone())
        .with_log_entry_id(message.log_entry_id().cloned())
        .with_estimated_tokens(message.estimated_tokens())
        .with_synthetic(message.is_synthetic())
        .with_omitted(Some(omitted))
}
