//! A good engine behind a bad network, below gRPC and HTTP/2.

use std::time::Duration;

use contextwire_client::{ClientOptions, EngineClient, Policy, ServedBy};
use contextwire_engine::{Message, Transcript};

use super::SHORT;
use super::child::Places;
use super::hooks::{Outcome, each_fails, each_fails_unseen, each_goes_well, recovers, turn};
use crate::harness::{Flow, PATIENT, Proxy, session, soon, view};

/// Ends when the engine serves again: what was delayed arrives first.
async fn until_well(client: &EngineClient) {
    soon(async { while turn(client).await != Outcome::Engine {} }).await;
    each_goes_well(client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_come_late_slowly_or_not_cost_deadlines_and_nothing_after_them() {
    let places = Places::new();
    let _process = places.start().await;
    for (to_server, to_host) in [
        (Flow::Pass, Flow::Late(Duration::from_secs(3))),
        (Flow::Late(Duration::from_secs(3)), Flow::Pass),
        // Less than the head of a frame by the deadline.
        (Flow::Pass, Flow::Drip(1, Duration::from_millis(100))),
        (Flow::Hold, Flow::Pass),
        (Flow::Pass, Flow::Hold),
    ] {
        let proxy = Proxy::to(&places.served).await;
        let client = proxy.place().direct();
        client.engine().await.unwrap();
        proxy.to_server(to_server);
        proxy.to_host(to_host);
        each_fails(&client, "well", SHORT, "DEADLINE_EXCEEDED").await;
        proxy.mend();
        until_well(&client).await;
        assert_eq!(proxy.connections(), 1, "{to_server:?}, {to_host:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_gone_without_a_word_costs_deadlines_until_its_connection_ends() {
    let places = Places::new();
    let _process = places.start().await;
    for lost in [Proxy::to_server, Proxy::to_host] {
        let proxy = Proxy::to(&places.served).await;
        let client = proxy.place().direct();
        client.engine().await.unwrap();
        lost(&proxy, Flow::Lose);
        each_fails(&client, "well", SHORT, "DEADLINE_EXCEEDED").await;
        proxy.mend();
        proxy.cut();
        recovers(&client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_accepted_and_silent_costs_deadlines_and_serves_when_it_is_not() {
    let places = Places::new();
    let _process = places.start().await;
    let proxy = Proxy::to(&places.served).await;
    proxy.to_server(Flow::Hold);
    proxy.to_host(Flow::Hold);
    let client = proxy.place().direct();
    each_fails_unseen(&client, SHORT, "DEADLINE_EXCEEDED").await;
    proxy.mend();
    until_well(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_a_connection_ends_it_and_the_next_call_goes_by_another() {
    let places = Places::new();
    let _process = places.start().await;
    for garbles in [Proxy::to_server, Proxy::to_host] {
        let proxy = Proxy::to(&places.served).await;
        let client = proxy.place().direct();
        client.engine().await.unwrap();
        garbles(&proxy, Flow::Garble);
        each_fails(&client, "well", PATIENT, "UNREACHABLE").await;
        proxy.mend();
        recovers(&client).await;
    }
}

/// A list that takes longer than its call may.
fn large() -> Transcript {
    let text = "x".repeat(64 << 10);
    let message = |n: u32| format!(r#"{{"role":"user","content":"{n} {text}"}}"#);
    (0..128).map(message).map(Message::from_payload).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_a_list_too_large_for_its_deadline_is_the_engines_once_it_has_arrived() {
    let places = Places::new();
    let _process = places.start().await;
    let proxy = Proxy::to(&places.served).await;
    let client = proxy.place().client_with(&ClientOptions {
        policy: Policy::Direct,
        max_message_bytes: 1 << 20,
        ..ClientOptions::default()
    });
    client.engine().await.unwrap();
    let (id, list) = (session("s"), large());
    let origin = async |deadline| {
        let served = client.assemble_within(&id, view(&list), deadline).await;
        let served = served.unwrap();
        (served.by, served.reason.map(|reason| reason.code()))
    };
    proxy.to_server(Flow::Drip(4 << 10, Duration::from_millis(10)));
    // The engine has to have asked for the list by then.
    let late = origin(Duration::from_secs(4)).await;
    assert_eq!(late, (ServedBy::InProcess, Some("SYNCING")));
    proxy.mend();
    let by_engine = (ServedBy::Engine("recording".to_owned()), None);
    soon(async { while origin(PATIENT).await != by_engine {} }).await;
    assert_eq!(turn(&client).await, Outcome::Engine);
}
