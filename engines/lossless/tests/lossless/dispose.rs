//! A host that goes away.

use contextwire_engine::{ContextEngine, Dispose, ErrorKind, Ingest};

use super::support::*;

#[tokio::test]
async fn r7_2_a_host_that_goes_away_leaves_its_tombstones() {
    let place = Place::new();
    let engine = place.open();
    let (mut leaving, late) = (of("s"), of("s"));
    leaving.abandoned_hooks = vec![late.hook_id];
    engine.dispose(&leaving, Dispose::default()).await.unwrap();
    let request = Ingest {
        message: entry("late"),
        is_heartbeat: false,
    };
    let refused = engine.ingest(&late, request).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::HookClosed);
}
