//! The conformance suite against the engines of this repository, and against engines that are broken
//! on purpose: a check that no mutant fails would be no check.

mod documents;
mod requirements;

use std::net::SocketAddr;

use contextwire_conformance::mutant::{self, Change, Front, Mutant};
use contextwire_conformance::report::{Ending, Report};
use contextwire_conformance::runner::{self, Selection};
use contextwire_conformance::target::Address;
use contextwire_engine::ContextEngine;
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_lossless::{LosslessEngine, LosslessOptions};
use contextwire_proto::edge::UnknownFields;
use contextwire_server::ServerOptions;
use contextwire_windowed::WindowedEngine;
use futures_util::{StreamExt, stream};
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use crate::harness::{Place, Running};

/// An engine that the suite runs against.
pub(super) struct Served {
    place: Place,
    _running: Running,
    _store: TempDir,
}

impl Served {
    pub(super) async fn windowed() -> Self {
        Self::engine(
            WindowedEngine,
            UnknownFields::Ignore,
            tempfile::tempdir().unwrap(),
        )
        .await
    }

    pub(super) async fn ledger() -> Self {
        let store = tempfile::tempdir().unwrap();
        let file = store.path().join("ledger.sqlite3");
        let ledger = LedgerEngine::open(&file, LedgerOptions::default()).unwrap();
        Self::engine(ledger, UnknownFields::Ignore, store).await
    }

    pub(super) async fn lossless(unknown_fields: UnknownFields) -> Self {
        let store = tempfile::tempdir().unwrap();
        let file = store.path().join("lossless.sqlite3");
        let lossless = LosslessEngine::open(&file, LosslessOptions::default()).unwrap();
        Self::engine(lossless, unknown_fields, store).await
    }

    async fn engine(
        engine: impl ContextEngine,
        unknown_fields: UnknownFields,
        store: TempDir,
    ) -> Self {
        let place = Place::tcp();
        let options = ServerOptions {
            unknown_fields,
            ..ServerOptions::default()
        };
        Self {
            _running: place.serve_with(engine, options).await,
            place,
            _store: store,
        }
    }

    fn address(&self) -> Address {
        self.place.target().to_string().parse().unwrap()
    }

    pub(super) async fn run(&self) -> Report {
        let selection = Selection::default();
        runner::run(&self.address(), &selection, |_| {})
            .await
            .unwrap()
    }
}

/// What failed, with the reasons.
pub(super) fn failures(report: &Report) -> Vec<String> {
    let rows = report.rows.iter();
    rows.filter(|row| matches!(row.outcome.ending, Ending::Failed | Ending::Inconclusive))
        .map(|row| format!("{}: {}", row.check.id, row.outcome.reason))
        .collect()
}

/// What stands before an engine until it is dropped.
async fn fronted(
    served: &Served,
    change: Change,
) -> (
    Address,
    AbortOnDropHandle<Result<(), tonic::transport::Error>>,
) {
    let front = Front::new(served.address().channel().unwrap(), change);
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (address, serving) = front.serve(any).await.unwrap();
    let address = format!("http://{address}").parse().unwrap();
    (address, AbortOnDropHandle::new(tokio::spawn(serving)))
}

/// The checks that were made for this mutant and do not fail it.
async fn survives(mutant: &'static Mutant, served: &Served) -> Vec<String> {
    let (address, _serving) = fronted(served, mutant.change).await;
    let mut survived = Vec::new();
    for id in mutant.fails {
        let selection = Selection {
            only: Some((*id).to_owned()),
            ..Selection::default()
        };
        let ended = match runner::run(&address, &selection, |_| {}).await {
            Ok(report) => report.rows[0].outcome.clone(),
            Err(error) => panic!("{}: {error}", mutant.name),
        };
        if ended.ending != Ending::Failed {
            survived.push(format!("{} survives {id}: {ended:?}", mutant.name));
        }
    }
    survived
}

#[tokio::test(flavor = "multi_thread")]
async fn a_front_without_a_change_passes_what_its_engine_passes() {
    let served = Served::lossless(UnknownFields::Reject).await;
    let (address, _serving) = fronted(&served, Change::default()).await;
    let report = runner::run(&address, &Selection::default(), |_| {})
        .await
        .unwrap();
    assert_eq!(failures(&report), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mutant_fails_the_checks_that_were_made_for_it() {
    let tolerant = Served::lossless(UnknownFields::Ignore).await;
    let strict = Served::lossless(UnknownFields::Reject).await;
    let survived: Vec<String> = stream::iter(mutant::all())
        .map(|mutant| survives(mutant, if mutant.is_strict { &strict } else { &tolerant }))
        .buffer_unordered(6)
        .concat()
        .await;
    assert!(survived.is_empty(), "{}", survived.join("\n"));
}
