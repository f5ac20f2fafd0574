//! One message in the form in which a provider takes it, for engines that choose by themselves.
//!
//! The rules are those of the window: nothing empty, nothing of an answer that broke off, no thinking
//! of another model, tool output cut to its head and tail. Every form is of the same entry and, unless
//! the rule had to invent it, not synthetic.

use contextwire_engine::Message;

pub use crate::clean::Reader;
pub use crate::shorten::{can_shorten, level, shorten};

use crate::body::Body;
use crate::clean::{edits, is_unsendable};
use crate::invent;
use crate::unit::{HEARTBEAT_ACK, plain_text};

/// A host's heartbeat: its poll, and the answer that there is nothing to do (I11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heartbeat {
    /// Neither.
    #[default]
    No,
    /// A text that names the answer it wants.
    Poll,
    /// That answer and nothing else.
    Ack,
}

/// What the rules see in a message, found in one scan of its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether it shows a model nothing.
    pub is_blank: bool,
    /// Whether every reader takes it as it stands.
    pub is_plain: bool,
    /// Whether it is an answer that broke off: its calls may be half written.
    pub is_aborted: bool,
    /// Images in it.
    pub images: usize,
    /// Bytes of their JSON.
    pub image_bytes: usize,
    /// Whether it is one half of a heartbeat.
    pub heartbeat: Heartbeat,
}

impl Look {
    /// Looks into a message.
    pub fn of(message: &Message) -> Self {
        let body = Body::of(message.payload());
        let heartbeat = match message.role() {
            "user" if plain_text(&body).contains(HEARTBEAT_ACK) => Heartbeat::Poll,
            "assistant" if plain_text(&body).trim() == HEARTBEAT_ACK => Heartbeat::Ack,
            _ => Heartbeat::No,
        };
        let stranger = Reader {
            provider: None,
            model: Some("/"),
        };
        Self {
            is_blank: is_unsendable(message, &body),
            is_plain: edits(message, &body, &stranger, body.images().count()).is_empty(),
            is_aborted: body.is_aborted,
            images: body.images().count(),
            image_bytes: body.images().map(|image| image.span.len()).sum(),
            heartbeat,
        }
    }
}

/// The message without what this reader must not see, and with its oldest `images` images replaced by
/// a reference; none where it may be sent as it stands.
pub fn cleaned(message: &Message, reader: &Reader<'_>, images: usize) -> Option<Message> {
    let body = Body::of(message.payload());
    let edits = edits(message, &body, reader, images);
    if edits.is_empty() {
        return None;
    }
    invent::edited(message, &edits)
}

/// A synthetic error result for a call of `caller` that nobody answered (A05).
pub fn missing_result(caller: &Message, id: &str) -> Message {
    invent::missing_result(caller, &Body::of(caller.payload()), id)
}

/// A synthetic user message that lets a list start as providers want it (A14).
pub fn opening(timestamp_ms: Option<i64>) -> Message {
    invent::opening(timestamp_ms)
}

#[cfg(test)]
mod tests {
    use contextwire_engine::tokens::ModelFamily;

    use super::*;

    #[test]
    fn a_look_tells_blank_broken_off_and_heartbeat_messages() {
        let look = |payload: &str| Look::of(&Message::from_payload(payload.to_owned()));
        assert!(look(r#"{"role":"user","content":[]}"#).is_blank);
        assert!(look(r#"{"role":"assistant","content":"half","stopReason":"aborted"}"#).is_aborted);
        let poll = look(r#"{"role":"user","content":"Say HEARTBEAT_OK if nothing is due."}"#);
        assert_eq!(poll.heartbeat, Heartbeat::Poll);
        let ack = look(r#"{"role":"assistant","content":[{"type":"text","text":"HEARTBEAT_OK"}]}"#);
        assert_eq!(ack.heartbeat, Heartbeat::Ack);
        let image = look(r#"{"role":"user","content":[{"type":"image","data":"QUJD"}]}"#);
        assert_eq!((image.images, image.image_bytes), (1, 30));
        assert!(ack.is_plain && !image.is_plain);
        let thought = r#"{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}]}"#;
        assert!(!look(thought).is_plain);
    }

    #[test]
    fn a_cut_names_where_the_whole_is() {
        let text = "line of output\\n".repeat(2_000);
        let payload = format!(r#"{{"role":"toolResult","toolCallId":"c","content":"{text}"}}"#);
        let message = Message::from_payload(payload);
        let short = shorten(&message, 200, ModelFamily::Other, Some("msg:7")).unwrap();
        let text = String::from_utf8_lossy(short.payload()).into_owned();
        assert!(text.contains("characters left out; the whole is msg:7 ..."));
    }
}
