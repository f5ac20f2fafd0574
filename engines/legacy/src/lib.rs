//! The legacy engine (HOST-SEMANTICS 14): what a host does without any engine of its own.
//!
//! It gives back the host's own messages, all of them, and stores nothing. Its compaction is the
//! host's: until a host can be called back, it declines.

use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, HookContext, HostParam, Ingest, Ingested,
};

/// Id of this engine; reserved for it (HOST-SEMANTICS 3.1).
pub const ID: &str = "legacy";

/// Passes the host's messages through.
#[derive(Clone, Copy, Debug, Default)]
pub struct LegacyEngine;

impl ContextEngine for LegacyEngine {
    fn info(&self) -> EngineInfo {
        let all = HostParam::ALL.iter().map(|param| param.name().to_owned());
        EngineInfo {
            accepted_host_params: Some(all.collect()),
            ..EngineInfo::new(ID, "Legacy Context Engine", "1.0.0")
        }
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: false })
    }

    /// The whole view as one range. The in-process original reports 0 tokens; over a wire the
    /// host cannot look at the result for free, so the estimate is honest.
    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        Ok(request.reply(Assembled::keep(0..request.transcript.len())))
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined(
            "HOST_CALL_UNAVAILABLE: compaction is the host's own",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{Message, Segment, Session, SessionId, Transcript};

    use super::*;

    fn cx() -> HookContext {
        HookContext::new(
            Session::new(SessionId::new("s").unwrap()),
            Duration::from_secs(5),
        )
    }

    #[tokio::test]
    async fn c22_the_messages_are_exactly_the_hosts() {
        let texts = [
            r#"{"role":"user","content":null}"#,
            "not json",
            r#"{"role":"toolResult"}"#,
        ];
        let transcript: Transcript = texts.into_iter().map(Message::from_payload).collect();
        let request = Assemble {
            transcript,
            ..Assemble::default()
        };
        let AssembleOutcome::Messages(reply) = LegacyEngine.assemble(&cx(), request).await.unwrap()
        else {
            panic!("an assembled context")
        };
        assert_eq!(reply.messages.segments(), [Segment::Keep(0..3)]);
        assert_eq!(reply.system_prompt_addition, None);
    }

    #[tokio::test]
    async fn an_empty_view_and_a_compaction_have_defined_answers() {
        let empty = LegacyEngine
            .assemble(&cx(), Assemble::default())
            .await
            .unwrap();
        assert!(matches!(empty, AssembleOutcome::Messages(reply) if reply.messages.is_empty()));
        let compacted = LegacyEngine
            .compact(&cx(), Compact::default())
            .await
            .unwrap();
        assert!(!compacted.ok && compacted.reason.is_some());
        assert!(LegacyEngine.info().problems().is_empty());
    }
}
