//! A real coding session, where it is at hand.

use std::path::Path;

use contextwire_engine::{Message, Transcript};
use contextwire_windowed::Window;
use serde_json::Value;

use crate::support::*;

/// The session's messages, or none with a word about it.
fn session() -> Option<Transcript> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/transcripts/coding-session-990.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: the recorded session is not at {}", path.display());
        return None;
    };
    let messages = lines.lines().filter_map(|line| {
        let entry: Value = serde_json::from_str(line).ok()?;
        entry
            .get("message")
            .map(|payload| Message::from_payload(payload.to_string()))
    });
    Some(messages.collect())
}

#[test]
fn every_budget_gives_a_valid_window_of_the_recorded_session() {
    let Some(session) = session() else { return };
    for budget in [
        2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 100_000, 200_000,
    ] {
        let reply = checked(&session, &included(budget));
        assert!(
            reply.estimated_tokens <= budget,
            "{} of {budget}",
            reply.estimated_tokens
        );
        assert!(
            reply.estimated_tokens > budget / 2,
            "{} of {budget}",
            reply.estimated_tokens
        );
    }
}

#[test]
fn every_turn_of_the_recorded_session_can_be_assembled() {
    let Some(session) = session() else { return };
    let users = (0..session.len()).filter(|at| session.get(*at).unwrap().role() == "user");
    for user in users {
        let so_far = session.prefix(user + 1);
        for budget in [2_000, 20_000] {
            let reply = checked(&so_far, &included(budget));
            assert!(
                reply.estimated_tokens <= budget,
                "turn at {user}: {}",
                reply.estimated_tokens
            );
        }
    }
}

#[test]
fn the_whole_recorded_session_is_valid_without_a_budget() {
    let Some(session) = session() else { return };
    let reply = checked(
        &session,
        &Window {
            model: Some("gpt-5"),
            ..included(0)
        },
    );
    assert!(reply.messages.len() > 950);
}
