//! HOST-SEMANTICS 3.4: callers that give up, and engines that say they were told to.

use tokio::time::timeout;

use super::*;
use crate::script::Line;

const SECOND: Duration = Duration::from_secs(1);

/// The records after a caller gave up a Compact which the engine then ended so; and the engine is
/// asked the next time.
async fn records_after(end: CallError) -> Vec<QuarantineRecord> {
    let host = Host::new([Line::Ends(2 * SECOND, Err(end)), well()]);
    let call = host.call(Compact::default());
    assert!(timeout(SECOND, call).await.is_err(), "the caller left");
    advance(5 * SECOND).await;
    assert_eq!(host.ingest_in("s").await, "answered");
    host.records()
}

#[tokio::test(start_paused = true)]
async fn c051_c052_an_engine_that_stops_when_its_caller_leaves_is_not_barred() {
    for end in [refused(Reason::Cancelled), failure("AbortError")] {
        assert_eq!(records_after(end).await, []);
    }
}

/// In process the failure would bar the engine. Here nobody waits for what comes after a caller
/// left (R6.3): the next caller meets the failure, where it lasts.
#[tokio::test(start_paused = true)]
async fn c054_whatever_an_engine_says_after_its_caller_left_is_not_judged() {
    assert_eq!(records_after(failure("disk full")).await, []);
}

#[tokio::test]
async fn c055_c056_a_failure_that_only_sounds_like_an_abort_bars_the_engine() {
    for text in ["AbortError", "the operation was aborted", "cancelled"] {
        let host = Host::new([fails(failure(text))]);
        let error = host.call(Compact::default()).await.unwrap_err();
        assert_eq!(error.code(), "ENGINE_FAILURE");
        assert_eq!(host.record().reason, text);
    }
}

#[tokio::test]
async fn c057_c058_a_caller_that_left_before_the_call_began_calls_nobody() {
    let host = Host::new([]);
    drop(host.call(Compact::default()));
    assert!(host.script.calls().is_empty());
    assert_eq!(host.records(), []);
}
