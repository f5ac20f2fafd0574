//! The start of a run.

use contextwire_client::lifecycle::{Opening, open};
use contextwire_client::{Policy, ServedBy};
use contextwire_engine::testing::SeenRequest;
use contextwire_engine::{Hook, MaintainReason};

use super::{Host, POLICIES};
use crate::harness::{session, transcript, view};

const BOTH: [Hook; 2] = [Hook::Bootstrap, Hook::Maintain];

fn stored() -> Opening {
    Opening {
        log: transcript(4),
        ..Opening::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c136_a_session_without_an_earlier_transcript_is_not_handed_over() {
    for policy in POLICIES {
        let host = Host::with(&BOTH, policy).await;
        let opened = open(&host.client, &session("s"), Opening::default()).await;
        assert!(opened.bootstrapped.is_none() && opened.maintained.is_none());
        assert_eq!(host.engine.hooks(), []);
        let opened = open(&host.client, &session("s"), stored()).await;
        assert_eq!(opened.bootstrapped.unwrap().imported_messages, Some(4));
        assert_eq!(host.engine.hooks(), BOTH);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c138_after_a_failed_bootstrap_nothing_is_maintained_and_the_turn_goes_on() {
    let host = Host::with(&BOTH, Policy::Lease).await;
    host.engine.fail_next(Hook::Bootstrap);
    let opened = open(&host.client, &session("s"), stored()).await;
    assert_eq!(opened.failure.unwrap().code(), "ENGINE_FAILURE");
    assert_eq!(host.engine.hooks(), [], "no maintenance");
    let request = view(&transcript(4));
    let served = host.client.assemble(&session("s"), request).await.unwrap();
    assert_eq!(served.by, ServedBy::Engine("recording".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn c139_without_a_bootstrap_of_its_own_an_engine_is_offered_maintenance() {
    for policy in POLICIES {
        let host = Host::with(&[Hook::Maintain], policy).await;
        let opened = open(&host.client, &session("s"), stored()).await;
        assert!(opened.bootstrapped.is_none() && opened.failure.is_none());
        assert!(opened.maintained.is_some());
        let seen = host.engine.seen.seen();
        let [seen] = &*seen else { panic!("one call") };
        let SeenRequest::Maintain(maintain) = &seen.request else {
            panic!("a maintenance")
        };
        assert_eq!(maintain.reason, MaintainReason::Bootstrap);
        assert!(!maintain.background);
    }
}
