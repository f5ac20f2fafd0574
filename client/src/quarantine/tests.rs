//! HOST-SEMANTICS 3.3 to 3.7 by the numbers of its cases, below the layer that substitutes.

mod callers;
mod texts;

use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, Compact, Ingest, IngestBatch,
    IngestedBatch, Maintain, Maintained, Message, PrepareSubagentSpawn,
};
use contextwire_proto::Reason;
use tokio::time::advance;
use tower::{Layer, ServiceExt};

use super::*;
use crate::fallback::FallbackLayer;
use crate::layer::Wrapped;
use crate::options::{FallbackEngine, QuarantineOptions};
use crate::request::{EngineReply, EngineRequest};
use crate::script::{Script, answers, call, description, fails, ingest, refused, session, well};

const DOWNGRADED: &str = "context engine downgraded to legacy";

/// A host of one scripted engine.
struct Host {
    known: Arc<Acquaintance>,
    script: Script,
    stack: Wrapped<FallbackLayer, Wrapped<QuarantineLayer, Script>>,
}

impl Host {
    fn new(lines: impl IntoIterator<Item = crate::script::Line>) -> Self {
        Self::of(Acquaintance::of_nobody(), lines)
    }

    fn with(
        options: QuarantineOptions,
        lines: impl IntoIterator<Item = crate::script::Line>,
    ) -> Self {
        Self::of(Acquaintance::with_quarantine(options), lines)
    }

    fn of(known: Arc<Acquaintance>, lines: impl IntoIterator<Item = crate::script::Line>) -> Self {
        known.learn(description());
        let script = Script::new(lines);
        let barred = QuarantineLayer(Arc::clone(&known)).layer(script.clone());
        let fallback = FallbackLayer::new(FallbackEngine::LastGood, Arc::clone(&known));
        let stack = fallback.layer(barred);
        Self {
            known,
            script,
            stack,
        }
    }

    async fn call(&self, request: impl Into<EngineRequest>) -> Result<Answer, CallError> {
        self.stack.clone().oneshot(call(request)).await
    }

    async fn ingest_in(&self, id: &str) -> &'static str {
        let call = Call {
            session: session(id),
            ..ingest()
        };
        code(&self.stack.clone().oneshot(call).await)
    }

    fn record(&self) -> QuarantineRecord {
        self.known.bar().record().expect("barred")
    }

    fn records(&self) -> Vec<QuarantineRecord> {
        self.known.bar().list.records()
    }
}

fn failure(text: &str) -> CallError {
    CallError::Refused {
        reason: Reason::EngineFailure,
        message: text.to_owned(),
        retry_after: None,
        violations: Vec::new(),
    }
}

/// Why the engine did not serve, or `answered`.
fn code(outcome: &Result<Answer, CallError>) -> &'static str {
    match outcome {
        Ok(served) => served
            .reason
            .as_ref()
            .map_or("answered", |reason| reason.code()),
        Err(error) => error.code(),
    }
}

fn an_assemble() -> (Assemble, Message) {
    let own = Message::from_payload(r#"{"role":"user","content":"hi"}"#);
    let request = Assemble {
        transcript: [own.clone()].into_iter().collect(),
        ..Assemble::default()
    };
    (request, own)
}

#[tokio::test]
async fn c031_to_c033_a_failed_assemble_returns_the_input_and_leaves_one_record() {
    let host = Host::new([fails(failure("lcm db is corrupt"))]);
    let (request, own) = an_assemble();
    let view = request.transcript.clone();
    let served = host.call(request.clone()).await.unwrap();
    assert_eq!(code(&Ok(served.clone())), "ENGINE_FAILURE");
    let EngineReply::Assembled(AssembleOutcome::Messages(reply)) = served.result else {
        panic!("messages")
    };
    let messages: Vec<_> = reply.messages.messages(&view).collect();
    assert!(messages.len() == 1 && messages[0].is_same_object(&own));
    // 32: from now on without the engine.
    assert_eq!(code(&host.call(request).await), "QUARANTINED");
    assert_eq!(host.script.calls().len(), 1);
    let record = host.record();
    assert!(record.failed_at > 0);
    let expected = QuarantineRecord {
        engine_id: "scripted".to_owned(),
        owner: Some("plugin:scripted".to_owned()),
        operation: "assemble".to_owned(),
        reason: "lcm db is corrupt".to_owned(),
        failed_at: record.failed_at,
        session: None,
    };
    assert_eq!(host.records(), [expected]);
}

#[tokio::test]
async fn c034_c039_the_info_that_the_host_holds_is_the_built_ins_at_once() {
    let host = Host::new([fails(failure("bug"))]);
    let mut owning = description();
    owning.info.owns_compaction = true;
    host.known.learn(owning);
    let info = || {
        let own = host.known.last().map(|engine| engine.info.clone());
        host.known.bar().active_info(own).unwrap()
    };
    assert!(info().owns_compaction);
    host.call(Compact::default()).await.unwrap_err();
    let info = info();
    assert_eq!(
        (info.id.as_str(), info.name.as_str()),
        ("legacy", "Legacy Context Engine")
    );
    assert!(!info.owns_compaction && info.host_requirements.is_empty());
}

#[tokio::test(start_paused = true)]
async fn c036_the_first_failure_wins() {
    let list = Quarantines::new();
    let options = QuarantineOptions {
        list: list.clone(),
        ..<_>::default()
    };
    let one = Host::with(options.clone(), [fails(failure("first"))]);
    let slow = crate::script::Line::Ends(Duration::from_secs(1), Err(failure("second")));
    let other = Host::with(options, [slow]);
    let (request, _) = an_assemble();
    let (second, first) = tokio::join!(other.call(Compact::default()), one.call(request));
    assert_eq!(code(&first), "ENGINE_FAILURE");
    assert_eq!(code(&second), "ENGINE_FAILURE");
    let records = list.records();
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].operation.as_str(), records[0].reason.as_str()),
        ("assemble", "first")
    );
}

#[tokio::test]
async fn c037_c038_a_failed_compact_reaches_the_caller_and_the_next_one_the_built_in_engine() {
    let host = Host::new([fails(failure("no model"))]);
    let error = host.call(Compact::default()).await.unwrap_err();
    assert_eq!(error.code(), "ENGINE_FAILURE");
    assert!(error.to_string().ends_with("no model"), "{error}");
    assert_eq!(host.record().operation, "compact");
    let next = host.call(Compact::default()).await.unwrap();
    assert_eq!(next.by, ServedBy::InProcess);
    assert_eq!(next.reason.unwrap().code(), "QUARANTINED");
    assert_eq!(host.script.calls().len(), 1);
}

#[tokio::test]
async fn c040_a_failed_preparation_reaches_the_caller() {
    let host = Host::new([fails(failure("no room"))]);
    let error = host
        .call(PrepareSubagentSpawn::default())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "ENGINE_FAILURE");
    assert_eq!(host.record().operation, "prepareSubagentSpawn");
}

#[tokio::test]
async fn c042_to_c048_each_hook_has_its_neutral_answer_every_time() {
    let neutral: [(EngineRequest, EngineReply, &str); 5] = [
        (
            Bootstrap::default().into(),
            EngineReply::Bootstrapped(Bootstrapped {
                reason: Some(DOWNGRADED.to_owned()),
                ..Bootstrapped::default()
            }),
            "bootstrap",
        ),
        (
            Maintain::default().into(),
            EngineReply::Maintained(Maintained {
                reason: Some(DOWNGRADED.to_owned()),
                ..Maintained::default()
            }),
            "maintain",
        ),
        (
            Ingest {
                message: Message::from_payload("{}"),
                is_heartbeat: false,
            }
            .into(),
            EngineReply::Ingested(contextwire_engine::Ingested { ingested: false }),
            "ingest",
        ),
        (
            IngestBatch::default().into(),
            EngineReply::IngestedBatch(IngestedBatch { ingested_count: 0 }),
            "ingestBatch",
        ),
        (
            AfterTurn::default().into(),
            EngineReply::TurnNoted(()),
            "afterTurn",
        ),
    ];
    for (request, answer, operation) in neutral {
        let host = Host::new([fails(failure("bug"))]);
        for expected in ["ENGINE_FAILURE", "QUARANTINED"] {
            let outcome = host.call(request.clone()).await;
            assert_eq!(code(&outcome), expected);
            assert_eq!(outcome.unwrap().result, answer);
        }
        assert_eq!(host.record().operation, operation);
    }
}

#[tokio::test]
async fn c050_a_method_that_the_engine_never_had_stays_absent() {
    let host = Host::new([fails(failure("bug"))]);
    let mut without = description();
    without.info.methods.retain(|hook| *hook != Hook::Bootstrap);
    host.known.learn(without);
    host.call(AfterTurn::default()).await.unwrap();
    assert_eq!(
        code(&host.call(Bootstrap::default()).await),
        "METHOD_ABSENT"
    );
    assert_eq!(code(&host.call(Maintain::default()).await), "QUARANTINED");
}

#[tokio::test]
async fn c060_c061_c066_only_the_engines_own_failure_bars_it() {
    for error in [
        refused(Reason::Cancelled),
        refused(Reason::CapabilityRequired),
        refused(Reason::DependencyUnavailable),
        refused(Reason::ContractViolation),
        crate::script::broken(),
        CallError::ContractViolation("messages is no list".to_owned()),
        CallError::DeadlineExceeded {
            share: Duration::from_secs(1),
        },
    ] {
        let host = Host::new([fails(error), well()]);
        host.call(AfterTurn::default()).await.unwrap();
        assert_eq!(host.ingest_in("s").await, "answered");
        assert_eq!(host.records(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn c062_neither_time_nor_a_late_success_releases_it() {
    let slow = crate::script::Line::Ends(
        Duration::from_secs(2),
        Ok(Box::new(EngineReply::TurnNoted(()))),
    );
    let host = Host::new([slow, fails(failure("bug"))]);
    let (late, failed) = tokio::join!(
        host.call(AfterTurn::default()),
        host.call(Maintain::default())
    );
    assert_eq!(code(&late), "answered");
    assert_eq!(code(&failed), "ENGINE_FAILURE");
    advance(Duration::from_hours(240)).await;
    assert_eq!(host.ingest_in("s").await, "QUARANTINED");
    assert!(host.known.bar().list.release("scripted"));
    assert!(!host.known.bar().list.release("scripted"));
    host.script.add([well()]);
    assert_eq!(host.ingest_in("s").await, "answered");
}

#[test]
fn c064_control_characters_do_not_reach_a_line_of_the_log() {
    let text = record::Plain("a\nb\u{1b}[31mc\u{7}ü").to_string();
    assert_eq!(text, "a\\nb\\u{1b}[31mc\\u{7}ü");
}

#[tokio::test]
async fn c022_c024_a_description_without_id_name_or_methods_bars_the_engine() {
    let problems = "info.id is missing or blank; Compact is required and not among the methods";
    let host = Host::new([fails(CallError::Malformed(problems.to_owned()))]);
    assert_eq!(host.ingest_in("s").await, "CONTRACT_VIOLATION");
    let record = host.record();
    assert_eq!(
        (record.operation.as_str(), record.reason.as_str()),
        ("contract-validation", problems)
    );
    assert_eq!(host.ingest_in("s").await, "QUARANTINED");
}

#[tokio::test]
async fn br_005_by_configuration_a_failure_bars_the_engine_for_its_session_only() {
    let options = QuarantineOptions {
        scope: QuarantineScope::Session,
        list: Quarantines::new(),
        ..<_>::default()
    };
    let host = Host::with(options, [fails(failure("this history")), well()]);
    assert_eq!(host.ingest_in("bad").await, "ENGINE_FAILURE");
    assert_eq!(host.ingest_in("bad").await, "QUARANTINED");
    assert_eq!(host.ingest_in("good").await, "answered");
    assert_eq!(host.known.bar().record(), None, "not for everybody");
    let session = host.records()[0].session.clone();
    assert_eq!(session, Some(SessionId::new("bad").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn r7_3_by_configuration_one_call_a_minute_may_release_the_engine() {
    let options = QuarantineOptions {
        release: QuarantineRelease::Probe,
        list: Quarantines::new(),
        ..<_>::default()
    };
    let lines = [fails(failure("first")), fails(failure("still"))];
    let host = Host::with(options, lines);
    assert_eq!(host.ingest_in("s").await, "ENGINE_FAILURE");
    advance(record::PROBE_EVERY).await;
    assert_eq!(host.ingest_in("s").await, "ENGINE_FAILURE", "the probe");
    assert_eq!(host.ingest_in("s").await, "QUARANTINED", "one a minute");
    assert_eq!(host.record().reason, "first");
    advance(record::PROBE_EVERY).await;
    host.script.add([well(), well()]);
    assert_eq!(host.ingest_in("s").await, "answered");
    assert_eq!(host.ingest_in("s").await, "answered");
    assert_eq!(host.records(), []);
}

#[tokio::test]
async fn dispose_is_never_guarded() {
    let dispose = contextwire_engine::Dispose::default;
    let lines = [
        fails(failure("while going")),
        fails(failure("bug")),
        answers(EngineReply::Disposed(())),
    ];
    let host = Host::new(lines);
    assert_eq!(code(&host.call(dispose()).await), "ENGINE_FAILURE");
    assert_eq!(host.records(), []);
    host.call(AfterTurn::default()).await.unwrap();
    assert_eq!(code(&host.call(dispose()).await), "answered");
}
