//! Preparations case by case (section 9).

use super::*;
use crate::ingest::{Ingest, Ingested};
use crate::message::Message;
use crate::subagent::{
    ContextMode, EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome,
    SpawnPrepared,
};

pub(super) fn spawn(id: &str) -> PrepareSubagentSpawn {
    PrepareSubagentSpawn {
        spawn_id: id.to_owned(),
        parent_session_key: "parent".to_owned(),
        child_session_key: "child".to_owned(),
        ..PrepareSubagentSpawn::default()
    }
}

pub(super) fn prepare_at(
    ledger: &mut MemoryLedger,
    request: &PrepareSubagentSpawn,
    now: UnixMillis,
) -> Result<SpawnPrepared, EngineError> {
    let attempt = Attempt::new(&call(), request, now);
    let made = || SpawnPrepared {
        prepared: true,
        system_prompt_addition: Some(format!("at {}", now.0)),
    };
    ledger.transaction(|tx| prepare(tx, &attempt, request, |_| Ok(made())))
}

pub(super) fn resolve_at(
    ledger: &mut MemoryLedger,
    id: &str,
    outcome: SpawnOutcome,
    now: UnixMillis,
) -> Result<(), EngineError> {
    let request = ResolveSubagentSpawn {
        spawn_id: id.to_owned(),
        outcome,
    };
    let attempt = Attempt::new(&call(), &request, now);
    ledger.transaction(|tx| resolve(tx, &attempt, &request))
}

fn stage(ledger: &MemoryLedger, id: &str) -> Stage {
    ledger.preparation(id).unwrap().unwrap().stage
}

fn minutes(count: u64) -> UnixMillis {
    NOW.after(Duration::from_mins(count))
}

#[test]
fn r9_1_repeating_a_preparation_renews_it_and_gives_the_same_answer() {
    let mut ledger = MemoryLedger::new();
    let first = prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    assert_eq!(
        prepare_at(&mut ledger, &spawn("a"), minutes(9)).unwrap(),
        first
    );
    assert!(resolve_at(&mut ledger, "a", SpawnOutcome::Started, minutes(18)).is_ok());
    assert_eq!(stage(&ledger, "a"), Stage::Started);
}

#[test]
fn r9_1_other_content_under_a_spawn_id_is_a_conflict() {
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    let fork = PrepareSubagentSpawn {
        context_mode: Some(ContextMode::Fork),
        ..spawn("a")
    };
    let refused = prepare_at(&mut ledger, &fork, NOW);
    assert_eq!(kind(refused), ErrorKind::IdempotencyConflict);
    let longer = PrepareSubagentSpawn {
        ttl: Some(Duration::from_hours(1)),
        ..spawn("a")
    };
    assert!(
        prepare_at(&mut ledger, &longer, NOW).is_ok(),
        "the time to live is no content"
    );
    assert_eq!(
        kind(prepare_at(&mut ledger, &spawn(""), NOW)),
        ErrorKind::Rejected
    );
}

#[test]
fn r9_1_an_unresolved_preparation_rolls_itself_back_at_its_time() {
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    let almost = UnixMillis(minutes(10).0 - 1);
    assert!(
        ledger
            .transaction(|tx| sweep(tx, almost))
            .unwrap()
            .is_empty()
    );
    let swept = ledger.transaction(|tx| sweep(tx, minutes(10))).unwrap();
    assert_eq!(swept[0].spawn_id, "a");
    assert_eq!(
        (stage(&ledger, "a"), ledger.undone()),
        (Stage::Expired, &["a".to_owned()][..])
    );
    assert!(
        ledger
            .transaction(|tx| sweep(tx, minutes(99)))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn r9_2_started_after_the_time_is_expired_whether_or_not_anybody_swept() {
    for swept in [true, false] {
        let mut ledger = MemoryLedger::new();
        prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
        if swept {
            ledger.transaction(|tx| sweep(tx, minutes(10))).unwrap();
        }
        let late = resolve_at(&mut ledger, "a", SpawnOutcome::Started, minutes(10));
        assert_eq!(kind(late), ErrorKind::PreparationExpired);
        let late = resolve_at(&mut ledger, "a", SpawnOutcome::Started, minutes(11));
        assert_eq!(kind(late), ErrorKind::PreparationExpired);
        assert!(resolve_at(&mut ledger, "a", SpawnOutcome::RolledBack, minutes(12)).is_ok());
        assert!(
            !prepare_at(&mut ledger, &spawn("a"), minutes(13))
                .unwrap()
                .prepared
        );
    }
}

#[test]
fn r9_2_resolving_twice_changes_nothing_and_undoes_once() {
    for outcome in [SpawnOutcome::Started, SpawnOutcome::RolledBack] {
        let mut ledger = MemoryLedger::new();
        prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
        resolve_at(&mut ledger, "a", outcome, NOW).unwrap();
        let before = ledger.clone();
        resolve_at(&mut ledger, "a", outcome, minutes(60)).unwrap();
        assert_eq!(ledger, before);
        let undone = usize::from(outcome == SpawnOutcome::RolledBack);
        assert_eq!(ledger.undone().len(), undone);
        let opposite = match outcome {
            SpawnOutcome::Started => SpawnOutcome::RolledBack,
            SpawnOutcome::RolledBack => SpawnOutcome::Started,
        };
        let refused = resolve_at(&mut ledger, "a", opposite, NOW);
        assert_eq!(kind(refused), ErrorKind::IdempotencyConflict);
    }
}

#[test]
fn r9_2_an_unknown_id_leaves_a_tombstone_for_a_day() {
    let mut ledger = MemoryLedger::new();
    resolve_at(&mut ledger, "a", SpawnOutcome::RolledBack, NOW).unwrap();
    assert_eq!(stage(&ledger, "a"), Stage::Tombstone);
    let day = NOW.after(TOMBSTONE_TTL);
    let late = prepare_at(&mut ledger, &spawn("a"), UnixMillis(day.0 - 1)).unwrap();
    assert_eq!(late, SpawnPrepared::default());
    ledger.transaction(|tx| sweep(tx, day)).unwrap();
    assert_eq!(ledger.preparation("a").unwrap(), None);
    assert!(prepare_at(&mut ledger, &spawn("a"), day).unwrap().prepared);
}

fn child() -> HookContext {
    let mut cx = call();
    cx.session = session("c");
    cx.session.key = Some("child".to_owned());
    cx
}

#[test]
fn r9_2_any_hook_of_the_child_means_that_it_started() {
    let ingest = Ingest {
        message: Message::from_payload("{}"),
        is_heartbeat: false,
    };
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("old"), NOW).unwrap();
    prepare_at(&mut ledger, &spawn("new"), minutes(1)).unwrap();
    let attempt = Attempt::new(&child(), &ingest, minutes(2));
    ledger
        .transaction(|tx| effect(tx, &attempt, |_| Ok(Ingested::default())))
        .unwrap();
    assert_eq!(
        (stage(&ledger, "new"), stage(&ledger, "old")),
        (Stage::Started, Stage::Open)
    );
    assert_eq!(
        notice(&ledger, &child()).unwrap(),
        Debt::Owed,
        "a read as well"
    );
    ledger
        .transaction(|tx| read(tx, &child(), minutes(3)))
        .unwrap();
    assert_eq!(stage(&ledger, "old"), Stage::Started);
    assert!(resolve_at(&mut ledger, "old", SpawnOutcome::RolledBack, minutes(4)).is_ok());
    assert_eq!(
        stage(&ledger, "old"),
        Stage::Started,
        "a child that runs is not taken back"
    );
    assert!(ledger.undone().is_empty());
}

#[test]
fn r9_2_the_end_of_a_child_does_not_mean_that_it_started() {
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    let end = EndSubagent {
        child_session_key: "child".to_owned(),
        ..EndSubagent::default()
    };
    let attempt = Attempt::new(&child(), &end, NOW);
    ledger
        .transaction(|tx| effect(tx, &attempt, |_| Ok(())))
        .unwrap();
    assert_eq!(stage(&ledger, "a"), Stage::Open);
}

#[test]
fn r9_2_a_hook_of_the_child_after_the_time_starts_nothing() {
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    ledger
        .transaction(|tx| read(tx, &child(), minutes(10)))
        .unwrap();
    assert_eq!(stage(&ledger, "a"), Stage::Expired);
}

#[test]
fn r9_3_resolving_in_the_lane_of_the_child_is_not_a_hook_of_the_child() {
    let mut ledger = MemoryLedger::new();
    prepare_at(&mut ledger, &spawn("a"), NOW).unwrap();
    let request = ResolveSubagentSpawn {
        spawn_id: "a".to_owned(),
        outcome: SpawnOutcome::RolledBack,
    };
    let attempt = Attempt::new(&child(), &request, NOW);
    ledger
        .transaction(|tx| resolve(tx, &attempt, &request))
        .unwrap();
    assert_eq!(stage(&ledger, "a"), Stage::RolledBack);
}

#[test]
fn r7_9_a_delayed_preparation_loses_and_a_renewal_is_unordered() {
    let mut ledger = MemoryLedger::new();
    maintain(&mut ledger, &ordered(5, 5), 1).unwrap();
    let attempt = Attempt::new(&ordered(5, 4), &spawn("a"), NOW);
    let late = ledger
        .transaction(|tx| prepare(tx, &attempt, &spawn("a"), |_| Ok(SpawnPrepared::default())));
    assert_eq!(
        kind(late),
        ErrorKind::GenerationConflict {
            recorded: pair(5, 5)
        }
    );
    assert!(prepare_at(&mut ledger, &spawn("a"), NOW).unwrap().prepared);
}
