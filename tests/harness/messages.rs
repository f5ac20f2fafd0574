//! Small sessions and lists.

use contextwire_engine::{Assemble, Message, Session, SessionId, Transcript};

/// A session by its id.
pub(crate) fn session(id: &str) -> Session {
    Session::new(SessionId::new(id).unwrap())
}

/// A message of a user or an assistant, by turns.
pub(crate) fn message(n: usize) -> Message {
    let role = if n.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    let payload = format!(r#"{{"role":"{role}","content":"message {n}","private":[{n}]}}"#);
    Message::from_payload(payload).with_entry_id(format!("e{n}"))
}

/// The first `len` messages of a conversation.
pub(crate) fn transcript(len: usize) -> Transcript {
    (0..len).map(message).collect()
}

/// A request for what the model is to see of a list.
pub(crate) fn view(transcript: &Transcript) -> Assemble {
    Assemble {
        transcript: transcript.clone(),
        ..Assemble::default()
    }
}
