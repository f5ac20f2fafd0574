//! `CommitTurn`: a closed turn, stored atomically.

use contextwire_engine::{CommitTurn, EntryAnchor, Reply, TurnAdmission, TurnCommitted};

use super::call::reply_to_wire;
use super::{At, ConvertError, Problem, each, identifier, known, optional, required};
use crate::call::CallContext;
use crate::v1;

/// A `CommitTurn`.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitTurnRequest {
    /// The call.
    pub call: CallContext,
    /// The request; its key is never empty.
    pub request: CommitTurn,
}

/// The answer to a `CommitTurn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitTurnResponse {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub committed: TurnCommitted,
}

impl From<CommitTurnRequest> for v1::CommitTurnRequest {
    fn from(CommitTurnRequest { call, request }: CommitTurnRequest) -> Self {
        let CommitTurn {
            runtime_settings,
            runtime_context,
            advancement_key,
            admission,
            terminal,
            messages,
            is_heartbeat,
        } = request;
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            advancement_key,
            admission: Some(admission.into()),
            terminal: Some(terminal.into()),
            messages: messages.into_iter().map(Into::into).collect(),
            is_heartbeat,
        }
    }
}

impl TryFrom<v1::CommitTurnRequest> for CommitTurnRequest {
    type Error = ConvertError;

    fn try_from(wire: v1::CommitTurnRequest) -> Result<Self, ConvertError> {
        let v1::CommitTurnRequest {
            call,
            runtime_settings,
            runtime_context,
            advancement_key,
            admission,
            terminal,
            messages,
            is_heartbeat,
        } = wire;
        let request = CommitTurn {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            advancement_key: identifier(advancement_key).at("advancement_key")?,
            admission: required(admission, "admission")?,
            terminal: terminal.ok_or(Problem::Missing).at("terminal")?.into(),
            messages: each(messages, "messages")?,
            is_heartbeat,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

impl From<TurnAdmission> for v1::TurnAdmission {
    fn from(
        TurnAdmission {
            anchor,
            logical_turn_id,
            role,
        }: TurnAdmission,
    ) -> Self {
        Self {
            anchor: Some(anchor.into()),
            logical_turn_id,
            role,
        }
    }
}

impl TryFrom<v1::TurnAdmission> for TurnAdmission {
    type Error = ConvertError;

    fn try_from(wire: v1::TurnAdmission) -> Result<Self, ConvertError> {
        let v1::TurnAdmission {
            anchor,
            logical_turn_id,
            role,
        } = wire;
        Ok(Self {
            anchor: anchor.ok_or(Problem::Missing).at("anchor")?.into(),
            logical_turn_id,
            role,
        })
    }
}

impl From<EntryAnchor> for v1::EntryAnchor {
    fn from(anchor: EntryAnchor) -> Self {
        let EntryAnchor {
            agent_id,
            session_id,
            session_key,
            store_path,
            generation,
            entry_id,
            raw_seq,
            effective_parent_id,
            active_message_position,
            idempotency_key,
        } = anchor;
        Self {
            agent_id,
            session_id,
            session_key,
            store_path,
            generation,
            entry_id,
            raw_seq,
            effective_parent_id,
            active_message_position,
            idempotency_key,
        }
    }
}

impl From<v1::EntryAnchor> for EntryAnchor {
    fn from(wire: v1::EntryAnchor) -> Self {
        let v1::EntryAnchor {
            agent_id,
            session_id,
            session_key,
            store_path,
            generation,
            entry_id,
            raw_seq,
            effective_parent_id,
            active_message_position,
            idempotency_key,
        } = wire;
        Self {
            agent_id,
            session_id,
            session_key,
            store_path,
            generation,
            entry_id,
            raw_seq,
            effective_parent_id,
            active_message_position,
            idempotency_key,
        }
    }
}

impl From<CommitTurnResponse> for v1::CommitTurnResponse {
    fn from(CommitTurnResponse { reply, committed }: CommitTurnResponse) -> Self {
        let status = match committed {
            TurnCommitted::Committed => v1::CommitStatus::Committed,
            TurnCommitted::Duplicate => v1::CommitStatus::Duplicate,
        };
        Self {
            reply: reply_to_wire(reply),
            status: status.into(),
        }
    }
}

impl TryFrom<v1::CommitTurnResponse> for CommitTurnResponse {
    type Error = ConvertError;

    /// Any other number is no acknowledgement, so there is no answer: the host keeps its row.
    fn try_from(
        v1::CommitTurnResponse { reply, status }: v1::CommitTurnResponse,
    ) -> Result<Self, ConvertError> {
        let committed = match known(status) {
            Some(v1::CommitStatus::Committed) => TurnCommitted::Committed,
            Some(v1::CommitStatus::Duplicate) => TurnCommitted::Duplicate,
            Some(v1::CommitStatus::Unspecified) | None => {
                return Err(ConvertError::new("status", Problem::UnknownNumber(status)));
            }
        };
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            committed,
        })
    }
}
