//! The engines that this binary can serve.

use clap::ValueEnum;
use contextwire_engine::AnyEngine;
use contextwire_legacy::LegacyEngine;
use contextwire_windowed::WindowedEngine;

/// An engine by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// A budgeted window over the newest turns; no store, no model.
    #[default]
    Windowed,
    /// The host's own messages, passed through.
    Legacy,
}

impl EngineChoice {
    /// Builds the engine.
    pub fn build(self) -> AnyEngine {
        match self {
            Self::Windowed => AnyEngine::new(WindowedEngine),
            Self::Legacy => AnyEngine::new(LegacyEngine),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windowed => "windowed",
            Self::Legacy => "legacy",
        }
    }
}
