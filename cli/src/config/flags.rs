//! The layer of the command line.

mod host;
mod serve;

use std::path::{Path, PathBuf};

use clap::Args;

use super::layers::{Layers, Loaded, Settings};
use super::{environment, file};

pub use host::HostFlags;
pub use serve::ServeFlags;

/// Which file is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ConfigArgs {
    /// The configuration; by default contextwire/config.toml in your configuration folder, where
    /// there is one. `none` reads no file. Variables `CONTEXTWIRE_SECTION_KEY` win over it, and
    /// options over both: `contextwire config print` shows what comes from where.
    #[arg(long, value_name = "FILE", env = "CONTEXTWIRE_CONFIG")]
    pub config: Option<PathBuf>,
}

impl ConfigArgs {
    /// What is in the file and in the environment.
    pub fn layers(&self) -> Layers {
        let (path, is_named) = match &self.config {
            Some(none) if none.as_os_str() == "none" => (None, true),
            Some(path) => (Some(path.clone()), true),
            None => (file::default_path(), false),
        };
        let file = path.filter(|path| is_named || path.exists());
        Layers {
            file: file.map(|path| {
                let text = read(&path);
                (path, text)
            }),
            environment: environment::variables(),
        }
    }

    /// File, environment and these flags, checked.
    pub fn load(&self, flags: impl FnOnce(&mut Settings)) -> Loaded {
        self.layers().load(flags)
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))
}
