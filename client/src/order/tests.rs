use std::time::Duration;

use contextwire_engine::{
    Assemble, Bootstrap, CommitTurn, Compact, Maintain, PrepareSubagentSpawn, Reply, Session, Site,
};
use tower::{Layer, ServiceExt};

use super::*;
use crate::call::{Answer, Served, ServedBy, Traffic};
use crate::request::{EngineReply, EngineRequest};

fn call(session: &str, request: impl Into<EngineRequest>) -> Call {
    let session = Session::new(SessionId::new(session).unwrap());
    Call::new(session, request.into(), Duration::from_secs(5))
}

fn answered() -> Answer {
    Served {
        result: EngineReply::TurnNoted(()),
        by: ServedBy::InProcess,
        reason: None,
        said: Reply::default(),
        traffic: Traffic::default(),
    }
}

fn seq(order: &HostOrder, session: &str, request: impl Into<EngineRequest>) -> Option<u64> {
    order.next(&call(session, request)).session_seq
}

#[test]
fn r7_9_mutating_foreground_hooks_count_and_reads_carry_the_number() {
    let order = HostOrder::starting_after(None);
    assert_eq!(seq(&order, "s", Assemble::default()), Some(0));
    assert_eq!(seq(&order, "s", Bootstrap::default()), Some(1));
    assert_eq!(seq(&order, "s", Compact::default()), Some(2));
    assert_eq!(seq(&order, "s", Assemble::default()), Some(2));
    assert_eq!(seq(&order, "other", Maintain::default()), Some(1));
}

#[test]
fn r7_9_background_hooks_and_delivered_ones_are_unordered() {
    let order = HostOrder::starting_after(None);
    let maintain = Maintain {
        background: true,
        ..Maintain::default()
    };
    let sync = Assemble {
        site: Site::Sync,
        ..Assemble::default()
    };
    assert_eq!(seq(&order, "s", maintain), None);
    assert_eq!(seq(&order, "s", sync), None);
    assert_eq!(seq(&order, "s", CommitTurn::default()), None);
    assert_eq!(seq(&order, "s", Compact::default()), Some(1));
}

#[test]
fn r7_9_an_epoch_is_above_the_stored_one_and_above_that_of_an_earlier_client() {
    let first = HostOrder::starting_after(None).epoch();
    assert!(HostOrder::starting_after(None).epoch() > first);
    let far = first + 1_000_000_000;
    assert_eq!(HostOrder::starting_after(Some(far)).epoch(), far + 1);
}

/// An engine whose session is at `recorded` already; answers what is above it.
async fn sent_to_a_session_at(
    recorded: Order,
    call: Call,
) -> (Result<Answer, CallError>, Vec<Call>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let engine = tower::service_fn(move |call: Call| {
        noted.lock().unwrap().push(call.clone());
        let lower = call.order.unwrap() < recorded;
        std::future::ready(if lower {
            Err(CallError::Overtaken { recorded })
        } else {
            Ok(answered())
        })
    });
    let order = Arc::new(HostOrder::starting_after(None));
    let outcome = OrderLayer(order).layer(engine).oneshot(call).await;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

#[tokio::test]
async fn r7_9_a_live_host_gets_on_above_another_hosts_pair_under_the_same_key() {
    let recorded = Order {
        host_epoch: u64::MAX - 1,
        session_seq: Some(7),
    };
    let (outcome, seen) = sent_to_a_session_at(recorded, call("s", Compact::default())).await;
    assert!(outcome.is_ok());
    let [first, second] = &*seen else {
        panic!("{} calls", seen.len())
    };
    assert_eq!(first.hook_id, second.hook_id);
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert!(second.order.unwrap() > recorded);
}

#[tokio::test]
async fn r7_9_a_pair_that_its_caller_chose_is_not_raised() {
    let recorded = Order {
        host_epoch: u64::MAX - 1,
        session_seq: Some(7),
    };
    let delayed = Call {
        order: Some(Order {
            host_epoch: 1,
            session_seq: Some(1),
        }),
        ..call("s", Compact::default())
    };
    let (outcome, seen) = sent_to_a_session_at(recorded, delayed).await;
    assert_eq!(outcome.unwrap_err().code(), "GENERATION_CONFLICT");
    assert_eq!(seen.len(), 1);
}

#[test]
fn r7_9_the_renewal_of_a_preparation_has_no_number_and_raises_none() {
    let order = HostOrder::starting_after(None);
    let prepare = call("s", PrepareSubagentSpawn::default());
    assert_eq!(order.next(&prepare).session_seq, Some(1));
    let renewal = Call {
        is_unordered: true,
        ..prepare
    };
    assert_eq!(order.next(&renewal).session_seq, None);
    assert_eq!(seq(&order, "s", Assemble::default()), Some(1));
}
