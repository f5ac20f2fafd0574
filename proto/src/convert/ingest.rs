//! Ingest: one message for the stored log.

use contextwire_engine::{Ingest, Ingested, Message};

use super::call::reply_to_wire;
use super::{ConvertError, optional, required};
use crate::call::{CallContext, Reply};
use crate::v1;

/// An Ingest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestRequest {
    /// The call.
    pub call: CallContext,
    /// The request. A message with an omitted payload converts; refusing it is the receiver's
    /// business (R2.5).
    pub request: Ingest,
}

/// The answer to an Ingest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestResponse {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub ingested: Ingested,
}

impl From<IngestRequest> for v1::IngestRequest {
    fn from(IngestRequest { call, request }: IngestRequest) -> Self {
        let Ingest {
            message,
            is_heartbeat,
        } = request;
        Self {
            call: Some(call.into()),
            message: Some(message.into()),
            is_heartbeat,
        }
    }
}

impl TryFrom<v1::IngestRequest> for IngestRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::IngestRequest) -> Result<Self, ConvertError> {
        let v1::IngestRequest {
            call,
            message,
            is_heartbeat,
        } = wire;
        let call = required(call, "call")?;
        let message: Message = required(message, "message")?;
        Ok(Self {
            call,
            request: Ingest {
                message,
                is_heartbeat,
            },
        })
    }
}

impl From<IngestResponse> for v1::IngestResponse {
    fn from(IngestResponse { reply, ingested }: IngestResponse) -> Self {
        let Ingested { ingested } = ingested;
        Self {
            reply: reply_to_wire(reply),
            ingested,
        }
    }
}

impl TryFrom<v1::IngestResponse> for IngestResponse {
    type Error = ConvertError;

    fn try_from(
        v1::IngestResponse { reply, ingested }: v1::IngestResponse,
    ) -> Result<Self, ConvertError> {
        let reply = optional(reply, "reply")?.unwrap_or_default();
        Ok(Self {
            reply,
            ingested: Ingested { ingested },
        })
    }
}
