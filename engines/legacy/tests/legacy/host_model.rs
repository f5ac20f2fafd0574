//! Summaries by the host's own model.

use contextwire_engine::{
    ContextEngine, HookContext, HostCall, HostCallError, HostLog, HostReply, LlmCompleted,
};
use contextwire_legacy::{CompactionSite, HostModel, LegacyEngine, LegacyOptions};

use crate::support::*;

fn model(answer: Result<LlmCompleted, HostCallError>) -> HookContext {
    let (_, mut cx) = ScriptedHost::new(move |_, call| match call {
        HostCall::Complete(request) => {
            assert_eq!(
                request.purpose.as_deref(),
                Some("context-engine.compaction")
            );
            assert_eq!((&request.model, request.max_tokens), (&None, Some(16_000)));
            assert!(request.messages[0].1.contains("<conversation>"));
            answer.clone().map(HostReply::Completed)
        }
        HostCall::ReadTranscript(_) | HostCall::DelegateCompaction(_) | HostCall::Rewrite(_) => {
            Err(HostCallError::unavailable())
        }
    });
    cx.log = HostLog::new(turns(60));
    cx
}

fn said(text: &str, stop_reason: &str) -> LlmCompleted {
    LlmCompleted {
        text: text.to_owned(),
        model: "host-model".to_owned(),
        stop_reason: Some(stop_reason.to_owned()),
        ..LlmCompleted::default()
    }
}

#[tokio::test]
async fn the_hosts_model_writes_the_summary() {
    let cx = model(Ok(said("what matters", "stop")));
    let result = here(HostModel)
        .compact(&cx, force())
        .await
        .unwrap()
        .result
        .unwrap();
    assert_eq!(result.summary.as_deref(), Some("what matters"));
    let details: serde_json::Value = serde_json::from_slice(&result.details.unwrap()).unwrap();
    assert_eq!(
        (&details["summarizer"], &details["model"]),
        (&"host".into(), &"host-model".into())
    );
}

#[tokio::test]
async fn br_041_and_br_061_a_model_that_is_denied_or_fails_is_never_replaced_by_an_extract() {
    let denied = Err(HostCallError::new("DENIED", "not allowed"));
    let refused = Ok(said("I cannot", "content_filter"));
    for (answer, expected) in [(denied, "DENIED"), (refused, "content_filter")] {
        let engine = LegacyEngine::new(LegacyOptions {
            site: CompactionSite::Engine,
            ..LegacyOptions::default()
        });
        let answer = engine.compact(&model(answer), force()).await.unwrap();
        let reason = answer.reason.unwrap();
        assert!(
            !answer.ok && reason.starts_with("summarization_failed"),
            "{reason}"
        );
        assert!(reason.ends_with(expected), "{reason}");
    }
}
