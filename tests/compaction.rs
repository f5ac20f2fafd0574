//! The legacy engine's compaction over a socket: the log travels when it is asked for, the summary
//! comes back.

use contextwire_client::ServedBy;
use contextwire_engine::{Compact, Compacted, Message, Transcript};
use contextwire_legacy::{CompactionSite, Extract, LegacyEngine, LegacyOptions};

use crate::harness::{Place, Running, session};

/// So many turns of about 1 000 tokens each.
fn log(turns: usize) -> Transcript {
    let words = " word".repeat(500);
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let payload = format!(r#"{{"role":"{role}","content":"message {n}{words}"}}"#);
        Message::from_payload(payload).with_entry_id(format!("e{n}"))
    };
    (0..turns * 2).map(message).collect()
}

fn forced() -> Compact {
    Compact {
        force: true,
        ..Compact::default()
    }
}

async fn serve(place: &Place) -> Running {
    let options = LegacyOptions {
        site: CompactionSite::Engine,
        summarizer: std::sync::Arc::new(Extract),
        ..LegacyOptions::default()
    };
    place.serve(LegacyEngine::new(options)).await
}

async fn compact(place: &Place, log: Option<Transcript>) -> Compacted {
    let client = place.client();
    let client = log.map_or(client.clone(), |log| client.with_log(log));
    let served = client.compact(&session("s"), forced()).await.unwrap();
    assert_eq!(served.by, ServedBy::Engine("legacy".into()));
    served.result
}

#[tokio::test]
async fn a_host_that_shows_its_log_gets_a_summary_and_the_entry_that_stays() {
    let place = Place::new();
    let _server = serve(&place).await;
    let answer = compact(&place, Some(log(60))).await;
    assert!(answer.ok && answer.compacted);
    let result = answer.result.unwrap();
    assert_eq!(result.first_kept_entry_id, Some("e80".into()));
    assert!(result.tokens_after.unwrap() < result.tokens_before);
    let summary = result.summary.unwrap();
    assert!(summary.starts_with("This is an extract") && summary.contains("message 0 "));
    // The next one goes on from there: it says more of what is new than of what it knew.
    let answer = compact(&place, Some(log(90))).await;
    assert!(
        answer
            .result
            .unwrap()
            .summary
            .unwrap()
            .contains("## Before")
    );
}

#[tokio::test]
async fn r1_2_a_host_that_shows_no_log_and_serves_no_calls_is_told_so() {
    let place = Place::new();
    let _server = serve(&place).await;
    let answer = compact(&place, None).await;
    assert!(!answer.ok && !answer.compacted);
    assert!(answer.reason.unwrap().starts_with("HOST_CALL_UNAVAILABLE"));
}
