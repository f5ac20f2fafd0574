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

#[cfg(test)]
mod tests {
    use contextwire_engine::ContextEngine;
    use contextwire_engine::testing::implemented;

    use super::*;

    #[tokio::test]
    async fn r1_1_every_engine_advertises_exactly_the_methods_that_it_has() {
        for choice in EngineChoice::value_variants() {
            let engine = choice.build();
            let present = implemented(&engine).await.unwrap();
            assert_eq!(engine.info().methods, present, "{}", choice.name());
        }
    }
}
