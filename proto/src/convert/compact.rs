//! Compact: make the session smaller.

use contextwire_engine::{
    Compact, CompactResult as CompactionResult, Compacted, CompactionTarget, EntryId, Reply,
    TokenBudget,
};

use super::call::{reply_to_wire, session_id};
use super::{At, ConvertError, known, optional, required, shallow};
use crate::call::CallContext;
use crate::v1;

/// The start of a Compact.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactStart {
    /// The call.
    pub call: CallContext,
    /// The request.
    pub request: Compact,
}

/// The answer to a Compact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactResult {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub compacted: Compacted,
}

impl From<CompactStart> for v1::CompactStart {
    fn from(CompactStart { call, request }: CompactStart) -> Self {
        let Compact {
            runtime_settings,
            runtime_context,
            token_budget,
            force,
            current_token_count,
            target,
            custom_instructions,
        } = request;
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            token_budget: token_budget.map(TokenBudget::get),
            force,
            current_token_count,
            compaction_target: target_to_wire(target).into(),
            custom_instructions,
        }
    }
}

impl TryFrom<v1::CompactStart> for CompactStart {
    type Error = ConvertError;

    fn try_from(wire: v1::CompactStart) -> Result<Self, ConvertError> {
        let v1::CompactStart {
            call,
            runtime_settings,
            runtime_context,
            token_budget,
            force,
            current_token_count,
            compaction_target,
            custom_instructions,
        } = wire;
        let request = Compact {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            token_budget: token_budget.and_then(TokenBudget::new),
            force,
            current_token_count,
            target: target(compaction_target),
            custom_instructions,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

impl From<CompactResult> for v1::CompactResult {
    fn from(CompactResult { reply, compacted }: CompactResult) -> Self {
        let Compacted {
            ok,
            compacted,
            reason,
            result,
        } = compacted;
        Self {
            reply: reply_to_wire(reply),
            ok,
            compacted,
            reason,
            result: result.map(Into::into),
        }
    }
}

impl TryFrom<v1::CompactResult> for CompactResult {
    type Error = ConvertError;

    fn try_from(wire: v1::CompactResult) -> Result<Self, ConvertError> {
        let v1::CompactResult {
            reply,
            ok,
            compacted,
            reason,
            result,
        } = wire;
        let result = optional(result, "result")?;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            compacted: Compacted {
                ok,
                compacted,
                reason,
                result,
            },
        })
    }
}

impl From<CompactionResult> for v1::CompactionResult {
    fn from(result: CompactionResult) -> Self {
        let CompactionResult {
            summary,
            first_kept_entry_id,
            tokens_before,
            tokens_after,
            details,
            session_id,
            session_target,
        } = result;
        Self {
            summary,
            first_kept_entry_id: first_kept_entry_id.map(|id| id.as_str().to_owned()),
            tokens_before,
            tokens_after,
            details,
            session_id: session_id.map(|id| id.as_str().to_owned()),
            session_target: session_target.map(Into::into),
        }
    }
}

impl TryFrom<v1::CompactionResult> for CompactionResult {
    type Error = ConvertError;

    fn try_from(wire: v1::CompactionResult) -> Result<Self, ConvertError> {
        let v1::CompactionResult {
            summary,
            first_kept_entry_id,
            tokens_before,
            tokens_after,
            details,
            session_id: successor,
            session_target,
        } = wire;
        if let Some(details) = &details {
            shallow(details).at("details")?;
        }
        Ok(Self {
            summary,
            first_kept_entry_id: first_kept_entry_id.map(EntryId::from),
            tokens_before,
            tokens_after,
            details,
            session_id: successor.map(session_id).transpose().at("session_id")?,
            session_target: session_target.map(Into::into),
        })
    }
}

pub(super) fn target(wire: i32) -> CompactionTarget {
    match known(wire) {
        Some(v1::CompactionTarget::Threshold) => CompactionTarget::Threshold,
        Some(v1::CompactionTarget::Budget | v1::CompactionTarget::Unspecified) | None => {
            CompactionTarget::Budget
        }
    }
}

pub(super) fn target_to_wire(target: CompactionTarget) -> v1::CompactionTarget {
    match target {
        CompactionTarget::Budget => v1::CompactionTarget::Budget,
        CompactionTarget::Threshold => v1::CompactionTarget::Threshold,
    }
}
