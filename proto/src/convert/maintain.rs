//! Maintain: the engine tidies up.

use contextwire_engine::{Maintain, MaintainReason, Maintained, Reply};

use super::call::reply_to_wire;
use super::{At, ConvertError, Problem, known, optional, required};
use crate::call::CallContext;
use crate::v1;

/// The start of a Maintain.
#[derive(Clone, Debug, PartialEq)]
pub struct MaintainStart {
    /// The call.
    pub call: CallContext,
    /// The request.
    pub request: Maintain,
}

/// The answer to a Maintain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintainResult {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub maintained: Maintained,
}

impl From<MaintainStart> for v1::MaintainStart {
    fn from(MaintainStart { call, request }: MaintainStart) -> Self {
        let Maintain {
            runtime_settings,
            runtime_context,
            reason,
            background,
        } = request;
        let reason = match reason {
            MaintainReason::Bootstrap => v1::MaintainReason::Bootstrap,
            MaintainReason::Turn => v1::MaintainReason::Turn,
            MaintainReason::Compaction => v1::MaintainReason::Compaction,
        };
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            reason: reason.into(),
            background,
        }
    }
}

impl TryFrom<v1::MaintainStart> for MaintainStart {
    type Error = ConvertError;

    fn try_from(wire: v1::MaintainStart) -> Result<Self, ConvertError> {
        let v1::MaintainStart {
            call,
            runtime_settings,
            runtime_context,
            reason: number,
            background,
        } = wire;
        let request = Maintain {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            reason: reason(number).at("reason")?,
            background,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
        })
    }
}

fn reason(wire: i32) -> Result<MaintainReason, Problem> {
    match known(wire) {
        Some(v1::MaintainReason::Bootstrap) => Ok(MaintainReason::Bootstrap),
        Some(v1::MaintainReason::Turn) => Ok(MaintainReason::Turn),
        Some(v1::MaintainReason::Compaction) => Ok(MaintainReason::Compaction),
        Some(v1::MaintainReason::Unspecified) | None => Err(Problem::UnknownNumber(wire)),
    }
}

impl From<MaintainResult> for v1::MaintainResult {
    fn from(MaintainResult { reply, maintained }: MaintainResult) -> Self {
        let Maintained {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
        } = maintained;
        Self {
            reply: reply_to_wire(reply),
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
        }
    }
}

impl TryFrom<v1::MaintainResult> for MaintainResult {
    type Error = ConvertError;

    fn try_from(wire: v1::MaintainResult) -> Result<Self, ConvertError> {
        let v1::MaintainResult {
            reply,
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
        } = wire;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            maintained: Maintained {
                changed,
                bytes_freed,
                rewritten_entries,
                reason,
            },
        })
    }
}
