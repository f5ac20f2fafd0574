//! What a client knows of its engine and thinks of it; asks nobody.

use contextwire_engine::EngineInfo;

use crate::client::EngineClient;
use crate::quarantine::QuarantineRecord;

impl EngineClient {
    /// What the host goes by: the engine's own description, the last one if it cannot be asked now.
    /// While it is barred, the built-in engine's, so that nobody leaves compaction to it. `None`
    /// while the engine was never reached; then it is treated as owning compaction (R7.12).
    pub fn active_info(&self) -> Option<EngineInfo> {
        let own = self.known.last().map(|engine| engine.info.clone());
        self.known.bar().active_info(own)
    }

    /// Why the engine is barred, where it is for every session.
    pub fn quarantine(&self) -> Option<QuarantineRecord> {
        self.known.bar().record()
    }
}
