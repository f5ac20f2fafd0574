//! Layer: the host owns every timer (R7.1). The engine gets its share, the reserve is the fallback's.

use contextwire_proto::limits;
use tokio::time::timeout_at;

use crate::call::Call;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, layer};

/// Ends each call when the engine's share is over, connecting and describing included.
///
/// Dropping the inner call is what tells the layers below; they cancel in band.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeadlineLayer;

layer!(DeadlineLayer);

impl Wrap for DeadlineLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let share = limits::share(call.budget);
        let debt = call.traffic.debt().clone();
        let answer = timeout_at(call.share_ends, below.call(call));
        Box::pin(async move {
            match answer.await {
                // The transport's timer may notice first; the share is the same. What the host
                // had not sent yet is not the engine's delay.
                Ok(Err(CallError::DeadlineExceeded { .. })) | Err(_) => Err(if debt.is_owed() {
                    CallError::Syncing { share }
                } else {
                    CallError::DeadlineExceeded { share }
                }),
                Ok(outcome) => outcome,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{Assemble, Session, SessionId};
    use tokio::time::Instant;
    use tower::{Layer, ServiceExt};

    use super::*;
    use crate::call::Answer;
    use crate::request::EngineRequest;

    #[tokio::test(start_paused = true)]
    async fn a_silent_engine_is_given_up_at_its_share() {
        let silent =
            tower::service_fn(|_: Call| std::future::pending::<Result<Answer, CallError>>());
        let session = Session::new(SessionId::new("s").unwrap());
        let request = EngineRequest::Assemble(Assemble::default());
        let call = Call::new(session, request, Duration::from_secs(5));
        let started = Instant::now();
        let error = DeadlineLayer.layer(silent).oneshot(call).await.unwrap_err();
        assert_eq!(started.elapsed(), Duration::from_millis(4750));
        assert!(
            matches!(error, CallError::DeadlineExceeded { share } if share == started.elapsed())
        );
    }
}
