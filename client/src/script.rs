//! An engine that follows a script, for tests of layers: what is called, in which order, and when.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use contextwire_engine::{EngineInfo, Ingest, Ingested, Message, Session, SessionId};
use contextwire_proto::handshake::EngineDescription;
use contextwire_proto::{Reason, limits};
use futures_util::future::BoxFuture;
use tonic::Status;
use tower::Service;

use crate::call::{Answer, Call, Served, ServedBy};
use crate::error::CallError;
use crate::request::{EngineReply, EngineRequest};

/// What happens to one call.
#[derive(Debug)]
pub(crate) enum Line {
    /// The call ends so, after so long.
    Ends(Duration, Result<Box<EngineReply>, CallError>),
    /// Nothing ever comes.
    Hang,
}

/// A good answer to an Ingest.
pub(crate) fn well() -> Line {
    answers(EngineReply::Ingested(Ingested { ingested: true }))
}

pub(crate) fn answers(reply: EngineReply) -> Line {
    Line::Ends(Duration::ZERO, Ok(Box::new(reply)))
}

pub(crate) fn fails(error: CallError) -> Line {
    Line::Ends(Duration::ZERO, Err(error))
}

/// A connection that breaks during the call.
pub(crate) fn broken() -> CallError {
    CallError::Unreachable {
        detail: "broken pipe".to_owned(),
        status: Box::new(Status::unavailable("broken pipe")),
    }
}

/// The engine refuses.
pub(crate) fn refused(reason: Reason) -> CallError {
    CallError::Refused {
        reason,
        message: "as the script says".to_owned(),
        retry_after: reason.retry_delay(),
        violations: Vec::new(),
    }
}

/// The script and what was seen of it. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    lines: Arc<Mutex<VecDeque<Line>>>,
    seen: Arc<Mutex<Vec<Call>>>,
}

impl Script {
    pub(crate) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            lines: Arc::new(Mutex::new(lines.into_iter().collect())),
            seen: Arc::default(),
        }
    }

    pub(crate) fn add(&self, lines: impl IntoIterator<Item = Line>) {
        self.lines.lock().unwrap().extend(lines);
    }

    /// The calls that arrived, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.seen.lock().unwrap().clone()
    }
}

impl Service<Call> for Script {
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let line = self.lines.lock().unwrap().pop_front();
        let line = line.expect("a call that the script does not know");
        self.seen.lock().unwrap().push(call.clone());
        Box::pin(async move {
            match line {
                Line::Ends(after, outcome) => {
                    tokio::time::sleep(after).await;
                    outcome.map(|result| Served {
                        result: *result,
                        by: ServedBy::Engine("scripted".to_owned()),
                        reason: None,
                        said: <_>::default(),
                        traffic: call.traffic,
                    })
                }
                Line::Hang => std::future::pending().await,
            }
        })
    }
}

pub(crate) fn session(id: &str) -> Session {
    Session::new(SessionId::new(id).unwrap())
}

/// An Ingest with five seconds.
pub(crate) fn ingest() -> Call {
    let request = Ingest {
        message: Message::from_payload("{}"),
        is_heartbeat: false,
    };
    call(request)
}

/// Any call with five seconds.
pub(crate) fn call(request: impl Into<EngineRequest>) -> Call {
    Call::new(session("s"), request.into(), Duration::from_secs(5))
}

/// An engine of this contract with every method.
pub(crate) fn description() -> EngineDescription {
    let mut info = EngineInfo::new("scripted", "Scripted", "1.0.0");
    info.methods = contextwire_engine::Hook::ALL.to_vec();
    EngineDescription {
        protocol: limits::PROTOCOL,
        info,
        honours_must_understand: true,
        runtime_settings_versions: limits::RUNTIME_SETTINGS_VERSIONS.to_vec(),
        ..EngineDescription::default()
    }
}
