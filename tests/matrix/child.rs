//! The other process: an engine behind our server, and one that speaks HTTP/2 itself.

use std::io::Write;
use std::net::SocketAddr;

use contextwire_client::{EngineClient, Target};
use contextwire_engine::Hook;
use tokio::task::JoinHandle;

use super::engine::Misbehaving;
use super::hooks::{Outcome, outcome, turn};
use super::raw;
use crate::harness::{PATIENT, Place, Process};

const PLACES: &str = "misbehaving-at=";
const CHILD: &str = "matrix::child::child_that_misbehaves_until_it_is_stopped";

/// Where the other process listens, alive or not.
#[derive(Debug)]
pub(super) struct Places {
    /// An engine behind our server.
    pub(super) served: Place,
    /// An engine that speaks HTTP/2 itself.
    pub(super) raw: Place,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            served: Place::tcp(),
            raw: Place::tcp(),
        }
    }

    /// Starts the process; when this returns, hosts can connect to both.
    pub(super) async fn start(&self) -> Process {
        let [served, raw] = [&self.served, &self.raw].map(|place| match place.target() {
            Target::Tcp(address) => address,
            Target::Unix(_) | Target::Spawn(_) | Target::Replicas(_) => panic!("an address"),
        });
        Process::run(CHILD, format!("{PLACES}{served},{raw}")).await
    }
}

/// Tells the other side of the pipe.
pub(super) fn say(word: &str) {
    // In one write: lines of several threads must not mix. Nobody may listen any more.
    let _gone = std::io::stdout()
        .write_all(format!("{word}\n").as_bytes())
        .is_err();
}

/// A call of another session, which runs for as long as a test lasts.
pub(super) struct Other(JoinHandle<Outcome>);

impl Other {
    /// Begins it, and waits until the engine has it.
    pub(super) async fn begin(process: &Process, client: &EngineClient) -> Self {
        let calling = client.clone();
        let call = async move { outcome(&calling, Hook::CommitTurn, "held", PATIENT).await };
        let call = tokio::spawn(call);
        process.says("arrived", 1).await;
        Self(call)
    }

    /// Lets it end: well, and a turn after it as well.
    pub(super) async fn ends_well(self, client: &EngineClient) {
        assert!(!self.0.is_finished(), "a call of another session ended");
        let released = outcome(client, Hook::CommitTurn, "release", PATIENT).await;
        assert_eq!(released, Outcome::Engine);
        assert_eq!(self.0.await.unwrap(), Outcome::Engine);
        assert_eq!(turn(client).await, Outcome::Engine);
    }
}

/// In the child: serves at the two addresses that an argument names. Without it, as in every run of
/// all tests, there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_misbehaves_until_it_is_stopped() {
    let places = std::env::args().find_map(|arg| Some(arg.strip_prefix(PLACES)?.to_owned()));
    let Some(places) = places else {
        return;
    };
    let addresses: Vec<SocketAddr> = places.split(',').map(|it| it.parse().unwrap()).collect();
    let [served, raw] = addresses.try_into().unwrap();
    let _served = Place::at(served).serve(Misbehaving::new()).await;
    let _raw = raw::serve(&Place::at(raw)).await;
    say(&format!("listening on http://{served}"));
    std::future::pending::<()>().await;
}
