//! Layer: when the engine does not answer, somebody does, and says so (PROTOCOL 7).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use contextwire_engine::Reply;
use futures_util::future::BoxFuture;
use tower::{Layer, Service};

use crate::call::{Answer, Call, Served, ServedBy};
use crate::error::CallError;
use crate::neutral;
use crate::request::{EngineReply, EngineRequest};

/// Wraps a service of calls in [`Fallback`].
#[derive(Clone, Debug, Default)]
pub(crate) struct FallbackLayer {
    degraded: Arc<AtomicBool>,
}

impl<S> Layer<S> for FallbackLayer {
    type Service = Fallback<S>;

    fn layer(&self, inner: S) -> Fallback<S> {
        Fallback {
            inner,
            degraded: Arc::clone(&self.degraded),
        }
    }
}

/// Substitutes an answer by the hook's class: Assemble from the in-process engine, hooks that the
/// next sync makes up for by their neutral result. All other failures are passed on: what to do
/// about a turn that is not stored, a spawn that is not prepared or a session that is too long is
/// the host's choice.
#[derive(Clone, Debug)]
pub(crate) struct Fallback<S> {
    inner: S,
    degraded: Arc<AtomicBool>,
}

impl<S> Service<Call> for Fallback<S>
where
    S: Service<Call, Response = Answer, Error = CallError>,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        #[cfg(feature = "local")]
        crate::local::warm_up();
        let substitute = Substitute::of(&call.request);
        let traffic = call.traffic.clone();
        let degraded = Arc::clone(&self.degraded);
        let answer = self.inner.call(call);
        Box::pin(async move {
            let error = match answer.await {
                Ok(served) => {
                    let by_engine = matches!(served.by, ServedBy::Engine(_));
                    if by_engine && degraded.swap(false, Ordering::Relaxed) {
                        tracing::info!(engine = %served.by, "the engine answers again");
                    }
                    return Ok(served);
                }
                Err(error) => error,
            };
            let Some(result) = substitute.reply().await else {
                return Err(error);
            };
            if !degraded.swap(true, Ordering::Relaxed) {
                tracing::warn!(code = error.code(), %error, "the in-process engine serves");
            }
            Ok(Served {
                result,
                by: ServedBy::InProcess,
                reason: Some(Arc::new(error)),
                said: Reply::default(),
                traffic,
            })
        })
    }
}

/// What answers in the engine's place.
enum Substitute {
    #[cfg(feature = "local")]
    InProcess(Box<contextwire_engine::Assemble>),
    Neutral(Box<EngineReply>),
    Nothing,
}

impl Substitute {
    fn of(request: &EngineRequest) -> Self {
        #[cfg(feature = "local")]
        if let EngineRequest::Assemble(request) = request {
            return Self::InProcess(Box::new(request.clone()));
        }
        let neutral = neutral::substitute(request).map(Box::new);
        neutral.map_or(Self::Nothing, Self::Neutral)
    }

    async fn reply(self) -> Option<EngineReply> {
        match self {
            #[cfg(feature = "local")]
            Self::InProcess(request) => {
                let reply = crate::local::assemble(*request).await;
                Some(EngineReply::Assembled(reply.into()))
            }
            Self::Neutral(reply) => Some(*reply),
            Self::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{
        AfterTurn, Assemble, AssembleOutcome, CommitTurn, Compact, Ingest, Ingested, Message,
        PromptAuthority, Session, SessionId, Transcript,
    };
    use tower::ServiceExt;

    use super::*;

    async fn failing(request: EngineRequest) -> Result<Answer, CallError> {
        let failing = tower::service_fn(|call: Call| async move {
            call.traffic.count_sent(95);
            Err::<Answer, _>(CallError::ContractViolation("two results".to_owned()))
        });
        let session = Session::new(SessionId::new("s").unwrap());
        let call = Call::new(session, request, Duration::from_secs(5));
        FallbackLayer::default().layer(failing).oneshot(call).await
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
}
