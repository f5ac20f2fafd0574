//! Dispose: a host goes away.

use contextwire_engine::{Dispose, Reply};

use super::call::reply_to_wire;
use super::{At, ConvertError, Problem, identifier, optional, within};
use crate::call::CallContext;
use crate::v1;

/// A Dispose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisposeRequest {
    /// The call. Its session does not travel: it is named like the host's instance when it comes
    /// from the wire ([`CallContext::of_host`]), and ignored on the way there.
    pub call: CallContext,
    /// The request.
    pub request: Dispose,
}

/// The answer to a Dispose: done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisposeResponse {
    /// Beside the answer.
    pub reply: Reply,
}

impl From<DisposeRequest> for v1::DisposeRequest {
    fn from(DisposeRequest { call, request }: DisposeRequest) -> Self {
        let Dispose { host_instance } = request;
        let call = v1::CallContext {
            session: None,
            ..call.into()
        };
        Self {
            call: Some(call),
            host_instance,
        }
    }
}

impl TryFrom<v1::DisposeRequest> for DisposeRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::DisposeRequest) -> Result<Self, ConvertError> {
        let v1::DisposeRequest {
            call,
            host_instance,
        } = wire;
        let host_instance = identifier(host_instance).at("host_instance")?;
        let session = v1::Session {
            session_id: host_instance.clone(),
            ..v1::Session::default()
        };
        let call = v1::CallContext {
            session: Some(session),
            ..call.ok_or(Problem::Missing).at("call")?
        };
        Ok(Self {
            call: within(call, "call")?,
            request: Dispose { host_instance },
        })
    }
}

impl From<DisposeResponse> for v1::DisposeResponse {
    fn from(DisposeResponse { reply }: DisposeResponse) -> Self {
        Self {
            reply: reply_to_wire(reply),
        }
    }
}

impl TryFrom<v1::DisposeResponse> for DisposeResponse {
    type Error = ConvertError;

    fn try_from(v1::DisposeResponse { reply }: v1::DisposeResponse) -> Result<Self, ConvertError> {
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
        })
    }
}
