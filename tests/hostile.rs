//! The client against engines that break the contract, and against what only looks like an engine:
//! the turn always gets its answer, and the reason says what was wrong.

mod catch_up;
mod connections;
pub(crate) mod engine;
mod frames;
mod host_calls;
mod last_words;

use std::time::Duration;

use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::Transcript;

use crate::harness::{PATIENT, session, soon, transcript, view};

/// For engines that never answer; long enough to reach them on a loaded machine.
const SHORT: Duration = Duration::from_secs(1);

type Origin = (ServedBy, Option<&'static str>);

/// Who answers an Assemble of this list, and why not the engine. Whoever it is, the answer is the
/// caller's own objects.
async fn origin_of(client: &EngineClient, list: &Transcript, deadline: Duration) -> Origin {
    let session = session("s");
    let call = client.assemble_within(&session, view(list), deadline);
    let served = soon(call).await.unwrap();
    let messages: Vec<_> = served.result.messages().collect();
    assert!(
        messages
            .iter()
            .zip(list.iter())
            .all(|(got, own)| got.is_same_object(own))
    );
    assert_eq!(messages.len(), list.len());
    (
        served.by,
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

/// The same of three messages, for an engine that says something.
async fn origin(client: &EngineClient) -> Origin {
    origin_of(client, &transcript(3), PATIENT).await
}

/// The same of three messages, for an engine that does not.
async fn late_origin(client: &EngineClient) -> Origin {
    origin_of(client, &transcript(3), SHORT).await
}

fn in_process(reason: &'static str) -> Origin {
    (ServedBy::InProcess, Some(reason))
}

fn by_engine() -> Origin {
    (ServedBy::Engine("hostile".to_owned()), None)
}
