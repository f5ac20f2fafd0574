//! What a failed delivery means for its row (R7.11).

use std::time::Duration;

use contextwire_engine::SpawnOutcome;
use contextwire_proto::Reason;

use super::row::{Row, StoredCall};
use crate::error::CallError;
use crate::request::EngineRequest;

/// How long a row is tried, and how long it waits for an engine that no slot names.
pub(super) const WEEK_MS: u64 = 7 * 24 * 3_600 * 1_000;
const FIRST_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 60_000;
/// The longest pause that an engine may ask for.
const LONGEST_ASKED_MS: u64 = 3_600_000;

/// What is done with the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is tried again then.
    Later { due_ms: u64 },
    /// No later try can end otherwise, or it waited for too long.
    Aside { reason: String },
}

/// The verdict over a row; `is_ready` says that the engine is up and has said what it has.
pub(super) fn verdict(row: &Row, error: &CallError, is_ready: bool, now_ms: u64) -> Verdict {
    let said = text(error);
    if is_terminal(error, is_ready) {
        return Verdict::Aside { reason: said };
    }
    overdue(row, &said, now_ms).unwrap_or_else(|| Verdict::Later {
        due_ms: now_ms.saturating_add(pause(row, error)),
    })
}

/// Whether the engine's refusal says what the row wanted to hear: a preparation that is over needs no
/// start any more, and the child runs as an isolated one (R9.2).
pub(super) fn is_moot(stored: &StoredCall, error: &CallError) -> bool {
    let is_expired = matches!(
        error,
        CallError::Refused {
            reason: Reason::PreparationExpired,
            ..
        }
    );
    let EngineRequest::ResolveSubagentSpawn(resolved) = &stored.request else {
        return false;
    };
    is_expired && resolved.outcome == SpawnOutcome::Started
}

/// A row that waited for a week is not tried any more.
pub(super) fn overdue(row: &Row, said: &str, now_ms: u64) -> Option<Verdict> {
    let waited = now_ms.saturating_sub(row.created_ms);
    (waited > WEEK_MS).then(|| Verdict::Aside {
        reason: format!("waited for 7 days; {said}"),
    })
}

/// What is kept of a failure.
pub(super) fn text(error: &CallError) -> String {
    format!("{}: {error}", error.code())
}

/// How long a row waits after its next failure: twice as long each time, up to a minute.
pub(super) fn wait_ms(row: &Row) -> u64 {
    let doubled = u32::try_from(row.attempts).unwrap_or(u32::MAX).min(16);
    let wait = FIRST_WAIT_MS.saturating_mul(1 << doubled);
    // Rows that failed together do not come back together.
    let spread = u64::try_from(row.id.rem_euclid(8)).unwrap_or(0);
    let wait = wait.min(LONGEST_WAIT_MS);
    wait + wait / 32 * spread
}

fn pause(row: &Row, error: &CallError) -> u64 {
    let asked = if let CallError::Refused { retry_after, .. } = error {
        *retry_after
    } else {
        None
    };
    let asked = asked.unwrap_or(Duration::ZERO).as_millis();
    let asked = u64::try_from(asked).unwrap_or(u64::MAX);
    wait_ms(row).max(asked.min(LONGEST_ASKED_MS))
}

fn is_terminal(error: &CallError, is_ready: bool) -> bool {
    if let CallError::Refused { reason, .. } = error {
        return matches!(
            reason,
            Reason::InvalidRequest
                | Reason::UnknownField
                | Reason::IdempotencyConflict
                | Reason::MessageTooLarge
                | Reason::PreparationExpired
                | Reason::NotUnderstood
        );
    }
    let is_refused_here = matches!(
        error,
        CallError::NotUnderstood { .. } | CallError::MessageTooLarge { .. }
    );
    is_refused_here || (is_ready && matches!(error, CallError::Absent { .. }))
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Hook;

    use super::*;
    use crate::outbox::row::RowState;
    use crate::script::{broken, refused};

    fn row(attempts: u64) -> Row {
        Row {
            id: 8,
            hook: "CommitTurn".to_owned(),
            key: "t".to_owned(),
            engine: "e".to_owned(),
            owner: None,
            session: "s".to_owned(),
            lane: "id s".to_owned(),
            state: RowState::Ready,
            bytes: 0,
            created_ms: 1_000,
            attempts,
            last_attempt_ms: None,
            last_error: None,
            due_ms: 0,
            set_aside_ms: None,
        }
    }

    fn is_aside(error: &CallError) -> bool {
        let verdict = verdict(&row(0), error, true, 2_000);
        matches!(verdict, Verdict::Aside { .. })
    }

    #[test]
    fn r7_11_only_what_no_later_try_can_change_is_set_aside() {
        let terminal = [
            "UNKNOWN_FIELD",
            "INVALID_REQUEST",
            "IDEMPOTENCY_CONFLICT",
            "MESSAGE_TOO_LARGE",
            "PREPARATION_EXPIRED",
            "NOT_UNDERSTOOD",
        ];
        for reason in Reason::ALL {
            let expected = terminal.contains(&reason.name());
            assert_eq!(is_aside(&refused(reason)), expected, "{reason}");
        }
        assert!(!is_aside(&broken()));
        assert!(!is_aside(&CallError::Quarantined {
            operation: "commit_turn".to_owned(),
            reason: "boom".to_owned(),
        }));
        assert!(is_aside(&CallError::NotUnderstood {
            field: "f".to_owned()
        }));
    }

    #[test]
    fn r7_11_an_absent_method_is_final_only_by_the_word_of_an_engine_that_is_up() {
        let absent = CallError::Absent {
            hook: Hook::CommitTurn,
        };
        assert!(is_aside(&absent));
        let later = verdict(&row(0), &absent, false, 2_000);
        assert!(matches!(later, Verdict::Later { .. }));
    }

    #[test]
    fn r7_11_after_seven_days_a_row_is_set_aside_with_its_last_failure() {
        let week_later = 1_000 + WEEK_MS;
        let last_try = verdict(&row(40), &broken(), true, week_later);
        assert!(matches!(last_try, Verdict::Later { .. }));
        let Verdict::Aside { reason } = verdict(&row(40), &broken(), true, week_later + 1) else {
            panic!("it waited for too long")
        };
        assert!(reason.starts_with("waited for 7 days; UNREACHABLE"));
    }

    #[test]
    fn a_pause_doubles_up_to_a_minute_and_is_no_shorter_than_asked_for() {
        let pauses = [0, 1, 5, 6, 400].map(|attempts| pause(&row(attempts), &broken()));
        assert_eq!(pauses, [1_000, 2_000, 32_000, 60_000, 60_000]);
        let asks = |seconds| CallError::Refused {
            reason: Reason::Overloaded,
            message: String::new(),
            retry_after: Some(Duration::from_secs(seconds)),
            violations: Vec::new(),
        };
        assert_eq!(pause(&row(0), &asks(90)), 90_000);
        assert_eq!(pause(&row(0), &asks(1_000_000)), LONGEST_ASKED_MS);
    }
}
