//! Engines that answer late, wrong, in part or not at all; each in every hook.

use std::time::Duration;

use contextwire_client::EngineClient;
use contextwire_engine::Hook;
use futures_util::future::join_all;

use super::SHORT;
use super::child::{Other, Places};
use super::hooks::{Gives, Outcome, each, each_fails, outcome, recovers, turn};
use crate::harness::{PATIENT, Proxy, soon};

const LATE: Gives = Gives::Fails("DEADLINE_EXCEEDED");
const BROKEN: Gives = Gives::Fails("UNREACHABLE");
const AGAINST_THE_CONTRACT: Gives = Gives::Fails("CONTRACT_VIOLATION");

/// A fault, the deadline that it needs, and what comes of streaming and of unary hooks.
type Row = (&'static str, Duration, Gives, Gives);

/// Runs the rows one after the other, those that wait for a deadline at once. A turn of another
/// session is the engine's after each.
async fn run(client: &EngineClient, rows: &[Row]) {
    let row = async |&(fault, deadline, streaming, unary): &Row| {
        each(client, fault, deadline, (streaming, unary)).await;
        assert_eq!(turn(client).await, Outcome::Engine, "after {fault}");
    };
    let (waiting, quick): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.1 == SHORT);
    for quick in &quick {
        row(quick).await;
    }
    join_all(waiting.iter().map(row)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_4_r6_5_an_engine_that_fails_or_hangs_costs_its_own_call_in_every_hook() {
    let places = Places::new();
    let process = places.start().await;
    let proxy = Proxy::to(&places.served).await;
    let client = proxy.place().direct();
    let other = Other::begin(&process, &client).await;
    let failure = Gives::Fails("ENGINE_FAILURE");
    let transient = Gives::Fails("DEPENDENCY_UNAVAILABLE");
    let rows = [
        ("panics", PATIENT, failure, failure),
        ("transient", PATIENT, transient, transient),
        ("hangs", SHORT, LATE, LATE),
        ("late", SHORT, LATE, LATE),
    ];
    run(&client, &rows).await;
    other.ends_well(&client).await;
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_3_an_answer_that_is_none_is_told_from_one_in_every_hook() {
    let places = Places::new();
    let process = places.start().await;
    let proxy = Proxy::to(&places.raw).await;
    let client = proxy.place().direct();
    let other = Other::begin(&process, &client).await;
    let rows = [
        ("unavailable", PATIENT, BROKEN, BROKEN),
        ("no-trailers", PATIENT, BROKEN, BROKEN),
        ("nothing", PATIENT, AGAINST_THE_CONTRACT, BROKEN),
        // Who reads one message of a unary answer does not see a second.
        ("twice", PATIENT, AGAINST_THE_CONTRACT, Gives::Engine),
        ("cut-short", PATIENT, AGAINST_THE_CONTRACT, BROKEN),
        ("garbage", PATIENT, BROKEN, BROKEN),
        ("oversized", PATIENT, BROKEN, BROKEN),
        ("silent", SHORT, LATE, LATE),
        ("no-result", SHORT, LATE, LATE),
        ("no-end", SHORT, LATE, LATE),
        ("drips", SHORT, LATE, LATE),
    ];
    run(&client, &rows).await;
    other.ends_well(&client).await;
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_2_a_reset_of_any_code_at_any_time_is_the_way_and_not_the_engine() {
    let places = Places::new();
    let process = places.start().await;
    let proxy = Proxy::to(&places.raw).await;
    let client = proxy.place().direct();
    let other = Other::begin(&process, &client).await;
    // Every code of RFC 9113, and one that nobody knows.
    for code in (0..=13).chain([99]) {
        // INADEQUATE_SECURITY is what gRPC reads as a refusal.
        let reason = if code == 12 {
            "PERMISSION_DENIED"
        } else {
            "UNREACHABLE"
        };
        let fault = format!("reset-at-once:{code}");
        each_fails(&client, &fault, PATIENT, reason).await;
    }
    for when in [
        "reset-before:2",
        "reset-before:8",
        "reset-after:2",
        "reset-after:8",
    ] {
        each_fails(&client, when, PATIENT, "UNREACHABLE").await;
        assert_eq!(turn(&client).await, Outcome::Engine, "after {when}");
    }
    other.ends_well(&client).await;
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goaway_ends_the_calls_of_its_connection_and_the_next_ones_go_by_another() {
    let places = Places::new();
    let _process = places.start().await;
    let client = places.raw.direct();
    // NO_ERROR, PROTOCOL_ERROR and ENHANCE_YOUR_CALM.
    for code in [0, 1, 11] {
        each_fails(
            &client,
            &format!("goes-away:{code}"),
            PATIENT,
            "UNREACHABLE",
        )
        .await;
        recovers(&client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_4_an_engine_that_is_unavailable_for_ever_is_left_alone_and_serves_again_when_it_is_well()
 {
    let places = Places::new();
    let _process = places.start().await;
    let client = places.raw.client();
    let ill = async || outcome(&client, Hook::Assemble, "unavailable", PATIENT).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&Outcome::InProcess("BREAKER_OPEN")) {
        seen.push(soon(ill()).await);
    }
    seen.pop();
    assert!(
        (1..=2).contains(&seen.len())
            && seen
                .iter()
                .all(|it| *it == Outcome::InProcess("UNREACHABLE")),
        "{seen:?}"
    );
    soon(async { while turn(&client).await != Outcome::Engine {} }).await;
    assert_eq!(turn(&client).await, Outcome::Engine);
}
