//! Engine processes that are not there, are killed, or stand still.

use std::net::SocketAddr;

use contextwire_client::{EngineClient, Target};
use contextwire_engine::Hook;
use futures_util::future::join;
use tokio::task::JoinSet;

use super::SHORT;
use super::child::{Other, Places};
use super::hooks::{
    Outcome, each_fails, each_fails_unseen, each_goes_well, hooks, outcome, recovers, turn,
};
use crate::harness::{PATIENT, Place, Proxy, Relay};

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_down_when_its_host_starts_serves_from_the_turn_after_it_came_up() {
    let places = Places::new();
    let client = places.served.direct();
    each_fails_unseen(&client, PATIENT, "UNREACHABLE").await;
    let mut process = places.start().await;
    each_goes_well(&client).await;
    // Between two hooks.
    process.kill();
    each_fails(&client, "well", PATIENT, "UNREACHABLE").await;
    let _process = places.start().await;
    recovers(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_killed_inside_a_hook_costs_that_hook_whichever_it_is() {
    let places = Places::new();
    let mut process = places.start().await;
    let client = places.served.direct();
    client.engine().await.unwrap();
    let fails = each_fails(&client, "hangs", PATIENT, "UNREACHABLE");
    let killed = async {
        process.says("arrived", hooks().count()).await;
        process.kill();
    };
    join(fails, killed).await;
    let _process = places.start().await;
    recovers(&client).await;
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_stands_still_costs_deadlines_and_goes_on_where_it_was() {
    let places = Places::new();
    let process = places.start().await;
    let proxy = Proxy::to(&places.served).await;
    let client = proxy.place().direct();
    let other = Other::begin(&process, &client).await;
    process.pause();
    each_fails(&client, "well", SHORT, "DEADLINE_EXCEEDED").await;
    process.resume();
    assert_eq!(turn(&client).await, Outcome::Engine);
    each_goes_well(&client).await;
    other.ends_well(&client).await;
    assert_eq!(proxy.connections(), 1);
}

fn address(place: &Place) -> SocketAddr {
    match place.target() {
        Target::Tcp(address) => address,
        Target::Unix(_) | Target::Spawn(_) | Target::Replicas(_) => panic!("an address"),
    }
}

/// None of the engine's threads runs while its hooks are given up, cancelled and reset.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn r1_5_200_hooks_given_up_at_once_while_their_engine_stands_still_cost_no_other_call() {
    const CALLS: usize = 200;
    let places = Places::new();
    let process = places.start().await;
    // A relay is for one connection: were it lost, nothing could be called any more.
    let relay = Relay::to(address(&places.served)).await;
    let client = Place::at(relay.address).direct();
    let other = Other::begin(&process, &client).await;
    let mut given_up = JoinSet::new();
    for n in 0..CALLS {
        let client: EngineClient = client.clone();
        given_up.spawn(async move {
            outcome(&client, Hook::Assemble, &format!("hangs {n}"), PATIENT).await
        });
    }
    process.says("arrived", CALLS).await;
    process.pause();
    given_up.shutdown().await;
    relay.sent(|sent| sent.reset == CALLS).await;
    process.resume();
    assert_eq!(turn(&client).await, Outcome::Engine);
    other.ends_well(&client).await;
}
