//! Layer: when the engine does not answer, somebody does, and says so (PROTOCOL 7).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use contextwire_engine::Ingested;
use futures_util::future::BoxFuture;
use tower::{Layer, Service};

use crate::call::{Answer, Call, EngineReply, EngineRequest, Served, ServedBy};
use crate::error::CallError;

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

/// Substitutes an answer by the hook's class: Assemble from the in-process engine, Ingest by its
/// neutral result. A failed Compact is passed on: to compact in another way is the host's choice.
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
        let request = call.request.clone();
        let traffic = call.traffic.clone();
        let degraded = Arc::clone(&self.degraded);
        let answer = self.inner.call(call);
        Box::pin(async move {
            let error = match answer.await {
                Ok(served) => {
                    if degraded.swap(false, Ordering::Relaxed) {
                        tracing::info!(engine = %served.by, "the engine answers again");
                    }
                    return Ok(served);
                }
                Err(error) => error,
            };
            let substitute = substitute(request).await;
            if substitute.is_some() && !degraded.swap(true, Ordering::Relaxed) {
                tracing::warn!(code = error.code(), %error, "the in-process engine serves");
            }
            match substitute {
                Some(result) => {
                    let reason = Some(Arc::new(error));
                    Ok(Served {
                        result,
                        by: ServedBy::InProcess,
                        reason,
                        traffic,
                    })
                }
                None => Err(error),
            }
        })
    }
}

async fn substitute(request: EngineRequest) -> Option<EngineReply> {
    match request {
        #[cfg(feature = "local")]
        EngineRequest::Assemble(request) => {
            let reply = crate::local::assemble(request).await;
            Some(EngineReply::Assembled(reply.into()))
        }
        #[cfg(not(feature = "local"))]
        EngineRequest::Assemble(_) => None,
        EngineRequest::Ingest(_) => Some(EngineReply::Ingested(Ingested { ingested: false })),
        EngineRequest::Compact(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{
        Assemble, AssembleOutcome, Compact, Ingest, Message, PromptAuthority, Session, SessionId,
        Transcript,
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
}
