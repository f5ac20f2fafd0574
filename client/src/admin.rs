//! What an operator asks of an engine, beside its hooks: no policy, no fallback, the answer or why
//! there is none.

use std::time::Duration;

use contextwire_engine::{SessionId, StoredLog};
use contextwire_proto::convert::Inspection;
use contextwire_proto::v1;
use contextwire_proto::v1::engine_admin_service_client::EngineAdminServiceClient;
use tokio::time::{Instant, timeout};

use crate::classify::classify;
use crate::connect::Line;
use crate::error::CallError;
use crate::target::Target;

/// An operator's client of one engine.
#[derive(Clone, Debug)]
pub struct AdminClient {
    stub: EngineAdminServiceClient<Line>,
}

impl AdminClient {
    /// A client of the engine at this address. It connects when it is first used.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn new(target: &Target) -> Result<Self, tonic::transport::Error> {
        let stub = EngineAdminServiceClient::new(Line::to(target)?);
        Ok(Self { stub })
    }

    /// The log of a session as the engine stores it; `None` where it does not store the session.
    ///
    /// # Errors
    /// [`CallError`] when the engine cannot be reached by the deadline, shows nothing to operators
    /// (`METHOD_ABSENT`), or fails.
    pub async fn inspect_session(
        &self,
        session: &SessionId,
        deadline: Duration,
    ) -> Result<Option<StoredLog>, CallError> {
        let ends = Instant::now() + deadline;
        let looked = timeout(deadline, self.inspect(session, ends)).await;
        looked.unwrap_or(Err(CallError::DeadlineExceeded { share: deadline }))
    }

    async fn inspect(
        &self,
        session: &SessionId,
        ends: Instant,
    ) -> Result<Option<StoredLog>, CallError> {
        let request = v1::InspectSessionRequest {
            session_id: session.as_str().to_owned(),
        };
        let failed = |status| classify(status, ends);
        let opened = self.stub.clone().inspect_session(request).await;
        let mut messages = opened.map_err(failed)?.into_inner();
        let mut inspection = Inspection::default();
        while let Some(message) = messages.message().await.map_err(failed)? {
            let read = inspection.read(message);
            read.map_err(|error| CallError::Malformed(format!("InspectSession: {error}")))?;
        }
        Ok(inspection.finish())
    }
}
