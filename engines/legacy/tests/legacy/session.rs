//! A real coding session, where it is at hand.

use std::path::Path;

use contextwire_engine::pairing::broken_pairs;
use contextwire_engine::{Assembled, Message, Transcript};
use contextwire_legacy::{CompactOptions, Earlier, Extract};
use serde_json::Value;

use crate::support::*;

/// The session's messages under ids of this test's own, or none with a word about it.
fn recorded() -> Option<Transcript> {
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
    Some(list(messages))
}

#[tokio::test]
async fn every_window_compacts_the_recorded_session_below_itself() {
    let Some(log) = recorded() else { return };
    for window in [8_000, 16_000, 32_000, 60_000, 200_000] {
        let done = compacted(&log, &forced_within(window), &Extract).await;
        let shown = Assembled::keep(done.first_kept..log.len());
        assert_eq!(broken_pairs(&log, &shown), []);
        let context = done.context(&log, 0);
        let tokens: u64 = context
            .iter()
            .map(|m| {
                u64::from(contextwire_engine::tokens::estimate_message(
                    <_>::default(),
                    m,
                ))
            })
            .sum();
        let kept = log.len() - done.first_kept;
        println!(
            "{window}: {tokens} tokens, {kept} of {} messages stay",
            log.len()
        );
        // The session ends with a command's output of 29 000 tokens, which no cut can part.
        assert!(tokens < window || kept == 1, "{tokens} of {window}");
        assert!(done.tokens_after < done.tokens_before / 5);
        let files = details(&done)["modifiedFiles"].as_array().unwrap().len();
        assert!(files > 10, "{files}");
    }
}

#[tokio::test]
async fn a_session_that_grows_is_compacted_again_and_again_from_the_summary_before() {
    let Some(log) = recorded() else { return };
    let mut earlier: Option<Earlier> = None;
    for end in (300..=log.len()).step_by(200) {
        let options = CompactOptions {
            earlier: earlier.clone(),
            ..forced_within(32_000)
        };
        let so_far = log.prefix(end);
        let script = Script::default();
        let done = compacted(&so_far, &options, &script).await;
        assert_eq!(script.seen()[0].earlier.is_some(), earlier.is_some());
        let covered = earlier.map_or(0, |earlier| earlier.covered);
        assert!(done.first_kept > covered);
        earlier = Some(Earlier {
            summary: done.summary,
            covered: done.first_kept,
            details: Some(done.details),
        });
    }
}
