//! The engine behind the trait.

use std::time::Duration;

use contextwire_engine::{
    Assemble, AssembleOutcome, Compact, ContextEngine, ErrorKind, Hook, HookContext, Ingest,
    Segment, Session, SessionId, SettingsInput, Site, TokenBudget,
};
use contextwire_windowed::WindowedEngine;
use serde_json::json;

use crate::support::*;

fn cx() -> HookContext {
    HookContext::new(
        Session::new(SessionId::new("s").unwrap()),
        Duration::from_mins(1),
    )
}

fn segments(outcome: AssembleOutcome) -> Vec<Segment> {
    match outcome {
        AssembleOutcome::Messages(reply) => reply.messages.segments().to_vec(),
        AssembleOutcome::Unchanged(_) => panic!("this engine projects nothing"),
    }
}

#[tokio::test]
async fn it_answers_for_the_budget_and_model_of_the_request() {
    let thinking = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]);
    let transcript = list([
        user(&words(500)),
        answer("x"),
        user("q"),
        assistant(&thinking),
        user("r"),
    ]);
    let request = Assemble {
        transcript,
        token_budget: TokenBudget::new(60),
        ..Assemble::default()
    };
    let kept = segments(
        WindowedEngine
            .assemble(&cx(), request.clone())
            .await
            .unwrap(),
    );
    assert_eq!(kept, [Segment::Keep(2..5)]);
    let settings = SettingsInput {
        resolved_model: Some("gpt-5"),
        ..SettingsInput::default()
    };
    let request = Assemble {
        runtime_settings: Some(settings.build()),
        ..request
    };
    let cleaned = segments(WindowedEngine.assemble(&cx(), request).await.unwrap());
    assert_eq!(cleaned.len(), 3);
}

#[tokio::test]
async fn an_upload_in_the_background_is_answered_with_no_segment() {
    let request = Assemble {
        transcript: list([user("q")]),
        site: Site::Sync,
        ..Assemble::default()
    };
    assert_eq!(
        segments(WindowedEngine.assemble(&cx(), request).await.unwrap()),
        []
    );
}

#[tokio::test]
async fn it_stops_when_told_to() {
    let cx = cx();
    cx.cancellation.cancel();
    let request = Assemble {
        transcript: list(turn(1)),
        ..Assemble::default()
    };
    let error = WindowedEngine.assemble(&cx, request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn it_stores_nothing_and_compacts_nothing() {
    let engine = WindowedEngine::new();
    let ingest = Ingest {
        message: user("q"),
        is_heartbeat: false,
    };
    assert!(!engine.ingest(&cx(), ingest).await.unwrap().ingested);
    let compacted = engine.compact(&cx(), Compact::default()).await.unwrap();
    assert!(!compacted.ok && !compacted.compacted);
    assert!(
        compacted
            .reason
            .unwrap()
            .starts_with("HOST_CALL_UNAVAILABLE")
    );
}

#[test]
fn it_names_the_required_methods_and_owns_no_compaction() {
    let info = WindowedEngine.info();
    assert_eq!(info.id, "windowed");
    assert_eq!(
        info.methods,
        [Hook::Describe, Hook::Ingest, Hook::Assemble, Hook::Compact]
    );
    assert!(!info.owns_compaction);
    assert_eq!(info.problems(), Vec::<String>::new());
}
