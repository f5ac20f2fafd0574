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

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Id of this host, for display only.
    pub host_id: String,
    /// What happens when the engine does not answer.
    pub on_engine_failure: OnEngineFailure,
    /// Largest gRPC message in bytes, each way; the smaller of this and the engine's holds.
    pub max_message_bytes: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            host_id: "contextwire".to_owned(),
            on_engine_failure: OnEngineFailure::default(),
            max_message_bytes: limits::MESSAGE_BYTES,
        }
    }
}
