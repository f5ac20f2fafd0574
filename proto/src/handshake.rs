//! What both sides say of themselves in Describe, as checked values.

use std::time::Duration;

use contextwire_engine::EngineInfo;

/// A version of the protocol. Two sides with one major speak the smaller minor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol {
    /// Another major is another package.
    pub major: u32,
    /// Fields and methods carry the minor that introduced them.
    pub minor: u32,
}

/// What one side accepts; absent numbers are the defaults of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Largest gRPC message in bytes.
    pub max_message_bytes: Option<u64>,
    /// Largest metadata of a call in bytes.
    pub max_metadata_bytes: Option<u64>,
    /// Deepest nesting of the contract's own JSON.
    pub max_json_depth: Option<u32>,
    /// Host calls open at once in a hook.
    pub max_open_host_calls: Option<u32>,
    /// States kept for each list of a session.
    pub max_mirror_states: Option<u32>,
    /// Bytes of all mirrors together.
    pub max_mirror_bytes: Option<u64>,
    /// Streams of one connection.
    pub max_streams: Option<u32>,
    /// Hooks running at once.
    pub max_concurrent_hooks: Option<u32>,
    /// Bytes held in memory for one tenant.
    pub max_tenant_bytes: Option<u64>,
}

/// Who the host is and what it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostDescription {
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// Its id; for display only, as are the next two.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// Version of its software; empty where not said.
    pub version: String,
    /// Random per start of its process.
    pub instance: String,
    /// Capability names.
    pub capabilities: Vec<String>,
    /// Versions of the runtime settings that it can send.
    pub runtime_settings_versions: Vec<u32>,
    /// What it accepts.
    pub limits: Limits,
}

/// Whether an engine takes hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineState {
    /// Not yet.
    Starting,
    /// Yes; also what an unknown number means.
    #[default]
    Ready,
    /// No new ones.
    Draining,
    /// Yes, with something missing.
    Degraded,
}

/// Who the engine is and what it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineDescription {
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// What it declares.
    pub info: EngineInfo,
    /// Random per start of its process.
    pub instance_id: String,
    /// Whether it refuses what it does not understand of `must_understand` (R5.4).
    pub honours_must_understand: bool,
    /// Versions of the runtime settings that it can read.
    pub runtime_settings_versions: Vec<u32>,
    /// What it accepts.
    pub limits: Limits,
    /// Whether it takes hooks now.
    pub state: EngineState,
    /// How long this answer holds, in whole milliseconds; zero: until the connection is lost.
    pub ttl: Duration,
}
