//! Bootstrap: the log of a session that already had one.

use contextwire_engine::{Bootstrap, Bootstrapped, Reply, Transcript};

use super::call::reply_to_wire;
use super::{ConvertError, optional, required};
use crate::call::CallContext;
use crate::sync::TranscriptUpdate;
use crate::v1;

/// The start of a Bootstrap.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapStart {
    /// The call.
    pub call: CallContext,
    /// The request. Its transcript does not travel in it: empty when it comes from the wire, and
    /// ignored on the way there.
    pub request: Bootstrap,
    /// The log, or its first part.
    pub update: TranscriptUpdate,
}

/// The answer to a Bootstrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootstrapResult {
    /// Beside the answer.
    pub reply: Reply,
    /// The answer.
    pub bootstrapped: Bootstrapped,
}

impl From<BootstrapStart> for v1::BootstrapStart {
    fn from(
        BootstrapStart {
            call,
            request,
            update,
        }: BootstrapStart,
    ) -> Self {
        let Bootstrap {
            runtime_settings,
            runtime_context,
            transcript: _,
            background,
        } = request;
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            transcript: Some(update.into()),
            background,
        }
    }
}

impl TryFrom<v1::BootstrapStart> for BootstrapStart {
    type Error = ConvertError;

    fn try_from(wire: v1::BootstrapStart) -> Result<Self, ConvertError> {
        let v1::BootstrapStart {
            call,
            runtime_settings,
            runtime_context,
            transcript,
            background,
        } = wire;
        let request = Bootstrap {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            transcript: Transcript::new(),
            background,
        };
        Ok(Self {
            call: required(call, "call")?,
            request,
            update: required(transcript, "transcript")?,
        })
    }
}

impl From<BootstrapResult> for v1::BootstrapResult {
    fn from(
        BootstrapResult {
            reply,
            bootstrapped,
        }: BootstrapResult,
    ) -> Self {
        let Bootstrapped {
            bootstrapped,
            imported_messages,
            reason,
        } = bootstrapped;
        Self {
            reply: reply_to_wire(reply),
            bootstrapped,
            imported_messages,
            reason,
        }
    }
}

impl TryFrom<v1::BootstrapResult> for BootstrapResult {
    type Error = ConvertError;

    fn try_from(wire: v1::BootstrapResult) -> Result<Self, ConvertError> {
        let v1::BootstrapResult {
            reply,
            bootstrapped,
            imported_messages,
            reason,
        } = wire;
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            bootstrapped: Bootstrapped {
                bootstrapped,
                imported_messages,
                reason,
            },
        })
    }
}
