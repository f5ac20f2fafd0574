use contextwire_proto::Refusal;
use contextwire_proto::status::status;

use super::*;
use crate::error::FailureClass;

fn later() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[tokio::test]
async fn a_peers_words_move_no_cursor_and_are_cut() {
    let long = format!("boom \u{1b}[31m\n{}", "ü".repeat(3000));
    let statuses = [
        Status::new(Code::Unavailable, long.clone()),
        Status::new(Code::NotFound, long.clone()),
        Status::new(Code::InvalidArgument, long),
    ];
    for status in statuses {
        let shown = classify(status, later()).to_string();
        assert!(shown.contains("boom  [31m ü"), "{shown}");
        assert!(shown.len() < TEXT_BYTES + 100, "{}", shown.len());
    }
}

#[tokio::test]
async fn only_our_engine_failure_is_the_engines_fault() {
    let ours = classify(status(Reason::EngineFailure, "bug"), later());
    assert_eq!(ours.class(), FailureClass::Engine);
    for code in [
        Code::Internal,
        Code::Unknown,
        Code::DataLoss,
        Code::ResourceExhausted,
    ] {
        let bare = classify(Status::new(code, "h2 protocol error"), later());
        assert_eq!(bare.class(), FailureClass::Transient, "{code:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn br_146_cancelled_after_the_own_timer_is_a_deadline_and_before_it_is_not() {
    let fired = classify(Status::cancelled("Timeout expired"), Instant::now());
    assert_eq!(fired.code(), "DEADLINE_EXCEEDED");
    let early = classify(Status::cancelled("operation was canceled"), later());
    assert_eq!(early.code(), "UNREACHABLE");
}

#[tokio::test]
async fn r6_1_each_reason_counts_as_the_table_says() {
    let counts = |reason| counts_as(&classify(status(reason, ""), later()));
    for reason in Reason::ALL {
        let expected = match reason.name() {
            "ENGINE_FAILURE" => CountsAs::Quarantine,
            "TRANSCRIPT_DIGEST_MISMATCH" | "CONTRACT_VIOLATION" => CountsAs::SlowBreaker,
            "METHOD_ABSENT"
            | "DRAINING"
            | "OVERLOADED"
            | "DEPENDENCY_UNAVAILABLE"
            | "DEADLINE_EXCEEDED" => CountsAs::Breaker,
            _ => CountsAs::Nothing,
        };
        assert_eq!(counts(reason), expected, "{reason}");
    }
}

#[tokio::test]
async fn r6_2_without_our_reason_four_codes_are_judged_and_the_rest_is_the_way() {
    let counts = |code| counts_as(&classify(Status::new(code, "h2 protocol error"), later()));
    for code in [
        Code::Cancelled,
        Code::Unknown,
        Code::Internal,
        Code::DataLoss,
        Code::ResourceExhausted,
        Code::OutOfRange,
        Code::Aborted,
        Code::Unavailable,
        Code::DeadlineExceeded,
        Code::Unimplemented,
    ] {
        assert_eq!(counts(code), CountsAs::Breaker, "{code:?}");
    }
    for code in [
        Code::Unauthenticated,
        Code::PermissionDenied,
        Code::InvalidArgument,
    ] {
        assert_eq!(counts(code), CountsAs::Nothing, "{code:?}");
    }
}

#[tokio::test]
async fn r7_11_already_exists_is_a_conflict_of_keys_with_and_without_our_reason() {
    let bare = classify(Status::already_exists("taken"), later());
    assert_eq!(bare.code(), "IDEMPOTENCY_CONFLICT");
    assert_eq!(again(&bare), Again::Never);
    assert_eq!(counts_as(&bare), CountsAs::Nothing);
}

#[tokio::test]
async fn r7_8_where_nobody_listens_nothing_is_tried_again() {
    let known = crate::describe::Acquaintance::of_nobody();
    let error = known.ask(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(error.code(), "UNREACHABLE");
    assert_eq!(again(&error), Again::Never);
    let gone = Status::from_error(Box::new(std::io::Error::from(
        std::io::ErrorKind::BrokenPipe,
    )));
    assert_eq!(
        again(&classify(gone, later())),
        Again::After(Duration::ZERO)
    );
}

#[tokio::test]
async fn r7_9_a_generation_conflict_carries_the_recorded_pair() {
    let refusal = Refusal::new(Reason::GenerationConflict, "too late")
        .with("host_epoch", &7)
        .with("session_seq", &9);
    let CallError::Overtaken { recorded } = classify(refusal.into_status(), later()) else {
        panic!("overtaken");
    };
    assert_eq!((recorded.host_epoch, recorded.session_seq), (7, Some(9)));
    // Without a pair there is nothing to raise above.
    let bare = classify(status(Reason::GenerationConflict, "too late"), later());
    assert_eq!(bare.code(), "GENERATION_CONFLICT");
}

#[tokio::test]
async fn codes_that_mean_the_same_without_details_are_judged() {
    let absent = classify(Status::unimplemented(""), later());
    assert_eq!(absent.code(), "METHOD_ABSENT");
    let denied = classify(Status::permission_denied("no"), later());
    assert_eq!(denied.code(), "PERMISSION_DENIED");
}
