//! Sessions of any length, made up but shaped like real ones.

use contextwire_client::{Context, Served, ServedBy};
use contextwire_engine::{Message, Session, SessionId, Transcript};

const WORDS: [&str; 12] = [
    "the", "gauge", "reads", "tide", "and", "writes", "a", "row", "per", "minute", "to", "disk",
];

/// The message at this place of a conversation; its payload has `bytes` bytes, or the fewest that
/// hold its frame.
pub(super) fn message(place: usize, bytes: usize) -> Message {
    let role = if place.is_multiple_of(2) {
        "user"
    } else {
        "assistant"
    };
    let frame = format!(r#"{{"role":"{role}","content":"{place} "}}"#);
    let mut text = String::with_capacity(bytes);
    // A stride that differs from place to place, or all messages would hold one text.
    for word in WORDS.iter().cycle().step_by(1 + place % 5) {
        if frame.len() + text.len() >= bytes {
            break;
        }
        text.push_str(word);
        text.push(' ');
    }
    text.truncate(bytes.saturating_sub(frame.len()));
    let payload = format!(r#"{{"role":"{role}","content":"{place} {text}"}}"#);
    Message::from_payload(payload).with_entry_id(format!("e{place}"))
}

/// The first `len` messages of a conversation.
pub(super) fn transcript(len: usize, bytes: usize) -> Transcript {
    (0..len).map(|place| message(place, bytes)).collect()
}

/// A session by its id.
pub(super) fn session(id: impl Into<String>) -> anyhow::Result<Session> {
    Ok(Session::new(SessionId::new(id.into())?))
}

/// Passes on what the engine answered; a substitute's answer is no measurement of the engine.
pub(super) fn by_engine<T>(served: Served<T>) -> anyhow::Result<Served<T>> {
    match (&served.by, &served.reason) {
        (ServedBy::Engine(_), _) => Ok(served),
        (ServedBy::InProcess, Some(reason)) => {
            anyhow::bail!("the in-process engine answered: {reason}")
        }
        (ServedBy::InProcess, None) => anyhow::bail!("the in-process engine answered"),
    }
}

/// Makes sure that the host itself answered, and why.
pub(super) fn in_process(served: &Served<Context>, code: &str) -> anyhow::Result<()> {
    let reason = served.reason.as_ref().map_or("", |reason| reason.code());
    anyhow::ensure!(
        served.by == ServedBy::InProcess && reason == code,
        "{} answered with reason {reason:?}, {code} was expected",
        served.by
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_asked_size_and_differ() {
        for bytes in [100, 1_024, 1_600] {
            let list = transcript(6, bytes);
            assert!(list.iter().all(|message| message.payload().len() == bytes));
        }
        assert_eq!(message(3, 200).role(), "assistant");
        assert_ne!(message(1, 200).digest(), message(3, 200).digest());
    }
}
