//! A closed turn in one message: it has no parts, so what does not fit travels as stubs (R2.5).

use contextwire_engine::{CommitTurn, Message};
use contextwire_proto::sync::{encoded_len, omitted};

/// Leaves out bodies, the largest first, until the messages take no more than `room` bytes.
pub(super) fn fit(mut turn: CommitTurn, room: usize) -> CommitTurn {
    let mut bytes: usize = turn.messages.iter().map(encoded_len).sum();
    let mut stubs = 0;
    while bytes > room {
        let whole = turn.messages.iter_mut();
        let whole = whole.filter(|message| message.omitted().is_none());
        let Some(largest) = whole.max_by_key(|message| encoded_len(message)) else {
            break;
        };
        let stub: Message = omitted(largest);
        let saved = encoded_len(largest).saturating_sub(encoded_len(&stub));
        if saved == 0 {
            break;
        }
        *largest = stub;
        bytes -= saved;
        stubs += 1;
    }
    if stubs > 0 {
        tracing::warn!(
            messages = stubs,
            "bodies over the size limit travel as stubs"
        );
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(sizes: &[usize]) -> CommitTurn {
        let message = |size: &usize| {
            let text = "x".repeat(*size);
            Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#))
        };
        CommitTurn {
            messages: sizes.iter().map(message).collect(),
            ..CommitTurn::default()
        }
    }

    fn stubs(turn: &CommitTurn) -> Vec<bool> {
        let messages = turn.messages.iter();
        messages.map(|it| it.omitted().is_some()).collect()
    }

    #[test]
    fn r2_5_a_turn_over_the_limit_leaves_out_its_largest_bodies_and_keeps_what_they_are() {
        let whole = turn(&[2_000, 9_000, 100, 5_000]);
        assert_eq!(fit(whole.clone(), 20_000), whole);
        let one = fit(whole.clone(), 10_000);
        assert_eq!(stubs(&one), [false, true, false, false]);
        let three = fit(whole.clone(), 2_000);
        assert_eq!(stubs(&three), [true, true, false, true]);
        for (left, right) in whole.messages.iter().zip(&three.messages) {
            assert_eq!(left.digest(), right.digest());
        }
        // Nothing is left to leave out: the sender's own check of sizes refuses it.
        assert_eq!(stubs(&fit(whole, 10)), [true; 4]);
    }
}
