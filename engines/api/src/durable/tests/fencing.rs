//! Abandoned hooks: tombstones and late effects (R7.2).

use super::*;
use crate::compact::{Compact, CompactResult, Compacted};
use crate::ids::{HookId, SessionTarget};
use crate::order::LateHook;

fn abandoning(hooks: &[HookId]) -> HookContext {
    let mut cx = call();
    cx.abandoned_hooks = hooks.to_vec();
    cx
}

fn compact(
    ledger: &mut MemoryLedger,
    cx: &HookContext,
    successor: Option<&str>,
) -> Result<Compacted, EngineError> {
    let attempt = Attempt::new(cx, &Compact::default(), NOW);
    let result = CompactResult {
        session_id: successor.and_then(|id| SessionId::new(id).ok()),
        ..CompactResult::default()
    };
    let answer = Compacted {
        ok: true,
        compacted: true,
        reason: None,
        result: Some(result),
    };
    ledger.transaction(|tx| effect(tx, &attempt, |_| Ok(answer)))
}

#[test]
fn r7_2_a_read_records_the_tombstone_and_the_effect_fails_on_it() {
    let mut ledger = MemoryLedger::new();
    let late = call();
    let cx = abandoning(&[late.hook_id]);
    assert_eq!(notice(&ledger, &cx).unwrap(), Debt::Owed);
    ledger.transaction(|tx| read(tx, &cx, NOW)).unwrap();
    assert_eq!(notice(&ledger, &cx).unwrap(), Debt::None);
    assert_eq!(
        kind(compact(&mut ledger, &late, None)),
        ErrorKind::HookClosed
    );
    assert!(cx.take_reply().late.is_empty());
}

#[test]
fn r7_2_work_that_was_abandoned_while_it_ran_does_not_take_effect() {
    let mut ledger = MemoryLedger::new();
    let (cx, lease) = (call(), Lease::new(Duration::from_mins(1)));
    let attempt = Attempt::new(&cx, &Compact::default(), NOW);
    ledger
        .transaction(|tx| begin(tx, &attempt, &lease))
        .unwrap();
    maintain(&mut ledger, &abandoning(&[cx.hook_id]), 1).unwrap();
    let late =
        ledger.transaction(|tx| finish(tx, &attempt, &lease, |_| Ok(Compacted::declined("late"))));
    assert_eq!(kind(late), ErrorKind::HookClosed);
}

#[test]
fn r7_2_a_hook_that_was_applied_is_named_late_with_its_successor_in_every_call_that_carries_it() {
    let mut ledger = MemoryLedger::new();
    let late = call();
    compact(&mut ledger, &late, Some("next")).unwrap();
    let expected = [LateHook {
        hook_id: late.hook_id,
        method: "Compact".to_owned(),
        session_target: Some(SessionTarget {
            session_id: Some("next".to_owned()),
            ..SessionTarget::default()
        }),
    }];
    let reader = abandoning(&[late.hook_id]);
    ledger.transaction(|tx| read(tx, &reader, NOW)).unwrap();
    assert_eq!(reader.take_reply().late, expected);
    let again = abandoning(&[late.hook_id]);
    assert_eq!(notice(&ledger, &again).unwrap(), Debt::None);
    assert_eq!(again.take_reply().late, expected);
    let writer = abandoning(&[late.hook_id]);
    maintain(&mut ledger, &writer, 1).unwrap();
    assert_eq!(writer.take_reply().late, expected);
}

#[test]
fn r7_2_a_hook_of_the_predecessor_is_found_from_the_successor() {
    let mut ledger = MemoryLedger::new();
    let late = call();
    compact(&mut ledger, &late, None).unwrap();
    let mut cx = abandoning(&[late.hook_id]);
    cx.session = session("successor");
    cx.session.previous_id = SessionId::new("s").ok();
    ledger.transaction(|tx| read(tx, &cx, NOW)).unwrap();
    assert_eq!(cx.take_reply().late.len(), 1);
}

#[test]
fn r7_2_a_refused_call_changes_nothing_but_its_tombstones_are_recorded_after_it() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(2, 2), 1).unwrap();
    let before = ledger.clone();
    let mut cx = ordered(1, 1);
    let late = ordered(3, 3);
    cx.abandoned_hooks = vec![late.hook_id];
    assert!(maintain(&mut ledger, &cx, 2).is_err());
    assert_eq!(ledger, before);
    ledger.transaction(|tx| refused(tx, &cx)).unwrap();
    assert_eq!(kind(maintain(&mut ledger, &late, 3)), ErrorKind::HookClosed);
}
