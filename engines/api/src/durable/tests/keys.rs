//! Keys and fingerprints (R7.10).

use super::*;
use crate::after_turn::AfterTurn;
use crate::bootstrap::Bootstrap;
use crate::budget::TokenBudget;
use crate::commit_turn::{CommitTurn, TurnCommitted};
use crate::compact::Compact;
use crate::ingest::{Ingest, Ingested};
use crate::maintain::MaintainReason;
use crate::message::Message;

fn message(text: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{text}"}}"#))
}

fn turn(key: &str) -> CommitTurn {
    let mut turn = CommitTurn {
        advancement_key: key.to_owned(),
        messages: vec![message("hi"), message("yes")],
        ..CommitTurn::default()
    };
    turn.admission.anchor.entry_id = "e1".to_owned();
    turn.terminal.entry_id = "e2".to_owned();
    turn
}

#[test]
fn r7_10_the_same_key_and_content_gives_the_recorded_answer() {
    let mut ledger = MemoryLedger::new();
    let cx = call();
    assert_eq!(maintain(&mut ledger, &cx, 1).unwrap(), done(1));
    for _ in 0..9 {
        assert_eq!(maintain(&mut ledger, &cx, 2).unwrap(), done(1));
    }
    assert_eq!(maintain(&mut ledger, &call(), 3).unwrap(), done(3));
}

#[test]
fn r7_10_other_content_under_a_key_is_a_conflict_and_changes_nothing() {
    let mut ledger = MemoryLedger::new();
    let cx = call();
    maintain(&mut ledger, &cx, 1).unwrap();
    let before = ledger.clone();
    let other = Maintain {
        reason: MaintainReason::Compaction,
        ..Maintain::default()
    };
    let attempt = Attempt::new(&cx, &other, NOW);
    let refused = ledger.transaction(|tx| effect(tx, &attempt, |_| Ok(done(2))));
    assert_eq!(kind(refused), ErrorKind::IdempotencyConflict);
    assert_eq!(ledger, before);
}

#[test]
fn r7_10_a_key_belongs_to_its_session_and_hook() {
    let mut ledger = MemoryLedger::new();
    let cx = call();
    maintain(&mut ledger, &cx, 1).unwrap();
    let mut elsewhere = cx.clone();
    elsewhere.session = session("t");
    assert_eq!(maintain(&mut ledger, &elsewhere, 2).unwrap(), done(2));
    let ingest = Ingest {
        message: message("a"),
        is_heartbeat: false,
    };
    let attempt = Attempt::new(&cx, &ingest, NOW);
    let fresh = ledger.transaction(|tx| effect(tx, &attempt, |_| Ok(Ingested { ingested: true })));
    assert!(fresh.unwrap().ingested);
}

#[test]
fn r7_10_a_turn_is_known_by_its_advancement_key_and_repeats_as_a_duplicate() {
    let mut ledger = MemoryLedger::new();
    let mut commit = |turn: &CommitTurn| {
        let attempt = Attempt::new(&call(), turn, NOW);
        ledger.transaction(|tx| effect(tx, &attempt, |_| Ok(TurnCommitted::Committed)))
    };
    assert_eq!(commit(&turn("t1")).unwrap(), TurnCommitted::Committed);
    assert_eq!(commit(&turn("t1")).unwrap(), TurnCommitted::Duplicate);
    assert_eq!(commit(&turn("t2")).unwrap(), TurnCommitted::Committed);
    assert_eq!(kind(commit(&turn(""))), ErrorKind::Rejected);
}

#[test]
fn r7_10_a_turn_is_covered_by_entry_ids_digests_in_order_and_heartbeat() {
    let covered: [fn(&mut CommitTurn); 5] = [
        |turn| turn.admission.anchor.entry_id.push('x'),
        |turn| turn.terminal.entry_id.push('x'),
        |turn| turn.messages.reverse(),
        |turn| turn.messages.push(message("more")),
        |turn| turn.is_heartbeat = true,
    ];
    for (case, change) in covered.into_iter().enumerate() {
        let mut changed = turn("t");
        change(&mut changed);
        assert_ne!(
            changed.fingerprint(),
            turn("t").fingerprint(),
            "case {case}"
        );
    }
    let free: [fn(&mut CommitTurn); 4] = [
        |turn| turn.admission.anchor.raw_seq = 9,
        |turn| turn.terminal.store_path.push('x'),
        |turn| turn.admission.logical_turn_id.push('x'),
        |turn| turn.runtime_context = Some(crate::RuntimeContext::default()),
    ];
    for (case, change) in free.into_iter().enumerate() {
        let mut changed = turn("t");
        change(&mut changed);
        assert_eq!(
            changed.fingerprint(),
            turn("t").fingerprint(),
            "case {case}"
        );
    }
}

#[test]
fn r7_10_what_a_strict_engine_may_remove_is_not_covered_and_the_head_is() {
    let list = |len: usize| (0..len).map(|n| message(&n.to_string())).collect();
    let bootstrap = |len, background| Bootstrap {
        transcript: list(len),
        background,
        ..Bootstrap::default()
    };
    assert_eq!(
        bootstrap(3, true).fingerprint(),
        bootstrap(3, false).fingerprint()
    );
    assert_ne!(
        bootstrap(3, true).fingerprint(),
        bootstrap(4, true).fingerprint()
    );

    let turn = |budget, pre_prompt_message_count| AfterTurn {
        transcript: list(3),
        token_budget: TokenBudget::new(budget),
        auto_compaction_summary: Some(budget.to_string()),
        pre_prompt_message_count,
        ..AfterTurn::default()
    };
    assert_eq!(turn(1, 2).fingerprint(), turn(9, 2).fingerprint());
    assert_ne!(turn(1, 2).fingerprint(), turn(1, 3).fingerprint());

    let compact = |budget| Compact {
        token_budget: TokenBudget::new(budget),
        ..Compact::default()
    };
    assert_ne!(compact(1).fingerprint(), compact(2).fingerprint());
    assert_ne!(compact(1).fingerprint(), Compact::default().fingerprint());
}

fn compact(ledger: &mut MemoryLedger, cx: &HookContext, lease: &Lease, now: UnixMillis) -> bool {
    let attempt = Attempt::new(cx, &Compact::default(), now);
    let begun = ledger.transaction(|tx| begin(tx, &attempt, lease));
    matches!(begun, Ok(Begun::Claimed))
}

fn settle(
    ledger: &mut MemoryLedger,
    cx: &HookContext,
    lease: &Lease,
) -> Result<crate::Compacted, EngineError> {
    let attempt = Attempt::new(cx, &Compact::default(), NOW);
    ledger.transaction(|tx| finish(tx, &attempt, lease, |_| Ok(crate::Compacted::declined("1"))))
}

#[test]
fn r7_10_a_running_key_is_in_progress_until_it_is_settled() {
    let mut ledger = MemoryLedger::new();
    let (cx, mine, other) = (call(), lease(), lease());
    assert!(compact(&mut ledger, &cx, &mine, NOW));
    let attempt = Attempt::new(&cx, &Compact::default(), NOW);
    let waits = ledger.transaction(|tx| begin(tx, &attempt, &other));
    assert!(matches!(kind(waits), ErrorKind::InProgress { retry_after } if !retry_after.is_zero()));
    let answer = settle(&mut ledger, &cx, &mine).unwrap();
    let again = ledger
        .transaction(|tx| begin(tx, &attempt, &other))
        .unwrap();
    assert_eq!(again, Begun::Recorded(answer));
}

#[test]
fn r7_10_a_dead_holder_loses_its_claim_and_cannot_settle_late() {
    let mut ledger = MemoryLedger::new();
    let (cx, dead, next) = (call(), lease(), lease());
    assert!(compact(&mut ledger, &cx, &dead, NOW));
    let later = NOW.after(Duration::from_secs(61));
    assert!(compact(&mut ledger, &cx, &next, later));
    assert!(matches!(
        kind(settle(&mut ledger, &cx, &dead)),
        ErrorKind::InProgress { .. }
    ));
    assert!(settle(&mut ledger, &cx, &next).is_ok());
    assert!(
        settle(&mut ledger, &cx, &dead).is_ok(),
        "the recorded answer"
    );
}

#[test]
fn a_released_key_may_be_claimed_at_once_and_only_its_holder_releases_it() {
    let mut ledger = MemoryLedger::new();
    let (cx, mine, other) = (call(), lease(), lease());
    let attempt = Attempt::new(&cx, &Compact::default(), NOW);
    assert!(compact(&mut ledger, &cx, &mine, NOW));
    ledger
        .transaction(|tx| release(tx, &attempt, &other))
        .unwrap();
    assert!(!compact(&mut ledger, &cx, &other, NOW));
    ledger
        .transaction(|tx| release(tx, &attempt, &mine))
        .unwrap();
    assert!(compact(&mut ledger, &cx, &other, NOW));
}

fn lease() -> Lease {
    Lease::new(Duration::from_mins(1))
}

#[test]
fn a_claim_counts_for_a_bounded_time_whatever_the_budget_and_the_clock() {
    let mut ledger = MemoryLedger::new();
    let (cx, lease) = (call(), Lease::new(Duration::MAX));
    let claim = |ledger: &mut MemoryLedger, now: UnixMillis| {
        let attempt = Attempt::new(&cx, &Compact::default(), now);
        ledger.transaction(|tx| begin(tx, &attempt, &lease))
    };
    assert_eq!(claim(&mut ledger, NOW).unwrap(), Begun::Claimed);
    let running = claim(&mut ledger, NOW.after(LONGEST_LEASE / 2));
    assert!(matches!(kind(running), ErrorKind::InProgress { .. }));
    let over = NOW.after(LONGEST_LEASE);
    assert_eq!(claim(&mut ledger, over).unwrap(), Begun::Claimed);
    // The clock was set back by more than a claim can last.
    let before = UnixMillis(over.0 - 3_600_000);
    assert_eq!(claim(&mut ledger, before).unwrap(), Begun::Claimed);
}
