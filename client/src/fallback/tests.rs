use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, AssembleReply, Assembled, CommitTurn, Compact, Compacted,
    ContextProjection, Ingest, Ingested, Maintain, Maintained, Message, PromptAuthority, Session,
    Transcript,
};
use tower::{Layer, ServiceExt};

use super::*;

fn layer() -> FallbackLayer {
    FallbackLayer::new(FallbackEngine::LastGood, Acquaintance::of_nobody())
}

/// A host and its engine, which owns compaction or not.
struct Host {
    layer: FallbackLayer,
    script: crate::script::Script,
}

impl Host {
    fn new(owns_compaction: bool) -> Self {
        let layer = layer();
        let mut engine = crate::script::description();
        engine.info.owns_compaction = owns_compaction;
        layer.known.as_ref().unwrap().learn(engine);
        Self {
            layer,
            script: crate::script::Script::default(),
        }
    }

    async fn call(
        &self,
        request: impl Into<EngineRequest>,
        line: crate::script::Line,
    ) -> EngineReply {
        self.script.add([line]);
        let fallback = self.layer.layer(self.script.clone());
        let call = crate::script::call(request);
        fallback.oneshot(call).await.unwrap().result
    }

    /// The engine summarises all of the list but its last message.
    async fn summarised(&self, list: &Transcript) {
        let mut messages = Assembled::new();
        messages.push_insert(Message::from_payload(
            r#"{"role":"user","content":"so far"}"#,
        ));
        messages.push_keep(list.len() - 1..list.len());
        let reply = AssembleReply {
            messages,
            system_prompt_addition: Some("be brief".to_owned()),
            context_projection: Some(ContextProjection::default()),
            ..AssembleReply::default()
        };
        let reply = EngineReply::Assembled(reply.into());
        self.call(asking(list), crate::script::answers(reply)).await;
    }

    /// What the host answers itself.
    async fn alone(&self, list: &Transcript) -> AssembleReply {
        let failure = crate::script::fails(crate::script::broken());
        let answer = self.call(asking(list), failure).await;
        let EngineReply::Assembled(AssembleOutcome::Messages(reply)) = answer else {
            panic!("messages")
        };
        reply
    }
}

fn asking(list: &Transcript) -> Assemble {
    Assemble {
        transcript: list.clone(),
        ..Assemble::default()
    }
}

fn users(len: usize) -> Transcript {
    let payload = |n| format!(r#"{{"role":"user","content":"{n}"}}"#);
    (0..len)
        .map(|n| Message::from_payload(payload(n)).with_entry_id(format!("e{n}")))
        .collect()
}

#[tokio::test]
async fn r7_13_an_engine_that_owns_compaction_is_replaced_by_what_it_said_last() {
    let host = Host::new(true);
    host.summarised(&users(100)).await;
    let reply = host.alone(&users(103)).await;
    assert_eq!(reply.messages.len(), 1 + 4);
    assert_eq!(reply.system_prompt_addition.as_deref(), Some("be brief"));
    assert_eq!(reply.context_projection, None);
}

#[tokio::test]
async fn r7_13_any_other_engine_by_the_list_and_its_last_addition() {
    let host = Host::new(false);
    host.summarised(&users(100)).await;
    let reply = host.alone(&users(103)).await;
    assert_eq!(reply.messages, Assembled::keep(0..103));
    assert_eq!(reply.system_prompt_addition.as_deref(), Some("be brief"));
}

#[tokio::test]
async fn r7_13_after_a_compaction_or_a_rewrite_the_new_list_stands_alone() {
    let compacted = Compacted {
        ok: true,
        compacted: true,
        ..Compacted::declined("")
    };
    let maintained = Maintained {
        changed: true,
        ..Maintained::default()
    };
    let changes: [(EngineRequest, EngineReply); 2] = [
        (Compact::default().into(), EngineReply::Compacted(compacted)),
        (
            Maintain::default().into(),
            EngineReply::Maintained(maintained),
        ),
    ];
    for (request, answer) in changes {
        let host = Host::new(true);
        host.summarised(&users(100)).await;
        host.call(request, crate::script::answers(answer)).await;
        let reply = host.alone(&users(103)).await;
        assert_eq!(reply.messages, Assembled::keep(0..103));
    }
}

async fn failing(request: EngineRequest) -> Result<Answer, CallError> {
    let failing = tower::service_fn(|call: Call| async move {
        call.traffic.count_sent(95);
        Err::<Answer, _>(CallError::ContractViolation("two results".to_owned()))
    });
    let session = Session::new(SessionId::new("s").unwrap());
    let call = Call::new(session, request, Duration::from_secs(5));
    layer().layer(failing).oneshot(call).await
}

#[tokio::test]
async fn br_048_a_failed_assemble_gives_the_callers_own_messages_and_the_reason() {
    let own = Message::from_payload(r#"{"role":"user","content":"hi","x_private":[1e400]}"#);
    let transcript: Transcript = [own.clone()].into_iter().collect();
    let request = Assemble {
        transcript: transcript.clone(),
        ..Assemble::default()
    };
    let served = failing(EngineRequest::Assemble(request)).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "CONTRACT_VIOLATION");
    assert_eq!(served.traffic.bytes_sent(), 100);
    let EngineReply::Assembled(AssembleOutcome::Messages(reply)) = served.result else {
        panic!("an assembled context");
    };
    assert_eq!(
        reply.prompt_authority,
        Some(PromptAuthority::PreassemblyMayOverflow)
    );
    assert!(reply.estimated_tokens > 0, "an honest estimate");
    assert!(
        reply
            .messages
            .messages(&transcript)
            .next()
            .unwrap()
            .is_same_object(&own)
    );
}

#[tokio::test]
async fn a_failed_ingest_is_neutral_and_a_failed_compact_is_passed_on() {
    let message = Message::from_payload("{}");
    let ingest = EngineRequest::Ingest(Ingest {
        message,
        is_heartbeat: false,
    });
    let served = failing(ingest).await.unwrap();
    assert_eq!(
        served.result,
        EngineReply::Ingested(Ingested { ingested: false })
    );
    assert!(
        failing(EngineRequest::Compact(Compact::default()))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_failed_after_turn_is_neutral_and_a_failed_commit_is_passed_on() {
    let served = failing(AfterTurn::default().into()).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "CONTRACT_VIOLATION");
    let error = failing(CommitTurn::default().into()).await.unwrap_err();
    assert_eq!(error.code(), "CONTRACT_VIOLATION");
}
