//! Dispose: a host goes away.

/// Tells the engine that this host goes away. It closes only what this host opened, never a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dispose {
    /// Random per start of the host's process.
    pub host_instance: String,
}
