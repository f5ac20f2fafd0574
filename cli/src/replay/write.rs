//! Assembled contexts as files, one a turn.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use contextwire_client::Context;

/// Writes each context to a folder as JSON Lines: the payloads, byte for byte.
#[derive(Debug)]
pub struct ContextWriter {
    folder: PathBuf,
}

impl ContextWriter {
    /// Creates the folder.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// Writes `turn-0001.jsonl` and so on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, turn: usize, context: &Context) -> std::io::Result<()> {
        let file = fs::File::create(self.folder.join(format!("turn-{turn:04}.jsonl")))?;
        let mut file = BufWriter::new(file);
        for message in context.messages() {
            file.write_all(message.payload())?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }
}
