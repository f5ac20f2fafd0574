//! Order (R7.9).

use super::*;

#[test]
fn r7_9_a_lower_pair_with_an_unrecorded_key_carries_the_recorded_pair_and_changes_nothing() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(2, 5), 1).unwrap();
    let before = ledger.clone();
    for late in [ordered(2, 4), ordered(1, 900)] {
        let refused = maintain(&mut ledger, &late, 2);
        assert_eq!(
            kind(refused),
            ErrorKind::GenerationConflict {
                recorded: pair(2, 5)
            }
        );
        assert_eq!(ledger, before);
    }
}

#[test]
fn r7_9_a_lower_pair_with_a_recorded_key_gets_the_recorded_answer() {
    let mut ledger = MemoryLedger::new();
    let early = ordered(1, 1);
    maintain(&mut ledger, &early, 1).unwrap();
    maintain(&mut ledger, &ordered(1, 2), 2).unwrap();
    assert_eq!(maintain(&mut ledger, &early, 3).unwrap(), done(1));
}

#[test]
fn r7_9_a_live_host_raises_its_pair_and_gets_on_under_the_same_key() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(9, 9), 1).unwrap();
    let cx = ordered(1, 1);
    assert!(maintain(&mut ledger, &cx, 2).is_err());
    let mut raised = cx;
    raised.order = ordered(10, 1).order;
    assert_eq!(maintain(&mut ledger, &raised, 3).unwrap(), done(3));
}

#[test]
fn r7_9_unordered_calls_neither_lose_nor_raise_the_pair() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(2, 5), 1).unwrap();
    let mut epoch_alone = call();
    epoch_alone.order = Some(Order {
        host_epoch: 1,
        session_seq: None,
    });
    for cx in [call(), epoch_alone] {
        assert!(maintain(&mut ledger, &cx, 2).is_ok());
        assert_eq!(
            ledger.highest_pair(&cx.session.id).unwrap(),
            Some(pair(2, 5))
        );
    }
}

#[test]
fn r7_9_reads_never_raise_the_pair() {
    let mut ledger = MemoryLedger::new();
    let cx = ordered(7, 7);
    ledger.transaction(|tx| read(tx, &cx, NOW)).unwrap();
    assert_eq!(ledger.highest_pair(&cx.session.id).unwrap(), None);
}

#[test]
fn r7_9_a_log_replaces_only_with_a_pair_that_is_not_lower() {
    let mut ledger = MemoryLedger::new();
    let change = |ledger: &MemoryLedger, cx: &HookContext| log_change(ledger, cx).unwrap();
    assert_eq!(change(&ledger, &ordered(1, 1)), LogChange::Replace);
    assert_eq!(change(&ledger, &call()), LogChange::Extend);
    maintain(&mut ledger, &ordered(2, 5), 1).unwrap();
    assert_eq!(change(&ledger, &ordered(2, 4)), LogChange::Extend);
    assert_eq!(change(&ledger, &ordered(2, 5)), LogChange::Replace);
    assert_eq!(change(&ledger, &ordered(3, 0)), LogChange::Replace);
    assert_eq!(change(&ledger, &call()), LogChange::Extend);
}

#[test]
fn r7_9_sessions_have_their_own_order() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(2, 5), 1).unwrap();
    let mut other = ordered(1, 1);
    other.session = session("t");
    assert!(maintain(&mut ledger, &other, 2).is_ok());
}
