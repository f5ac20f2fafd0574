//! The engines that this binary can serve.

mod summarizer;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use contextwire_engine::{AnyAdmin, AnyEngine};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_legacy::LegacyEngine;
use contextwire_lossless::{LosslessEngine, LosslessOptions, Redaction};
use contextwire_windowed::WindowedEngine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use summarizer::{SummarizerArgs, SummarizerChoice};

/// An engine by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// A budgeted window over the newest turns; no store, no model.
    Windowed,
    /// The host's own messages, passed through, and a summarising compaction.
    Legacy,
    /// Stores what hosts say, exactly once, and shows the model all of it.
    Ledger,
    /// Stores everything, and shows the model what fits: summaries for what is older.
    Lossless,
}

/// An engine that is ready to serve.
#[derive(Debug)]
pub struct Built {
    /// Its hooks.
    pub engine: AnyEngine,
    /// What it shows to operators, where it stores something.
    pub admin: Option<AnyAdmin>,
}

impl Built {
    fn storeless(engine: AnyEngine) -> Self {
        Self {
            engine,
            admin: None,
        }
    }
}

impl EngineChoice {
    /// Builds the engine. `store` is the file of one that stores; in the user's data folder where
    /// it is absent. `summarizer` is for the one that compacts.
    ///
    /// # Errors
    /// When a store or a summariser is named for an engine that has none, or it cannot be opened.
    pub fn build(self, store: Option<&Path>, summarizer: &SummarizerArgs) -> anyhow::Result<Built> {
        self.build_masking(store, summarizer, Redaction::default())
    }

    /// The same, for the lossless one with what it masks.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn build_masking(
        self,
        store: Option<&Path>,
        summarizer: &SummarizerArgs,
        redaction: Redaction,
    ) -> anyhow::Result<Built> {
        anyhow::ensure!(
            store.is_none() || self.has_store(),
            "the {} engine stores nothing: --store is for `--engine lossless` and `--engine ledger`",
            self.name()
        );
        anyhow::ensure!(
            self.summarizes() || !summarizer.is_given(),
            "the {} engine writes no summaries: --summarizer is for `--engine lossless` and \
             `--engine legacy`",
            self.name()
        );
        Ok(match self {
            Self::Windowed => Built::storeless(AnyEngine::new(WindowedEngine)),
            Self::Legacy => {
                Built::storeless(AnyEngine::new(LegacyEngine::new(summarizer.options()?)))
            }
            Self::Ledger => {
                let ledger = LedgerEngine::open(&self.store(store)?, LedgerOptions::default())?;
                Built {
                    admin: Some(AnyAdmin::new(ledger.admin())),
                    engine: AnyEngine::new(ledger),
                }
            }
            Self::Lossless => {
                let options = LosslessOptions {
                    summarizer: summarizer.options()?.summarizer,
                    redaction,
                    ..LosslessOptions::default()
                };
                let lossless = LosslessEngine::open(&self.store(store)?, options)?;
                Built {
                    admin: Some(AnyAdmin::new(lossless.admin())),
                    engine: AnyEngine::new(lossless),
                }
            }
        })
    }

    /// The file that it uses, in a folder that is there.
    fn store(self, named: Option<&Path>) -> anyhow::Result<PathBuf> {
        let store = named.map_or_else(|| default_store(self), |store| Ok(store.to_owned()))?;
        create_folder_of(&store)?;
        Ok(store)
    }

    /// Whether it keeps a file.
    pub fn has_store(self) -> bool {
        match self {
            Self::Windowed | Self::Legacy => false,
            Self::Ledger | Self::Lossless => true,
        }
    }

    /// Whether somebody has to write its summaries.
    pub fn summarizes(self) -> bool {
        match self {
            Self::Legacy | Self::Lossless => true,
            Self::Windowed | Self::Ledger => false,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windowed => "windowed",
            Self::Legacy => "legacy",
            Self::Ledger => "ledger",
            Self::Lossless => "lossless",
        }
    }
}

/// Where an engine stores when nobody names a file.
///
/// # Errors
/// When the system knows no data folder of this user.
pub fn default_store(engine: EngineChoice) -> anyhow::Result<PathBuf> {
    let folder = dirs::data_dir().context("no data folder for this user: name a --store")?;
    Ok(folder.join(format!("contextwire/{}.sqlite3", engine.name())))
}

/// Where commands look when nobody names a file: the store of the engine that is served by default,
/// or the ledger's where that is the only one.
///
/// # Errors
/// When the system knows no data folder of this user.
pub fn existing_store() -> anyhow::Result<PathBuf> {
    let (lossless, ledger) = (
        default_store(EngineChoice::Lossless)?,
        default_store(EngineChoice::Ledger)?,
    );
    Ok(if ledger.exists() && !lossless.exists() {
        ledger
    } else {
        lossless
    })
}

/// Conversations are nobody else's business: a new folder is its owner's alone.
fn create_folder_of(store: &Path) -> anyhow::Result<()> {
    let Some(folder) = store
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
        .create(folder)
        .with_context(|| format!("cannot create {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use contextwire_engine::ContextEngine;
    use contextwire_engine::testing::implemented;

    use super::*;

    #[tokio::test]
    async fn r1_1_every_engine_advertises_exactly_the_methods_that_it_has() {
        let folder = tempfile::tempdir().unwrap();
        for choice in EngineChoice::value_variants() {
            let store = folder.path().join(choice.name());
            let store = choice.has_store().then_some(store.as_path());
            let built = choice.build(store, &SummarizerArgs::default()).unwrap();
            let engine = built.engine;
            let present = implemented(&engine).await.unwrap();
            assert_eq!(engine.info().methods, present, "{}", choice.name());
        }
    }

    #[test]
    fn a_store_is_refused_where_nothing_is_stored() {
        for engine in EngineChoice::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            let store = folder.path().join("new/ledger.sqlite3");
            let built = engine.build(Some(&store), &SummarizerArgs::default());
            assert_eq!(built.is_ok(), engine.has_store());
            assert_eq!(store.exists(), engine.has_store());
        }
    }

    #[test]
    fn a_summariser_is_refused_where_nothing_is_summarised() {
        let folder = tempfile::tempdir().unwrap();
        let summarizer = SummarizerArgs {
            summarizer: Some(SummarizerChoice::None),
            ..SummarizerArgs::default()
        };
        for engine in EngineChoice::value_variants() {
            let store = folder.path().join(engine.name());
            let store = engine.has_store().then_some(store.as_path());
            let built = engine.build(store, &summarizer);
            assert_eq!(built.is_ok(), engine.summarizes());
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_of_a_new_store_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("new/ledger.sqlite3");
        EngineChoice::Ledger
            .build(Some(&store), &SummarizerArgs::default())
            .unwrap();
        let mode = folder
            .path()
            .join("new")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
