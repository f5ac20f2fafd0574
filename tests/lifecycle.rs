//! The turns of a host, as calls of its engine over real sockets (HOST-SEMANTICS 2), by the numbers
//! of their cases.

mod end;
mod start;
mod tool_loop;

use contextwire_client::{ClientOptions, EngineClient, Policy, QuarantineOptions, Quarantines};
use contextwire_engine::Hook;

use crate::harness::{Failing, PATIENT, Place, Running};

/// Both policies whose cases these are.
const POLICIES: [Policy; 2] = [Policy::Guarded, Policy::Lease];

/// An engine that runs, and a host of it.
pub(crate) struct Host {
    pub(crate) client: EngineClient,
    pub(crate) engine: Failing,
    _running: Running,
    _place: Place,
}

impl Host {
    /// A host of this engine that knows it.
    pub(crate) async fn of(engine: Failing, policy: Policy) -> Self {
        let place = Place::new();
        let running = place.serve(engine.clone()).await;
        let client = place.client_with(&ClientOptions {
            policy,
            quarantine: QuarantineOptions {
                list: Quarantines::new(),
                ..QuarantineOptions::default()
            },
            ..ClientOptions::default()
        });
        client.describe(PATIENT).await.unwrap();
        Self {
            client,
            engine,
            _running: running,
            _place: place,
        }
    }

    /// The same with the required methods and these.
    pub(crate) async fn with(methods: &[Hook], policy: Policy) -> Self {
        Self::of(Failing::with(methods), policy).await
    }
}
