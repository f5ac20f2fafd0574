//! What a host may set of a client.

use contextwire_proto::limits;

use crate::quarantine::Quarantines;

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
    /// Every call is guarded: an endpoint that does not answer is left alone for a while, an engine
    /// that fails is barred, what a strict engine rejects is left out.
    #[default]
    Guarded,
    /// As a host whose turns hold an engine by a lease: a turn neither bars an engine nor cares
    /// whether it is barred, and a strict engine's complaint is a failure.
    Lease,
    /// Every call is one try at the engine and nothing is remembered: for tools that ask an engine
    /// by hand and want to see what it says.
    Direct,
}

/// Who answers an Assemble that the engine does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FallbackEngine {
    /// The windowed rules over the host's list; of an engine that owns compaction, over its last good
    /// result joined to what came since.
    #[default]
    LastGood,
    /// The list as it is, whatever its size: the host's own check decides.
    Legacy,
}

/// For whom a failed engine is barred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuarantineScope {
    /// For everybody in this process.
    #[default]
    Process,
    /// For the session whose call it failed.
    Session,
}

/// What releases a barred engine, besides a registration and an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuarantineRelease {
    /// Nothing does: time heals no engine.
    #[default]
    ByHand,
    /// A call that goes to the engine once a minute, when it is answered.
    Probe,
}

/// How engines that fail are barred (R7.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineOptions {
    /// For whom.
    pub scope: QuarantineScope,
    /// Until when.
    pub release: QuarantineRelease,
    /// The list that they are on.
    pub list: Quarantines,
}

impl Default for QuarantineOptions {
    fn default() -> Self {
        Self {
            scope: QuarantineScope::default(),
            release: QuarantineRelease::default(),
            list: Quarantines::process_wide(),
        }
    }
}

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Id of this host, for display only.
    pub host_id: String,
    /// What happens when the engine does not answer.
    pub on_engine_failure: OnEngineFailure,
    /// Who answers an Assemble that the engine does not; nobody without the feature `local`.
    pub fallback: FallbackEngine,
    /// How failures are judged.
    pub policy: Policy,
    /// The id under which the host selects the engine; it need not be the id that the engine gives
    /// itself. Absent: the address of the engine.
    pub engine_id: Option<String>,
    /// Who registered the engine, for records.
    pub owner: Option<String>,
    /// How an engine that fails is barred.
    pub quarantine: QuarantineOptions,
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
            fallback: FallbackEngine::default(),
            policy: Policy::default(),
            engine_id: None,
            owner: None,
            quarantine: QuarantineOptions::default(),
            last_host_epoch: None,
            max_message_bytes: limits::MESSAGE_BYTES,
        }
    }
}
