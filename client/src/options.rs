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
    /// The highest epoch that this host used before, where it stores it (R7.9). Without one the
    /// clock alone keeps a restarted host above its past; see [`EngineClient::host_epoch`].
    ///
    /// [`EngineClient::host_epoch`]: crate::EngineClient::host_epoch
    pub last_host_epoch: Option<u64>,
    /// Largest gRPC message in bytes, each way; the smaller of this and the engine's holds.
    pub max_message_bytes: usize,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            host_id: "contextwire".to_owned(),
            on_engine_failure: OnEngineFailure::default(),
            last_host_epoch: None,
            max_message_bytes: limits::MESSAGE_BYTES,
        }
    }
}
