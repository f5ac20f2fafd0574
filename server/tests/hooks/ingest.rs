//! `IngestBatch` takes all of its messages or none.

use contextwire_engine::testing::RecordingEngine;
use contextwire_engine::{IngestBatch, Omitted};
use contextwire_proto::convert::IngestBatchRequest;
use contextwire_proto::{Reason, reason_of, status, v1};

use crate::harness::{call, message, serve};

fn batch() -> v1::IngestBatchRequest {
    let request = IngestBatch {
        messages: ["a", "b", "c"].map(message).to_vec(),
        is_heartbeat: false,
    };
    IngestBatchRequest {
        call: call(),
        request,
    }
    .into()
}

#[tokio::test]
async fn e_hks_08_a_message_that_cannot_be_stored_refuses_the_batch_by_its_index() {
    let engine = RecordingEngine::new();
    let (mut stub, _running) = serve(engine.clone()).await;
    let mut stubbed = batch();
    let omitted = Omitted {
        bytes: 99,
        sha256: [7; 32],
    };
    stubbed.messages[1].omitted = Some(omitted.into());
    let refused = stub.ingest_batch(stubbed).await.unwrap_err();
    assert_eq!(reason_of(&refused), Some(Reason::MessageTooLarge));
    assert_eq!(status::metadata(&refused)["field"], "messages[1]");
    assert_eq!(engine.hooks(), []);
}

#[tokio::test]
async fn e_hks_08_a_message_that_means_nothing_refuses_the_batch_by_its_index() {
    let engine = RecordingEngine::new();
    let (mut stub, _running) = serve(engine.clone()).await;
    let mut broken = batch();
    broken.messages[2].omitted = Some(v1::OmittedPayload::default());
    let refused = stub.ingest_batch(broken).await.unwrap_err();
    assert_eq!(reason_of(&refused), Some(Reason::InvalidRequest));
    let violations = status::violations(&refused);
    assert_eq!(violations[0].field, "messages[2].omitted.sha256");
    assert_eq!(engine.hooks(), []);
}
