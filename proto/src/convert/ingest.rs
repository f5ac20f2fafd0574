//! Ingest and `IngestBatch`: messages for the stored log.

use contextwire_engine::{Ingest, IngestBatch, Ingested, IngestedBatch, Message, Reply};

use super::call::reply_to_wire;
use super::{ConvertError, each, optional, required};
use crate::call::CallContext;
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

/// An `IngestBatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestBatchRequest {
    /// The call.
    pub call: CallContext,
    /// The request; about omitted payloads see [`IngestRequest::request`].
    pub request: IngestBatch,
}

/// The answer to an `IngestBatch`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestBatchResponse {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub ingested: IngestedBatch,
}

impl From<IngestBatchRequest> for v1::IngestBatchRequest {
    fn from(IngestBatchRequest { call, request }: IngestBatchRequest) -> Self {
        let IngestBatch {
            messages,
            is_heartbeat,
        } = request;
        Self {
            call: Some(call.into()),
            messages: messages.into_iter().map(Into::into).collect(),
            is_heartbeat,
        }
    }
}

impl TryFrom<v1::IngestBatchRequest> for IngestBatchRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::IngestBatchRequest) -> Result<Self, ConvertError> {
        let v1::IngestBatchRequest {
            call,
            messages,
            is_heartbeat,
        } = wire;
        Ok(Self {
            call: required(call, "call")?,
            request: IngestBatch {
                messages: each(messages, "messages")?,
                is_heartbeat,
            },
        })
    }
}

impl From<IngestBatchResponse> for v1::IngestBatchResponse {
    fn from(IngestBatchResponse { reply, ingested }: IngestBatchResponse) -> Self {
        let IngestedBatch { ingested_count } = ingested;
        Self {
            reply: reply_to_wire(reply),
            ingested_count,
        }
    }
}

impl TryFrom<v1::IngestBatchResponse> for IngestBatchResponse {
    type Error = ConvertError;

    fn try_from(wire: v1::IngestBatchResponse) -> Result<Self, ConvertError> {
        let v1::IngestBatchResponse {
            reply,
            ingested_count,
        } = wire;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            ingested: IngestedBatch { ingested_count },
        })
    }
}
