//! What an engine said of itself last, for a host that starts while the engine is away (R7.12).

mod saved;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_proto::handshake::EngineDescription;

use crate::atomic_file;
use saved::Saved;

/// The file of one engine.
#[derive(Debug)]
pub(crate) struct InfoFile {
    path: PathBuf,
    /// One write at a time, in order; the newest wins.
    writing: Arc<Mutex<()>>,
}

/// Where an engine's file is in a folder; ids may hold anything.
pub(crate) fn path_in(folder: &Path, engine_id: &str) -> PathBuf {
    use std::fmt::Write as _;
    let mut name = "engine-".to_owned();
    for byte in engine_id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            name.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(name, "%{byte:02x}").is_ok();
        }
    }
    folder.join(name + ".json")
}

impl InfoFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Arc::default(),
        }
    }

    /// What is there; a file that cannot be read is as good as none.
    pub(crate) fn read(&self) -> Option<EngineDescription> {
        let bytes = std::fs::read(&self.path).ok()?;
        match serde_json::from_slice::<Saved>(&bytes) {
            Ok(saved) => saved.into_description(),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "no engine is remembered");
                None
            }
        }
    }

    /// Writes beside the conversation; a failure changes nothing but what the next start knows.
    pub(crate) fn write(&self, engine: Arc<EngineDescription>) {
        let (path, writing) = (self.path.clone(), Arc::clone(&self.writing));
        let write = move || {
            let _one = writing.lock().unwrap_or_else(PoisonError::into_inner);
            let written = serde_json::to_vec_pretty(&Saved::of(&engine))
                .map_err(std::io::Error::from)
                .and_then(|bytes| atomic_file::write(&path, &bytes));
            if let Err(error) = written {
                tracing::warn!(path = %path.display(), %error, "the engine is not remembered");
            }
        };
        drop(tokio::task::spawn_blocking(write));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::description;

    #[test]
    fn r7_12_what_is_written_is_read_and_anything_else_is_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = path_in(root.path(), "../lossless claw");
        assert_eq!(path.parent(), Some(root.path()));
        let file = InfoFile::new(path.clone());
        assert_eq!(file.read(), None);
        let engine = description();
        let bytes = serde_json::to_vec(&Saved::of(&engine)).unwrap();
        atomic_file::write(&path, &bytes).unwrap();
        let read = file.read().unwrap();
        assert_eq!(read.info, engine.info);
        assert_eq!(read.protocol, engine.protocol);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(file.read(), None);
    }
}
