//! What an operator asks of an engine, beside its hooks: no policy, no fallback, the answer or why
//! there is none.

use std::future::Future;
use std::time::Duration;

use contextwire_engine::{
    DoctorFinding, EntryId, EraseSession, Erasure, ExplainTurn, ExplainedTurn, PinEntry, SessionId,
    StandingPlan, StoreStatus, StoredLog, StoredSession,
};
use contextwire_proto::convert::{ConvertError, ExplainReader, Inspection, PlanReader};
use contextwire_proto::v1;
use contextwire_proto::v1::engine_admin_service_client::EngineAdminServiceClient;
use tokio::time::{Instant, timeout};
use tonic::{Response, Status, Streaming};

use crate::classify::classify;
use crate::connect::Line;
use crate::error::CallError;
use crate::target::Target;

/// An operator's client of one engine. Every question has its own deadline.
///
/// Each fails with [`CallError`] when the engine cannot be reached by the deadline, does not have
/// what is asked (`METHOD_ABSENT`), or fails.
#[derive(Clone, Debug)]
pub struct AdminClient {
    stub: EngineAdminServiceClient<Line>,
}

/// Which engine it is, and what it stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineStatus {
    /// The engine's id.
    pub engine_id: String,
    /// Its version.
    pub engine_version: String,
    /// What it stores; none where it has no store.
    pub store: Option<StoreStatus>,
}

type Answer<T> = Result<T, CallError>;

impl AdminClient {
    /// A client of the engine at this address. It connects when it is first used.
    ///
    /// # Errors
    /// When the target cannot be written as an address.
    pub fn new(target: &Target) -> Result<Self, tonic::transport::Error> {
        let stub =
            EngineAdminServiceClient::new(Line::to(target)?).max_decoding_message_size(usize::MAX);
        Ok(Self { stub })
    }

    /// The log of a session as the engine stores it; `None` where it does not store the session.
    ///
    /// # Errors
    /// As the client's.
    pub async fn inspect_session(
        &self,
        session: &SessionId,
        deadline: Duration,
    ) -> Answer<Option<StoredLog>> {
        let request = v1::InspectSessionRequest {
            session_id: session.as_str().to_owned(),
        };
        let mut log = Inspection::default();
        let mut stub = self.stub.clone();
        let read = |message| log.read(message).map_err(malformed("InspectSession"));
        stream(deadline, stub.inspect_session(request), read).await?;
        Ok(log.finish())
    }

    /// Which engine it is, and what it stores.
    ///
    /// # Errors
    /// As the client's.
    pub async fn status(&self, deadline: Duration) -> Answer<EngineStatus> {
        let mut stub = self.stub.clone();
        let answer = one(deadline, stub.get_status(v1::GetStatusRequest {})).await?;
        let v1::GetStatusResponse {
            engine_id,
            engine_version,
            store,
        } = answer;
        Ok(EngineStatus {
            engine_id,
            engine_version,
            store: store.map(Into::into),
        })
    }

    /// What is wrong with what is stored, of one session or of everything; the good checks too.
    ///
    /// # Errors
    /// As the client's.
    pub async fn doctor(
        &self,
        only: Option<&SessionId>,
        deadline: Duration,
    ) -> Answer<Vec<DoctorFinding>> {
        let request = v1::DoctorRequest {
            session_id: only.map_or_else(String::new, |only| only.as_str().to_owned()),
        };
        let mut stub = self.stub.clone();
        let v1::DoctorResponse { findings } = one(deadline, stub.doctor(request)).await?;
        Ok(findings.into_iter().map(Into::into).collect())
    }

    /// The sessions in the order in which they came.
    ///
    /// # Errors
    /// As the client's.
    pub async fn list_sessions(&self, deadline: Duration) -> Answer<Vec<StoredSession>> {
        let mut sessions = Vec::new();
        let mut stub = self.stub.clone();
        let read = |message: v1::ListSessionsResponse| {
            for session in message.sessions {
                let read = StoredSession::try_from(session);
                sessions.push(read.map_err(malformed("ListSessions"))?);
            }
            Ok(())
        };
        let asked = stub.list_sessions(v1::ListSessionsRequest {});
        stream(deadline, asked, read).await?;
        Ok(sessions)
    }

    /// What stands for a session now; `None` where the engine does not store it.
    ///
    /// # Errors
    /// As the client's.
    pub async fn plan(
        &self,
        session: &SessionId,
        deadline: Duration,
    ) -> Answer<Option<StandingPlan>> {
        let request = v1::GetPlanRequest {
            session_id: session.as_str().to_owned(),
        };
        let mut plan = PlanReader::default();
        let mut stub = self.stub.clone();
        let read = |message| plan.read(message).map_err(malformed("GetPlan"));
        stream(deadline, stub.get_plan(request), read).await?;
        Ok(plan.finish())
    }

    /// What the model was shown at a turn, and why; `None` where there is no such turn.
    ///
    /// # Errors
    /// As the client's.
    pub async fn explain_turn(
        &self,
        question: ExplainTurn,
        deadline: Duration,
    ) -> Answer<Option<ExplainedTurn>> {
        let mut turn = ExplainReader::default();
        let mut stub = self.stub.clone();
        let read = |message| {
            turn.read(message);
            Ok(())
        };
        let asked = stub.explain_turn(v1::ExplainTurnRequest::from(question));
        stream(deadline, asked, read).await?;
        Ok(turn.finish())
    }

    /// Pins an entry, or no longer, and says what is pinned in the order of the log; `None` where the
    /// log does not have the entry.
    ///
    /// # Errors
    /// As the client's.
    pub async fn pin_entry(
        &self,
        pin: PinEntry,
        deadline: Duration,
    ) -> Answer<Option<Vec<EntryId>>> {
        let mut stub = self.stub.clone();
        let asked = stub.pin_entry(v1::PinEntryRequest::from(pin));
        let v1::PinEntryResponse { found, pins } = one(deadline, asked).await?;
        Ok(found.then(|| pins.into_iter().map(EntryId::from).collect()))
    }

    /// Removes a session, or entries of it, with everything that was made of them, and says whether
    /// a search found anything left. The engine finishes what it began, also where nobody waits.
    ///
    /// # Errors
    /// As the client's; then it is to be repeated.
    pub async fn erase_session(&self, erase: EraseSession, deadline: Duration) -> Answer<Erasure> {
        let mut stub = self.stub.clone();
        let asked = stub.erase_session(v1::EraseSessionRequest::from(erase));
        let answer = one(deadline, asked).await?;
        Erasure::try_from(answer).map_err(malformed("EraseSession"))
    }
}

fn malformed(method: &'static str) -> impl Fn(ConvertError) -> CallError {
    move |error| CallError::Malformed(format!("{method}: {error}"))
}

async fn one<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<Response<T>, Status>>,
) -> Answer<T> {
    let ends = Instant::now() + deadline;
    match timeout(deadline, asked).await {
        Ok(answer) => Ok(answer
            .map_err(|status| classify(status, ends))?
            .into_inner()),
        Err(_) => Err(CallError::DeadlineExceeded { share: deadline }),
    }
}

async fn stream<T>(
    deadline: Duration,
    asked: impl Future<Output = Result<Response<Streaming<T>>, Status>>,
    mut read: impl FnMut(T) -> Answer<()>,
) -> Answer<()> {
    let ends = Instant::now() + deadline;
    let failed = |status| classify(status, ends);
    let all = async {
        let mut messages = asked.await.map_err(failed)?.into_inner();
        while let Some(message) = messages.message().await.map_err(failed)? {
            read(message)?;
        }
        Ok(())
    };
    let read = timeout(deadline, all).await;
    read.unwrap_or(Err(CallError::DeadlineExceeded { share: deadline }))
}
