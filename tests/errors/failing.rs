//! An engine that fails in every way that there is.

use std::time::Duration;

use contextwire_engine::durable::Pair;
use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, ErrorKind, Hook, HookContext, Ingest, Ingested, Message,
};
use contextwire_proto::Reason;

use crate::harness::Gate;

/// A text that no answer may hold: it is in every message, prompt and key.
pub(super) const CANARY: &str = "canary-7f3a";
/// Largest message of its servers in bytes.
pub(super) const LIMIT: usize = 64 << 10;
const WAIT: Duration = Duration::from_millis(700);

/// An engine that fails as the id of the session says.
#[derive(Clone)]
pub(super) struct Failing(pub(super) Gate);

/// What it fails with, by the id of the session, and what becomes of it.
pub(super) const KINDS: [(&str, Reason); 9] = [
    ("transient", Reason::DependencyUnavailable),
    ("rejected", Reason::InvalidRequest),
    ("unsupported", Reason::MethodAbsent),
    ("conflict", Reason::IdempotencyConflict),
    ("running", Reason::InProgress),
    ("older", Reason::GenerationConflict),
    ("closed", Reason::HookClosed),
    ("expired", Reason::PreparationExpired),
    ("failure", Reason::EngineFailure),
];

impl Failing {
    async fn work(&self, cx: &HookContext, hook: Hook) -> Result<(), EngineError> {
        let error = match cx.session.id.as_str() {
            "transient" => EngineError::transient("the store is away").with_source(CANARY),
            "rejected" => EngineError::rejected("there is no such entry"),
            "unsupported" => EngineError::unsupported(hook.name()),
            "conflict" => EngineError::idempotency_conflict(hook),
            "running" => EngineError::in_progress(WAIT),
            "older" => EngineError::generation_conflict(Pair {
                host_epoch: 41,
                session_seq: 43,
            }),
            "closed" => EngineError::hook_closed(),
            "expired" => EngineError::preparation_expired(),
            "failure" => EngineError::new(ErrorKind::Failure, "a bug").with_source(CANARY),
            "panic" => panic!("in {hook}, with {CANARY}"),
            "hang" => return self.hang().await,
            _ => return Ok(()),
        };
        Err(error)
    }

    async fn hang(&self) -> Result<(), EngineError> {
        self.0.pass().await;
        Ok(())
    }
}

impl ContextEngine for Failing {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("failing", "Failing engine", "1.0.0")
    }

    async fn ingest(&self, cx: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        self.work(cx, Hook::Ingest).await?;
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        cx: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        self.work(cx, Hook::Assemble).await?;
        let mut messages = Assembled::keep(0..request.transcript.len());
        match cx.session.id.as_str() {
            "wrong" => messages = Assembled::keep(0..99),
            "large" => messages.push_insert(large()),
            _ => {}
        }
        Ok(request.reply(messages))
    }

    async fn compact(&self, cx: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        self.work(cx, Hook::Compact).await?;
        Ok(Compacted::declined("nothing to do"))
    }
}

/// A message over the limit.
pub(super) fn large() -> Message {
    Message::from_payload(format!(r#"{{"content":"{}"}}"#, CANARY.repeat(LIMIT / 8)))
}

/// A message that must not come back.
pub(super) fn secret(n: usize) -> Message {
    let payload = format!(r#"{{"role":"user","content":"{CANARY} {n}"}}"#);
    Message::from_payload(payload).with_entry_id(format!("{CANARY} {n}"))
}
