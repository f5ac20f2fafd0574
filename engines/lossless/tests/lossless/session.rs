//! A real coding session, where it is at hand, through the whole engine.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use contextwire_engine::{Compact, ContextEngine, Message, TokenBudget, Transcript};
use contextwire_lossless::{LosslessEngine, LosslessOptions, PastSession, open_file};
use serde_json::Value;

use super::stub::Stub;
use super::support::*;

/// The session's messages, or none with a word about it.
#[expect(clippy::print_stdout, reason = "says that it was skipped")]
fn session() -> Option<Vec<Message>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/transcripts/coding-session-990.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: the recorded session is not at {}", path.display());
        return None;
    };
    let messages = (0..).zip(lines.lines()).filter_map(|(line, text)| {
        let entry: Value = serde_json::from_str(text).ok()?;
        let payload = entry.get("message")?.to_string();
        Some(Message::from_payload(payload).with_entry_id(format!("m{line}")))
    });
    Some(messages.collect())
}

/// Ids of calls, or of what answers them, in the order in which they are shown.
fn calls(messages: &[Value]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut asked, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for message in messages {
        let parts = message["content"].as_array().into_iter().flatten();
        let made = parts.filter(|part| part["type"] == "toolCall");
        asked.extend(made.filter_map(|part| Some(part["id"].as_str()?.to_owned())));
        if let Some(id) = message["toolCallId"].as_str() {
            assert!(asked.contains(id), "a result stands before its call");
            answered.insert(id.to_owned());
        }
    }
    (asked, answered)
}

#[tokio::test]
async fn a01_a02_c01_the_recorded_session_is_whole_at_every_budget() {
    let Some(session) = session() else { return };
    let log: Transcript = session.into_iter().collect();
    for budget in [2_000, 8_000, 32_000, 60_000, 100_000, 200_000] {
        let place = Place::new();
        let options = LosslessOptions {
            summarizer: Arc::new(Stub::default()),
            ..LosslessOptions::default()
        };
        let engine = LosslessEngine::open(&place.path(), options).unwrap();
        bootstrap(&engine, &call(), log.clone()).await;
        for is_compacted in [false, true] {
            if is_compacted {
                let room = Compact {
                    token_budget: TokenBudget::new(budget),
                    force: true,
                    ..Compact::default()
                };
                let compacted = engine.compact(&call(), room).await.unwrap();
                assert!(compacted.compacted, "{budget}: {compacted:?}");
            }
            let reply = assemble(&engine, &call(), &log, Some(budget)).await;
            let estimate = reply.estimated_tokens;
            assert!(estimate <= budget, "{estimate} of {budget}");
            let shown: Vec<Value> = payloads(&reply, &log)
                .iter()
                .map(|payload| serde_json::from_str(payload).unwrap())
                .collect();
            let (asked, answered) = calls(&shown);
            assert_eq!(asked, answered, "{budget}: a pair is split");
        }
        let file = open_file(&place.path()).unwrap();
        let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
        assert_eq!(past.faults(file.rows()).unwrap(), [], "{budget}");
        assert_eq!(past.entries(), log.state().count);
        assert!(!past.plan().summaries().is_empty());
    }
}
