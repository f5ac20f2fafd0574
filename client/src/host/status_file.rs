//! Writes a host's status to a file, for whoever looks from another process.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::selection::Selection;
use crate::atomic_file;

/// Between two writes at least.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes now and whenever something happened, until the guard is dropped.
pub(super) fn keep(path: PathBuf, selection: &Arc<Selection>) -> DropGuard {
    let ends = CancellationToken::new();
    let stop = ends.clone();
    let changed = Arc::clone(&selection.changed);
    let selection = Arc::downgrade(selection);
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        let mut last_failed = false;
        while let Some(bytes) = status(&selection) {
            let written = write(path.clone(), bytes).await;
            // Told once, not every second.
            if let Err(error) = &written
                && !last_failed
            {
                tracing::warn!(path = %path.display(), %error, "the status cannot be written");
            }
            last_failed = written.is_err();
            sleep(PAUSE).await;
            changed.notified().await;
        }
    }));
    ends.drop_guard()
}

fn status(selection: &Weak<Selection>) -> Option<Vec<u8>> {
    let status = selection.upgrade()?.status();
    serde_json::to_vec_pretty(&status).ok()
}

async fn write(path: PathBuf, bytes: Vec<u8>) -> std::io::Result<()> {
    let write = move || atomic_file::write(&path, &bytes);
    let written = tokio::task::spawn_blocking(write).await;
    written.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}
