//! What a host puts into a list for its own run, and no engine is told (HOST-SEMANTICS 2.1).

use contextwire_engine::json::{Cursor, JsonError};
use contextwire_engine::{Message, Transcript};

/// A list without what is hidden, and how many of its first `before` messages are left.
pub fn without_hidden(
    list: &Transcript,
    before: usize,
    is_hidden: impl Fn(&Message) -> bool,
) -> (Transcript, usize) {
    let mut left = before.min(list.len());
    let mut visible = Transcript::new();
    for (index, message) in list.iter().enumerate() {
        if !is_hidden(message) {
            visible.push(message.clone());
        } else if index < before {
            left = left.saturating_sub(1);
        }
    }
    (visible, left)
}

/// Whether a message carries facts of a run, by the mark `runtimeContextCarrier`. A host that marks
/// them otherwise judges them itself.
pub fn carries_runtime_context(message: &Message) -> bool {
    ["custom", "user"].contains(&message.role()) && is_marked(message.payload()).unwrap_or(false)
}

fn is_marked(payload: &[u8]) -> Result<bool, JsonError> {
    let mut cursor = Cursor::new(payload);
    let mut marked = false;
    cursor.begin_object()?;
    while let Some(key) = cursor.next_key()? {
        let value = cursor.skip_value()?;
        if key.is("runtimeContextCarrier") {
            marked = cursor.raw(value) == b"true";
        }
    }
    Ok(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Transcript {
        [
            r#"{"role":"user","content":"one"}"#,
            r#"{"role":"custom","customType":"facts","content":"x","runtimeContextCarrier":true}"#,
            r#"{"role":"assistant","content":"two"}"#,
            r#"{"role":"user","content":"three"}"#,
        ]
        .map(Message::from_payload)
        .into_iter()
        .collect()
    }

    #[test]
    fn c141_facts_of_the_run_are_taken_out_and_not_counted() {
        let list = list();
        let (visible, before) = without_hidden(&list, 3, carries_runtime_context);
        assert_eq!((visible.len(), before), (3, 2));
        let own: Vec<_> = [0, 2, 3].map(|index| list.get(index).unwrap()).into();
        assert!(visible.iter().eq(own));
        // What is hidden behind the prompt changes no count before it.
        let (_, before) = without_hidden(&list, 1, carries_runtime_context);
        assert_eq!(before, 1);
        let (same, before) = without_hidden(&list, 9, |_| false);
        assert_eq!((same.state(), before), (list.state(), 4));
    }

    #[test]
    fn only_a_true_mark_of_a_message_that_can_carry_it_hides() {
        for payload in [
            r#"{"role":"custom","runtimeContextCarrier":false}"#,
            r#"{"role":"custom","runtimeContextCarrier":true,"runtimeContextCarrier":null}"#,
            r#"{"role":"custom","details":{"runtimeContextCarrier":true}}"#,
            r#"{"role":"assistant","runtimeContextCarrier":true}"#,
            r#"{"role":"custom""#,
        ] {
            assert!(!carries_runtime_context(&Message::from_payload(payload)));
        }
        let user = r#"{"role":"user","runtimeContextCarrier":true}"#;
        assert!(carries_runtime_context(&Message::from_payload(user)));
    }
}
