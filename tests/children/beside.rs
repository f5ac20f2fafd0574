//! Maintenance beside the conversation: superseded in band, never outliving its host.

use contextwire_client::maintenance::{
    Maintenance, MaintenanceOffer, Offered, SupersededBy, TaskState,
};
use contextwire_client::{Host, ServedBy};
use contextwire_engine::{Hook, MaintainReason, MaintenanceMode, Session};

use crate::harness::{Failing, Gate, PATIENT, Place, Running, session, transcript, view};

/// A host whose engine never ends its maintenance while the gate is shut.
struct Desk {
    host: Host,
    engine: Failing,
    gate: Gate,
    _running: Running,
    _place: Place,
}

async fn desk() -> Desk {
    let (place, gate) = (Place::new(), Gate::new());
    let methods = [Hook::Maintain, Hook::Dispose];
    let engine = Failing::with(&methods).holding(Hook::Maintain, &gate);
    let running = place.serve(engine.clone()).await;
    let host = Host::builder()
        .engine("recording", place.target())
        .build()
        .unwrap();
    let client = host.engine("recording").unwrap();
    client.describe(PATIENT).await.unwrap();
    Desk {
        host,
        engine,
        gate,
        _running: running,
        _place: place,
    }
}

fn keyed() -> Session {
    Session {
        key: Some("k".to_owned()),
        ..session("s")
    }
}

async fn begin(desk: &Desk, maintenance: &Maintenance) {
    let mode = MaintenanceMode::Background;
    let offer = MaintenanceOffer::new(keyed(), MaintainReason::Turn, mode);
    let offered = maintenance.offer(&desk.host, offer).await;
    assert!(matches!(offered, Offered::Scheduled));
    desk.gate.arrived(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_9_superseded_maintenance_ends_at_the_engine_and_counts_as_no_failure() {
    let desk = desk().await;
    let maintenance = desk.host.maintenance().clone();
    // Twice in a row would open the breaker, if it counted.
    for _ in 0..2 {
        begin(&desk, &maintenance).await;
        maintenance.supersede(&keyed(), SupersededBy::Rewrite);
        desk.gate.left(1).await;
        maintenance.settled().await;
    }
    let [task] = &*maintenance.tasks() else {
        panic!("one session")
    };
    assert!(matches!(task.state, TaskState::Cancelled));
    let client = desk.host.engine("recording").unwrap();
    let session = keyed();
    let served = client.assemble_within(&session, view(&transcript(1)), PATIENT);
    let served = served.await.unwrap();
    assert_eq!(served.by, ServedBy::Engine("recording".to_owned()));
    assert_eq!(client.status().breaker.state, "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn c208_a_host_that_goes_away_ends_its_maintenance_before_it_says_so() {
    let desk = desk().await;
    begin(&desk, desk.host.maintenance()).await;
    desk.host.dispose().await;
    let [task] = &*desk.host.maintenance().tasks() else {
        panic!("one session")
    };
    assert!(matches!(task.state, TaskState::Cancelled));
    assert_eq!(desk.engine.hooks(), [Hook::Dispose]);
    desk.gate.left(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_ends_with_the_last_clone_of_its_host() {
    let Desk { host, gate, .. } = &desk().await;
    let mode = MaintenanceMode::Background;
    let offer = MaintenanceOffer::new(keyed(), MaintainReason::Turn, mode);
    let maintenance = Maintenance::default();
    maintenance.offer(host, offer).await;
    gate.arrived(1).await;
    drop(maintenance);
    gate.left(1).await;
}
