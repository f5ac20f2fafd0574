//! What a host may set of a client.

use contextwire_proto::limits;

/// What happens when the engine does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEngineFailure {
    /// The in-process engine answers, and the answer says so.
    #[default]
    Substitute,
    /// The call fails with a typed error; nothing is substituted (R7.5).
    Fail,
}

/// How an engine's failures are judged (PROTOCOL 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Every call is guarded: an endpoint that does not answer is left alone for a while.
    #[default]
    Guarded,
    /// Every call is one try at the engine and nothing is remembered: for tools that ask an engine
    /// by hand and want to see what it says.
    Direct,
}

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Id of this host, for display only.
    pub host_id: String,
    /// What happens when the engine does not answer.
    pub on_engine_failure: OnEngineFailure,
    /// How failures are judged.
    pub policy: Policy,
    /// Largest gRPC message in bytes, each way; the smaller of this and the engine's holds.
    pub max_message_bytes: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            host_id: "contextwire".to_owned(),
            on_engine_failure: OnEngineFailure::default(),
            policy: Policy::default(),
            max_message_bytes: limits::MESSAGE_BYTES,
        }
    }
}
