//! A conversation in turns of six: a question of 60 tokens, two calls with results of 300, an answer
//! of 90.

use contextwire_engine::Message;

/// Words of one token each, or nearly.
const WORDS: [&str; 16] = [
    "the", "gauge", "reads", "tide", "and", "writes", "a", "row", "per", "minute", "to", "disk",
    "when", "level", "falls", "below",
];

/// Bytes of a word with its space, on average.
const WORD_BYTES: usize = 5;

/// A conversation of any length; equal places have equal messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Talk {
    next: usize,
    /// What a result has beyond its 300 tokens, in bytes.
    wide: usize,
}

impl Talk {
    /// Messages of a turn.
    pub(super) const TURN: usize = 6;

    /// A conversation that is so long, whose results are so many bytes longer.
    pub(super) fn of(length: usize, wide: usize) -> Self {
        Self { next: length, wide }
    }

    /// The messages so far.
    pub(super) fn so_far(self) -> impl Iterator<Item = Message> {
        self.newest(self.next)
    }

    /// So many of them, the newest.
    pub(super) fn newest(self, count: usize) -> impl Iterator<Item = Message> {
        (self.next.saturating_sub(count)..self.next).map(move |place| message(place, self.wide))
    }

    /// The next messages.
    pub(super) fn take(&mut self, count: usize) -> Vec<Message> {
        let start = self.next;
        self.next += count;
        self.newest(self.next - start).collect()
    }

    /// The number of the turn that comes next.
    pub(super) fn turn(self) -> usize {
        self.next / Self::TURN
    }
}

fn message(place: usize, wide: usize) -> Message {
    let time = 1_700_000_000_000_u64 + place as u64 * 1_000;
    let call = place / 2;
    let payload = match place % Talk::TURN {
        0 => format!(
            r#"{{"role":"user","content":"{}","timestamp":{time}}}"#,
            text(place, 60)
        ),
        1 | 3 => format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"call-{call}","name":"read","arguments":{{"path":"src/{place}.rs"}}}}],"timestamp":{time}}}"#
        ),
        2 | 4 => format!(
            r#"{{"role":"toolResult","toolCallId":"call-{}","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false,"timestamp":{time}}}"#,
            (place - 1) / 2,
            text(place, 300 + wide / WORD_BYTES)
        ),
        _ => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}],"timestamp":{time}}}"#,
            text(place, 90)
        ),
    };
    Message::from_payload(payload).with_entry_id(format!("e{place}"))
}

fn text(place: usize, words: usize) -> String {
    let mut text = place.to_string();
    for word in 0..words {
        text.push(' ');
        // A stride that differs from place to place, or all messages would hold one text.
        let at = (word * (1 + place % 7) + place) % WORDS.len();
        text.push_str(WORDS.get(at).copied().unwrap_or("tide"));
    }
    text
}

#[cfg(test)]
mod tests {
    use contextwire_engine::pairing::Pairing;
    use contextwire_engine::tokens::{ModelFamily, estimate_message};

    use super::*;

    #[test]
    fn a_turn_has_six_messages_of_the_told_sizes_and_every_call_its_result() {
        let mut talk = Talk::default();
        let messages = talk.take(12);
        let roles: Vec<&str> = messages.iter().take(6).map(Message::role).collect();
        assert_eq!(
            roles,
            [
                "user",
                "assistant",
                "toolResult",
                "assistant",
                "toolResult",
                "assistant"
            ]
        );
        let pairing = Pairing::of(&messages);
        assert!(
            pairing.calls().len() == 4 && pairing.calls().iter().all(|call| call.result.is_some())
        );
        let tokens = |at: usize| estimate_message(ModelFamily::Other, &messages[at]);
        assert!((55..80).contains(&tokens(0)), "{}", tokens(0));
        assert!((290..340).contains(&tokens(2)), "{}", tokens(2));
        assert_eq!(talk.turn(), 2);
    }
}
