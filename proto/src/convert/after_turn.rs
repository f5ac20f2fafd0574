//! `AfterTurn`: what a finished turn added.

use contextwire_engine::{AfterTurn, Reply, TokenBudget, Transcript};

use super::call::reply_to_wire;
use super::{ConvertError, optional, required};
use crate::call::CallContext;
use crate::sync::TranscriptUpdate;
use crate::v1;

/// The start of an `AfterTurn`.
#[derive(Clone, Debug, PartialEq)]
pub struct AfterTurnStart {
    /// The call.
    pub call: CallContext,
    /// The request. Its transcript does not travel in it: empty when it comes from the wire, and
    /// ignored on the way there.
    pub request: AfterTurn,
    /// The log, or its first part.
    pub update: TranscriptUpdate,
}

/// The answer to an `AfterTurn`: done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterTurnResult {
    /// Beside the answer.
    pub reply: Reply,
}

impl From<AfterTurnStart> for v1::AfterTurnStart {
    fn from(
        AfterTurnStart {
            call,
            request,
            update,
        }: AfterTurnStart,
    ) -> Self {
        let AfterTurn {
            runtime_settings,
            runtime_context,
            transcript: _,
            background,
            pre_prompt_message_count,
            auto_compaction_summary,
            is_heartbeat,
            token_budget,
        } = request;
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            transcript: Some(update.into()),
            background,
            pre_prompt_message_count,
            auto_compaction_summary,
            is_heartbeat,
            token_budget: token_budget.map(TokenBudget::get),
        }
    }
}

impl TryFrom<v1::AfterTurnStart> for AfterTurnStart {
    type Error = ConvertError;

    fn try_from(wire: v1::AfterTurnStart) -> Result<Self, ConvertError> {
        let v1::AfterTurnStart {
            call,
            runtime_settings,
            runtime_context,
            transcript,
            background,
            pre_prompt_message_count,
            auto_compaction_summary,
            is_heartbeat,
            token_budget,
        } = wire;
        let request = AfterTurn {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            transcript: Transcript::new(),
            background,
            pre_prompt_message_count,
            auto_compaction_summary,
            is_heartbeat,
            token_budget: token_budget.and_then(TokenBudget::new),
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
            update: required(transcript, "transcript")?,
        })
    }
}

impl From<AfterTurnResult> for v1::AfterTurnResult {
    fn from(AfterTurnResult { reply }: AfterTurnResult) -> Self {
        Self {
            reply: reply_to_wire(reply),
        }
    }
}

impl TryFrom<v1::AfterTurnResult> for AfterTurnResult {
    type Error = ConvertError;

    fn try_from(v1::AfterTurnResult { reply }: v1::AfterTurnResult) -> Result<Self, ConvertError> {
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
        })
    }
}
