//! What operators ask of an engine, beside its hooks.

use contextwire_engine::{AnyAdmin, EngineAdmin as _, SessionId};
use contextwire_proto::v1;
use contextwire_proto::v1::engine_admin_service_server::EngineAdminService;
use contextwire_proto::{Reason, Refusal, convert};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

use crate::refuse;

/// Looks at once; an answer holds a whole log in memory.
const LOOKS: usize = 2;

/// The service on the wire.
#[derive(Debug)]
pub(crate) struct AdminService {
    admin: AnyAdmin,
    looks: Semaphore,
}

impl AdminService {
    pub(crate) fn new(admin: AnyAdmin) -> Self {
        Self {
            admin,
            looks: Semaphore::new(LOOKS),
        }
    }
}

#[tonic::async_trait]
impl EngineAdminService for AdminService {
    type InspectSessionStream = BoxStream<'static, Result<v1::InspectSessionResponse, Status>>;

    async fn inspect_session(
        &self,
        request: Request<v1::InspectSessionRequest>,
    ) -> Result<Response<Self::InspectSessionStream>, Status> {
        let v1::InspectSessionRequest { session_id } = request.into_inner();
        let session = SessionId::new(session_id).map_err(|error| {
            Refusal::new(Reason::InvalidRequest, format!("session_id: {error}"))
                .with("field", "session_id")
                .into_status()
        })?;
        let Ok(_look) = self.looks.try_acquire() else {
            return Err(refuse::enough_looks(LOOKS));
        };
        let looked = self.admin.inspect_session(session).await;
        let log = looked.map_err(|error| refuse::admin_error("InspectSession", &error))?;
        let messages = convert::inspected(log);
        Ok(Response::new(stream::iter(messages).map(Ok).boxed()))
    }
}
