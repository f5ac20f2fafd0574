//! What operators ask of an engine, beside its hooks.

use std::sync::Arc;

use contextwire_engine::{
    AnyAdmin, ContextEngine as _, EngineAdmin as _, EngineError, EntryId, EraseSession,
    ExplainTurn, PinEntry, SessionId,
};
use contextwire_proto::convert::{self, ConvertError};
use contextwire_proto::v1;
use contextwire_proto::v1::engine_admin_service_server::EngineAdminService;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tonic::{Request, Response, Status};

use crate::refuse;
use crate::shared::Shared;

/// Questions at once; an answer may hold a whole log in memory.
const LOOKS: usize = 2;

/// The service on the wire.
#[derive(Debug)]
pub(crate) struct AdminService {
    admin: AnyAdmin,
    shared: Arc<Shared>,
    looks: Semaphore,
}

type Answer<T> = Result<Response<T>, Status>;
type Messages<T> = BoxStream<'static, Result<T, Status>>;

impl AdminService {
    pub(crate) fn new(admin: AnyAdmin, shared: Arc<Shared>) -> Self {
        Self {
            admin,
            shared,
            looks: Semaphore::new(LOOKS),
        }
    }

    fn look(&self) -> Result<SemaphorePermit<'_>, Status> {
        let look = self.looks.try_acquire();
        look.map_err(|_| refuse::enough_looks(LOOKS))
    }
}

fn read<W, T: TryFrom<W, Error = ConvertError>>(request: Request<W>) -> Result<T, Status> {
    T::try_from(request.into_inner()).map_err(ConvertError::into_status)
}

fn session(id: String) -> Result<SessionId, Status> {
    convert::session(id).map_err(ConvertError::into_status)
}

fn answered<T>(method: &'static str, outcome: Result<T, EngineError>) -> Result<T, Status> {
    outcome.map_err(|error| refuse::admin_error(method, &error))
}

fn messages<T: Send + 'static>(messages: Vec<T>) -> Response<Messages<T>> {
    Response::new(stream::iter(messages).map(Ok).boxed())
}

#[tonic::async_trait]
impl EngineAdminService for AdminService {
    type InspectSessionStream = Messages<v1::InspectSessionResponse>;
    type ListSessionsStream = Messages<v1::ListSessionsResponse>;
    type GetPlanStream = Messages<v1::GetPlanResponse>;
    type ExplainTurnStream = Messages<v1::ExplainTurnResponse>;

    async fn inspect_session(
        &self,
        request: Request<v1::InspectSessionRequest>,
    ) -> Answer<Self::InspectSessionStream> {
        let v1::InspectSessionRequest { session_id } = request.into_inner();
        let session = session(session_id)?;
        let _look = self.look()?;
        let log = self.admin.inspect_session(session).await;
        Ok(messages(convert::inspected(answered(
            "InspectSession",
            log,
        )?)))
    }

    async fn get_status(
        &self,
        request: Request<v1::GetStatusRequest>,
    ) -> Answer<v1::GetStatusResponse> {
        let v1::GetStatusRequest {} = request.into_inner();
        let _look = self.look()?;
        let store = answered("GetStatus", self.admin.store_status().await)?;
        let info = self.shared.engine.info();
        Ok(Response::new(v1::GetStatusResponse {
            engine_id: info.id.clone(),
            engine_version: info.version.clone(),
            store: store.map(Into::into),
        }))
    }

    async fn doctor(&self, request: Request<v1::DoctorRequest>) -> Answer<v1::DoctorResponse> {
        let v1::DoctorRequest { session_id } = request.into_inner();
        let only = (!session_id.is_empty()).then(|| session(session_id));
        let only = only.transpose()?;
        let _look = self.look()?;
        let findings = answered("Doctor", self.admin.doctor(only).await)?;
        Ok(Response::new(v1::DoctorResponse {
            findings: findings.into_iter().map(Into::into).collect(),
        }))
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Answer<Self::ListSessionsStream> {
        let v1::ListSessionsRequest {} = request.into_inner();
        let _look = self.look()?;
        let sessions = answered("ListSessions", self.admin.list_sessions().await)?;
        Ok(messages(convert::listed(sessions)))
    }

    async fn get_plan(&self, request: Request<v1::GetPlanRequest>) -> Answer<Self::GetPlanStream> {
        let v1::GetPlanRequest { session_id } = request.into_inner();
        let session = session(session_id)?;
        let _look = self.look()?;
        let plan = answered("GetPlan", self.admin.plan(session).await)?;
        Ok(messages(convert::planned(plan)))
    }

    async fn explain_turn(
        &self,
        request: Request<v1::ExplainTurnRequest>,
    ) -> Answer<Self::ExplainTurnStream> {
        let question: ExplainTurn = read(request)?;
        let _look = self.look()?;
        let turn = answered("ExplainTurn", self.admin.explain_turn(question).await)?;
        Ok(messages(convert::explained(turn)))
    }

    async fn pin_entry(
        &self,
        request: Request<v1::PinEntryRequest>,
    ) -> Answer<v1::PinEntryResponse> {
        let pin: PinEntry = read(request)?;
        let _look = self.look()?;
        let pins = answered("PinEntry", self.admin.pin_entry(pin).await)?;
        let found = pins.is_some();
        let pins: Vec<EntryId> = pins.unwrap_or_default();
        Ok(Response::new(v1::PinEntryResponse {
            found,
            pins: pins.iter().map(|id| id.as_str().to_owned()).collect(),
        }))
    }

    async fn erase_session(
        &self,
        request: Request<v1::EraseSessionRequest>,
    ) -> Answer<v1::EraseSessionResponse> {
        let erase: EraseSession = read(request)?;
        let session = erase.session.clone();
        let _look = self.look()?;
        // What is begun is finished, also where the caller goes away meanwhile: half an erasure
        // leaves what somebody wanted gone.
        let admin = self.admin.clone();
        let shared = Arc::clone(&self.shared);
        let erasing = tokio::spawn(async move {
            let erased = admin.erase_session(erase).await;
            shared.mirrors.forget(&session);
            erased
        });
        let erased = erasing.await.unwrap_or_else(|ended| {
            let text = "the erasure ended early; repeat it";
            Err(EngineError::new(contextwire_engine::ErrorKind::Failure, text).with_source(ended))
        });
        Ok(Response::new(answered("EraseSession", erased)?.into()))
    }
}
