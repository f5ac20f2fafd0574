//! What a host may set of a client.

use std::path::PathBuf;
use std::sync::Arc;

use contextwire_engine::AnyEngine;
use contextwire_proto::limits;

use crate::metrics::Metrics;
use crate::quarantine::Quarantines;
use crate::requirements::HostProfile;

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

/// Who compacts when the engine does not. An engine that failed by its own word in this very call is
/// not replaced (HOST-SEMANTICS 3.4), and one that is barred always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactFallback {
    /// The built-in engine, unless the engine owns compaction or was never seen (R7.12).
    #[default]
    UnlessOwned,
    /// The built-in engine.
    Legacy,
    /// Nobody: the call fails.
    Rethrow,
}

/// What may be on its way to one engine at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls that run.
    pub calls: usize,
    /// Bytes that they bring; of a list, what the engine is not known to have. A call that is larger
    /// alone goes alone.
    pub bytes: u64,
    /// Calls that wait for their turn, each half a second at most; a further one is refused at once.
    pub waiting: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            calls: 256,
            bytes: 256 << 20,
            waiting: 256,
        }
    }
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
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Id of this host, for display only.
    pub host_id: String,
    /// What happens when the engine does not answer.
    pub on_engine_failure: OnEngineFailure,
    /// Who answers an Assemble that the engine does not; nobody without the feature `local`.
    pub fallback: FallbackEngine,
    /// Who compacts when the engine does not.
    pub compact_fallback: CompactFallback,
    /// The engine of this process: what a host does without another one. By default the legacy
    /// engine; nobody without the feature `local`.
    pub built_in: Option<AnyEngine>,
    /// How failures are judged.
    pub policy: Policy,
    /// What this host is and can: engines are told, and an operation for which one requires more is
    /// refused. Absent: nothing is judged, for tools that ask an engine by hand.
    pub profile: Option<HostProfile>,
    /// What may be on its way at once.
    pub call_limits: CallLimits,
    /// Where the engine's last description is kept, so that a host that starts while the engine is
    /// away knows whom it waits for (R7.12). Absent: in memory only.
    pub info_file: Option<PathBuf>,
    /// What the names of sessions are hashed with before they travel in metadata (R1.10). Hosts of
    /// the same sessions use the same one, and one that keeps it over its restarts finds the same
    /// replicas again. Absent: a random one a process.
    pub affinity_key: Option<String>,
    /// Takes figures of every call.
    pub metrics: Option<Arc<dyn Metrics>>,
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
            compact_fallback: CompactFallback::default(),
            built_in: crate::in_process::built_in(),
            policy: Policy::default(),
            profile: None,
            call_limits: CallLimits::default(),
            info_file: None,
            affinity_key: None,
            metrics: None,
            engine_id: None,
            owner: None,
            quarantine: QuarantineOptions::default(),
            last_host_epoch: None,
            max_message_bytes: limits::MESSAGE_BYTES,
        }
    }
}
