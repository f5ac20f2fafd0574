//! The engine's hooks, and where its compaction runs.

use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::testing::implemented;
use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Compact, CompactResult, Compacted, CompactionTarget,
    ContextEngine, Dispose, ErrorKind, Hook, HostCall, HostCallError, HostLog, HostReply, Ingest,
    Message, RuntimeContext, Segment, Transcript, TranscriptState,
};
use contextwire_legacy::{CompactionSite, Extract, ID, LegacyEngine, Summarizer};

use crate::support::*;

fn unavailable(_: usize, _: &HostCall) -> Result<HostReply, HostCallError> {
    Err(HostCallError::unavailable())
}

fn compacted_by_host() -> Compacted {
    Compacted {
        ok: true,
        compacted: true,
        reason: None,
        result: Some(CompactResult {
            summary: Some("the host's".to_owned()),
            ..CompactResult::default()
        }),
    }
}

#[tokio::test]
async fn c22_the_messages_are_exactly_the_hosts() {
    let texts = [
        r#"{"role":"user","content":null}"#,
        "not json",
        r#"{"role":"toolResult"}"#,
    ];
    let request = Assemble {
        transcript: texts.into_iter().map(Message::from_payload).collect(),
        ..Assemble::default()
    };
    let answer = LegacyEngine::default().assemble(&cx(), request).await;
    let AssembleOutcome::Messages(reply) = answer.unwrap() else {
        panic!("an assembled context")
    };
    assert_eq!(reply.messages.segments(), [Segment::Keep(0..3)]);
    assert_eq!(reply.system_prompt_addition, None);
    let empty = LegacyEngine::default()
        .assemble(&cx(), Assemble::default())
        .await;
    assert!(
        matches!(empty.unwrap(), AssembleOutcome::Messages(reply) if reply.messages.is_empty())
    );
}

#[tokio::test]
async fn c334_ingest_takes_nothing() {
    let ingest = Ingest {
        message: user("hi"),
        is_heartbeat: false,
    };
    let answer = LegacyEngine::default().ingest(&cx(), ingest).await.unwrap();
    assert!(!answer.ingested);
}

#[tokio::test]
async fn c336_the_end_of_a_turn_and_of_a_host_are_no_events() {
    let engine = LegacyEngine::default();
    engine
        .after_turn(&cx(), AfterTurn::default())
        .await
        .unwrap();
    engine.dispose(&cx(), Dispose::default()).await.unwrap();
}

#[tokio::test]
async fn c337_there_is_no_other_hook_and_no_hook_is_hidden() {
    let engine = LegacyEngine::default();
    let info = engine.info();
    let mut methods = info.methods.clone();
    methods.sort();
    let expected = [
        Hook::Describe,
        Hook::Ingest,
        Hook::Assemble,
        Hook::Compact,
        Hook::AfterTurn,
        Hook::Dispose,
    ];
    assert_eq!(methods, expected);
    assert_eq!(implemented(&engine).await.unwrap(), expected);
    assert_eq!((info.id.as_str(), info.version.as_str()), (ID, "1.0.0"));
    assert!(!info.owns_compaction && info.problems().is_empty());
}

#[tokio::test]
async fn c229_and_e_hks_20_the_hosts_own_compaction_comes_first() {
    let (host, mut cx) = ScriptedHost::new(|_, _| {
        let head = TranscriptState::default();
        Ok(HostReply::Compacted(compacted_by_host(), head))
    });
    cx.log = HostLog::new(turns(60));
    let answer = LegacyEngine::default().compact(&cx, force()).await.unwrap();
    assert_eq!(answer, compacted_by_host());
    assert_eq!(host.seen(), [HostCall::DelegateCompaction(force())]);
}

#[tokio::test]
async fn c231_and_c232_a_delegate_gets_the_count_that_counts_and_no_target() {
    for (top, context, expected) in [
        (None, Some(277_403), Some(277_403)),
        (Some(9), Some(277_403), Some(9)),
        (None, Some(0), None),
    ] {
        let (host, cx) = ScriptedHost::new(|_, _| {
            Ok(HostReply::Compacted(
                Compacted::default(),
                TranscriptState::default(),
            ))
        });
        let request = Compact {
            current_token_count: top,
            runtime_context: Some(RuntimeContext {
                current_token_count: context,
                ..RuntimeContext::default()
            }),
            target: CompactionTarget::Threshold,
            ..force()
        };
        LegacyEngine::default().compact(&cx, request).await.unwrap();
        let calls = host.seen();
        let [HostCall::DelegateCompaction(seen)] = calls.as_slice() else {
            panic!("a delegation")
        };
        assert_eq!(seen.current_token_count, expected);
        assert_eq!(seen.target, CompactionTarget::Budget);
        assert!(seen.force);
    }
}

#[tokio::test]
async fn a_delegation_that_fails_is_an_answer_and_nothing_is_tried_beside_it() {
    let (host, mut cx) =
        ScriptedHost::new(|_, _| Err(HostCallError::new("TIMEOUT", "it took too long")));
    cx.log = HostLog::new(turns(60));
    let answer = LegacyEngine::default().compact(&cx, force()).await.unwrap();
    assert_eq!(answer, Compacted::declined("TIMEOUT: it took too long"));
    assert_eq!(host.seen().len(), 1);
}

#[tokio::test]
async fn where_the_host_serves_no_compaction_its_log_is_compacted_here() {
    let (host, mut cx) = ScriptedHost::new(unavailable);
    cx.log = HostLog::new(turns(60));
    let answer = LegacyEngine::default().compact(&cx, force()).await.unwrap();
    let result = answer.result.unwrap();
    assert!(answer.ok && answer.compacted);
    // This host has no model either.
    assert!(result.summary.unwrap().starts_with("This is an extract"));
    assert_eq!(result.first_kept_entry_id, Some("e80".into()));
    let kinds: Vec<_> = host.seen().iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 2, "a delegation, then the model");
}

#[tokio::test]
async fn r1_2_with_neither_a_log_nor_a_host_that_compacts_the_answer_says_so() {
    for engine in [LegacyEngine::default(), here(Extract)] {
        let answer = engine.compact(&cx(), force()).await.unwrap();
        assert!(!answer.ok && !answer.compacted);
        assert!(answer.reason.unwrap().starts_with("HOST_CALL_UNAVAILABLE"));
    }
}

#[tokio::test]
async fn an_engine_with_a_summariser_of_its_own_compacts_here_and_delegates_without_a_log() {
    let engine = here(Script::default());
    let answer = engine.compact(&with_log(&turns(60)), force()).await;
    let result = answer.unwrap().result.unwrap();
    assert_eq!(result.summary.as_deref(), Some("summary 1"));
    assert!(result.tokens_after.unwrap() < result.tokens_before);

    let (host, cx) = ScriptedHost::new(|_, call| match call {
        HostCall::DelegateCompaction(_) => Ok(HostReply::Compacted(
            compacted_by_host(),
            TranscriptState::default(),
        )),
        HostCall::Complete(_) | HostCall::ReadTranscript(_) | HostCall::Rewrite(_) => {
            Err(HostCallError::unavailable())
        }
    });
    let answer = engine.compact(&cx, force()).await.unwrap();
    assert_eq!(answer, compacted_by_host());
    assert_eq!(host.seen().len(), 2);
}

#[tokio::test]
async fn the_next_compaction_goes_on_from_the_engines_last_summary() {
    let script = Arc::new(Script::default());
    let engine = engine(
        CompactionSite::Engine,
        Arc::clone(&script) as Arc<dyn Summarizer>,
    );
    let compact = async |turns_so_far: usize| {
        let answer = engine
            .compact(&with_log(&turns(turns_so_far)), force())
            .await;
        assert!(answer.unwrap().compacted);
    };
    compact(60).await;
    compact(90).await;
    let seen = script.seen();
    assert_eq!(seen[1].earlier.as_deref(), Some("summary 1"));
    assert!(!seen[1].prompt.contains("question 39 "));
    // A log that begins otherwise is another conversation.
    let other = list(std::iter::once(user("other")).chain(turns(60).iter().cloned()));
    engine.compact(&with_log(&other), force()).await.unwrap();
    assert_eq!(script.seen()[2].earlier, None);
    // And another engine knows nothing.
    let fresh = Arc::new(Script::default());
    let other = self::engine(
        CompactionSite::Engine,
        Arc::clone(&fresh) as Arc<dyn Summarizer>,
    );
    other.compact(&with_log(&turns(90)), force()).await.unwrap();
    assert_eq!(fresh.seen()[0].earlier, None);
}

#[tokio::test]
async fn a_log_without_ids_costs_no_call_since_no_host_could_use_the_answer() {
    let script = Arc::new(Script::default());
    let engine = engine(
        CompactionSite::Engine,
        Arc::clone(&script) as Arc<dyn Summarizer>,
    );
    let bare: Transcript = turns(60)
        .iter()
        .map(|m| m.clone().with_entry_id(""))
        .collect();
    let answer = engine.compact(&with_log(&bare), force()).await.unwrap();
    assert!(answer.reason.unwrap().starts_with("invalid_session: "));
    assert_eq!(script.calls(), 0);
}

#[tokio::test]
async fn c234_a_hook_that_is_cancelled_waits_for_no_call_back() {
    let (_, stalled) = ScriptedHost::new(unavailable);
    stalled.cancellation.cancel();
    for engine in [LegacyEngine::default(), here(Extract)] {
        let error = engine.compact(&stalled, force()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_out_of_time_is_over_and_no_answer() {
    let slow = Script {
        takes: Duration::from_hours(1),
        ..Script::default()
    };
    let error = here(slow)
        .compact(&with_log(&turns(60)), force())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn br_024_a_failing_model_is_an_answer_and_not_a_failure_of_the_engine() {
    let script = Script::failing(&contextwire_legacy::SummarizeError::Unauthorized { status: 401 });
    let answer = here(script)
        .compact(&with_log(&turns(60)), force())
        .await
        .unwrap();
    assert!(!answer.ok && !answer.compacted);
    assert!(
        answer
            .reason
            .unwrap()
            .contains("refuses the key (status 401)")
    );
}

#[tokio::test(start_paused = true)]
async fn e_hks_19_and_br_157_a_second_compaction_of_a_session_waits_for_the_first() {
    let slow = here(Script {
        takes: Duration::from_secs(10),
        ..Script::default()
    });
    let (first, second) = (with_log(&turns(60)), with_log(&turns(60)));
    let (first, second) = tokio::join!(
        slow.compact(&first, force()),
        slow.compact(&second, force())
    );
    assert!(first.unwrap().compacted);
    let expected = ErrorKind::InProgress {
        retry_after: Duration::from_secs(1),
    };
    assert_eq!(second.unwrap_err().kind(), expected);
    // The right is given back, also by a call that was dropped.
    let again = with_log(&turns(60));
    drop(tokio::time::timeout(Duration::from_secs(1), slow.compact(&again, force())).await);
    assert!(
        slow.compact(&with_log(&turns(90)), force())
            .await
            .unwrap()
            .compacted
    );
}

#[tokio::test]
async fn br_156_the_same_call_again_gets_the_same_answer_and_costs_nothing() {
    let script = Arc::new(Script::default());
    let engine = engine(
        CompactionSite::Engine,
        Arc::clone(&script) as Arc<dyn Summarizer>,
    );
    let cx = with_log(&turns(60));
    let first = engine.compact(&cx, force()).await.unwrap();
    assert_eq!(engine.compact(&cx, force()).await.unwrap(), first);
    assert_eq!(script.calls(), 1);
}
