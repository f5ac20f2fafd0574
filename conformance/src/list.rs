//! Messages and lists as the suite sends them, with digests computed here.

use bytes::Bytes;
use contextwire_proto::v1;
use sha2::{Digest, Sha256};

/// A message with this payload; the header is what its payload says.
pub fn message(entry_id: &str, role: &str, payload: impl Into<Bytes>) -> v1::Message {
    v1::Message {
        payload: payload.into(),
        entry_id: entry_id.to_owned(),
        role: role.to_owned(),
        ..v1::Message::default()
    }
}

/// A message of plain text.
pub fn text(entry_id: &str, role: &str, text: &str) -> v1::Message {
    message(
        entry_id,
        role,
        format!(r#"{{"role":"{role}","content":"{text}"}}"#),
    )
}

/// A conversation of so many messages, user first.
pub fn conversation(len: usize) -> Vec<v1::Message> {
    (0..len)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            text(&format!("e{n}"), role, &format!("message number {n}"))
        })
        .collect()
}

/// A conversation of so many rounds, each a user message, a tool call, its result and an answer.
pub fn tool_rounds(rounds: usize) -> Vec<v1::Message> {
    let round = |n: usize| {
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"call{n}","name":"read","arguments":{{"path":"file{n}"}}}}]}}"#
        );
        let output = "line of output ".repeat(40);
        let result = format!(
            r#"{{"role":"toolResult","toolCallId":"call{n}","toolName":"read","content":[{{"type":"text","text":"{output}{n}"}}],"isError":false}}"#
        );
        [
            text(&format!("u{n}"), "user", &format!("please read file {n}")),
            v1::Message {
                tool_call_ids: vec![format!("call{n}")],
                ..message(&format!("c{n}"), "assistant", call)
            },
            v1::Message {
                tool_result_for: Some(format!("call{n}")),
                ..message(&format!("r{n}"), "toolResult", result)
            },
            text(&format!("a{n}"), "assistant", &format!("file {n} is read")),
        ]
    };
    (0..rounds).flat_map(round).collect()
}

/// `SHA-256(len ‖ entry_id ‖ len ‖ role ‖ SHA-256(payload))`, lengths as u32 big endian.
fn digest(message: &v1::Message) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for text in [&message.entry_id, &message.role] {
        hasher.update(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(Sha256::digest(&message.payload));
    hasher.finalize().into()
}

/// The state of a list: its length and the chain over its digests.
pub fn state(list: &[v1::Message]) -> v1::TranscriptState {
    let chain = list.iter().fold([0; 32], |chain, message| {
        let mut hasher = Sha256::new();
        hasher.update(chain);
        hasher.update(digest(message));
        hasher.finalize().into()
    });
    v1::TranscriptState {
        count: list.len() as u64,
        chain: chain.to_vec().into(),
    }
}

/// A segment that inserts a message.
pub fn insert(message: v1::Message) -> v1::Segment {
    v1::Segment {
        kind: Some(v1::segment::Kind::Insert(message)),
    }
}

/// A segment that keeps a range.
pub fn keep(start: u64, count: u64) -> v1::Segment {
    v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start, count })),
    }
}

/// The update that sends the whole list from zero in one part.
pub fn full(list: v1::TranscriptList, seq: u32, messages: &[v1::Message]) -> v1::TranscriptUpdate {
    v1::TranscriptUpdate {
        seq,
        list: list.into(),
        base: Some(state(&[])),
        segments: messages.iter().cloned().map(insert).collect(),
        head: Some(state(messages)),
        more: false,
        unavailable: false,
    }
}

/// The update that keeps what `base` holds and appends the rest of `messages`.
pub fn appended(
    list: v1::TranscriptList,
    base: &[v1::Message],
    messages: &[v1::Message],
) -> v1::TranscriptUpdate {
    let kept = (!base.is_empty()).then(|| keep(0, base.len() as u64));
    let new = messages.iter().skip(base.len()).cloned().map(insert);
    v1::TranscriptUpdate {
        base: Some(state(base)),
        segments: kept.into_iter().chain(new).collect(),
        ..full(list, 1, messages)
    }
}

/// The answer of a host that cannot serve a list.
pub fn unavailable(need: &v1::NeedTranscript) -> v1::TranscriptUpdate {
    v1::TranscriptUpdate {
        seq: need.seq,
        list: need.list,
        unavailable: true,
        ..v1::TranscriptUpdate::default()
    }
}

/// A state as people read it.
pub fn shown(state: Option<&v1::TranscriptState>) -> String {
    let Some(state) = state else {
        return "none".to_owned();
    };
    let start = state
        .chain
        .first_chunk()
        .map(|start| u32::from_be_bytes(*start));
    let chain = start.unwrap_or_default();
    format!("{} messages, chain {chain:08x}…", state.count)
}

/// Bytes of a message on the wire.
pub(crate) fn encoded(message: &impl prost::Message) -> Bytes {
    message.encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn r3_the_empty_list_has_a_chain_of_zeroes() {
        assert_eq!(state(&[]).chain.as_ref(), [0; 32]);
        assert_eq!(state(&[]).encode_to_vec().len(), 34);
    }

    #[test]
    fn r3_lengths_keep_id_and_role_apart() {
        assert_ne!(digest(&text("ab", "c", "")), digest(&text("a", "bc", "")));
    }
}
