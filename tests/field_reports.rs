//! Faults that users of context engines reported, over real sockets, by the numbers of their reports.
//! Those that other tests stand for are in COVERAGE.md.

mod grpc;
mod lifecycle;
mod selection;
mod unread;

use contextwire_client::{EngineClient, ServedBy};

use crate::harness::{PATIENT, session, transcript, view};

type Origin = (ServedBy, Option<&'static str>);

/// Who answers an Assemble of three messages, and why not the engine.
async fn origin(client: &EngineClient) -> Origin {
    let request = view(&transcript(3));
    let id = session("s");
    let call = client.assemble_within(&id, request, PATIENT);
    let served = call.await.unwrap();
    let reason = served.reason.as_ref().map(|reason| reason.code());
    (served.by, reason)
}

fn by(engine: &str) -> Origin {
    (ServedBy::Engine(engine.to_owned()), None)
}

fn in_process(reason: &'static str) -> Origin {
    (ServedBy::InProcess, Some(reason))
}
