//! What people write becomes the request that they mean.

use super::*;

#[test]
fn payloads_keep_their_bytes_and_get_the_ids_that_are_named() {
    let text = r#"{"messages":[{"role":"user","n":1e400},{"role":"x"}],"entry_ids":["e1"]}"#;
    let (session, request) = read::<IngestBatch<'_>>(text).unwrap();
    let EngineRequest::IngestBatch(batch) = request else {
        panic!("a batch")
    };
    assert_eq!(session, "debug");
    let payload = batch.messages[0].payload();
    assert_eq!(payload.as_ref(), br#"{"role":"user","n":1e400}"#);
    let ids: Vec<_> = batch
        .messages
        .iter()
        .map(|message| message.entry_id().as_str())
        .collect();
    assert_eq!(ids, ["e1", ""]);
}

#[test]
fn a_commit_is_anchored_at_its_first_and_last_message() {
    let text = r#"{"advancement_key":"t1","messages":[{},{},{}],"entry_ids":["a","b","c"]}"#;
    let (_, request) = read::<CommitTurn<'_>>(text).unwrap();
    let EngineRequest::CommitTurn(commit) = request else {
        panic!("a commit")
    };
    assert_eq!(commit.admission.logical_turn_id, "t1");
    assert_eq!(commit.admission.anchor.entry_id, "a");
    assert_eq!(commit.terminal.entry_id, "c");
    assert_eq!(commit.terminal.active_message_position, 2);
}

#[test]
fn what_a_form_does_not_know_is_refused() {
    for text in [
        r#"{"reason":"dream"}"#,
        r#"{"reason":"turn","mode":"fork"}"#,
        "7",
    ] {
        assert!(read::<Maintain>(text).is_err(), "{text}");
    }
    assert!(read::<ResolveSubagentSpawn>(r#"{"spawn_id":"s"}"#).is_err());
}
