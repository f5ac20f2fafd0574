//! What Codex wrote of a thread: how large it is, and whether it was compacted while nobody listened.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

/// The head of a record says what it is; bodies are not looked at.
const HEAD_BYTES: u64 = 256;

/// A rollout on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rollout {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Whether Codex compacted it: then nobody knows what is left of what was injected.
    pub(crate) is_compacted: bool,
}

impl Rollout {
    /// Reads the file, off the runtime's threads. One that is not there is empty: Codex makes it
    /// with the first turn.
    pub(crate) async fn of(path: PathBuf) -> std::io::Result<Self> {
        let read = tokio::task::spawn_blocking(move || match std::fs::File::open(path) {
            Ok(file) => read(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        });
        read.await.map_err(std::io::Error::other)?
    }
}

fn read(file: impl Read) -> std::io::Result<Rollout> {
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut rollout = Rollout::default();
    let mut head = Vec::new();
    loop {
        head.clear();
        let taken = (&mut lines).take(HEAD_BYTES).read_until(b'\n', &mut head)?;
        if taken == 0 {
            return Ok(rollout);
        }
        rollout.bytes += taken as u64;
        rollout.is_compacted |= is_compaction(&head);
        if head.last() != Some(&b'\n') {
            rollout.bytes += lines.skip_until(b'\n')? as u64;
        }
    }
}

fn is_compaction(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let before_payload = head.split("\"payload\"").next().unwrap_or_default();
    before_payload.contains("\"compacted\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compaction_is_a_record_and_not_a_word_in_one() {
        let long = "x".repeat(1000);
        let said = format!(
            "{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{{\"text\":\"\\\"compacted\\\"{long}\"}}}}\n"
        );
        let record = "{\"timestamp\":\"t\",\"ordinal\":5,\"type\":\"compacted\",\"payload\":{}}\n";
        let before = read(said.as_bytes()).unwrap();
        let bytes = said.len() as u64;
        let is_compacted = false;
        assert_eq!(
            before,
            Rollout {
                bytes,
                is_compacted
            }
        );
        let after = format!("{said}{record}{said}");
        assert!(read(after.as_bytes()).unwrap().is_compacted);
    }

    #[tokio::test]
    async fn a_thread_without_a_turn_has_no_rollout_yet() {
        let folder = tempfile::tempdir().unwrap();
        let rollout = Rollout::of(folder.path().join("none.jsonl")).await;
        assert_eq!(rollout.unwrap(), Rollout::default());
    }
}
