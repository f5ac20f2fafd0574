//! What an engine prints: lines in the host's log, the last of them kept for whoever asks why it
//! ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest part of a line that is shown, in bytes.
const LINE_BYTES: usize = 512;
/// Lines that are kept.
const LINES: usize = 8;

/// The last lines of an engine's standard error. Clones are one.
#[derive(Clone, Debug, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    fn add(&self, line: String) {
        let mut lines = self.lock();
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads until the engine closes its end; what is too long of a line is left out.
pub(super) async fn capture(
    pid: u32,
    stream: &'static str,
    from: impl AsyncRead + Unpin,
    last: Option<LastLines>,
) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        let Ok(read) = from.fill_buf().await else {
            return;
        };
        if read.is_empty() {
            break;
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
        let room = LINE_BYTES.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(part.get(..room).unwrap_or_default());
        let used = end.map_or(read.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            tell(pid, stream, &mut line, last.as_ref());
        }
    }
    tell(pid, stream, &mut line, last.as_ref());
}

fn tell(pid: u32, stream: &'static str, line: &mut Vec<u8>, last: Option<&LastLines>) {
    let text = String::from_utf8_lossy(line);
    let text: String = text.chars().filter(|it| !it.is_control()).collect();
    line.clear();
    if text.trim().is_empty() {
        return;
    }
    tracing::info!(pid, stream, "engine: {text}");
    if let Some(last) = last {
        last.add(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_kept_whole_the_last_of_them_and_no_longer_than_is_shown() {
        let long = "x".repeat(LINE_BYTES * 3);
        let lines: Vec<_> = (0..9).map(|n| format!("line {n}\r\n")).collect();
        let last = LastLines::default();
        let text = format!("{}{long}\nunended\u{1b}[0m", lines.join("\n"));
        capture(1, "stderr", text.as_bytes(), Some(last.clone())).await;
        let lines = last.all();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "line 3");
        assert_eq!(lines[LINES - 2].len(), LINE_BYTES);
        assert_eq!(lines[LINES - 1], "unended[0m");
    }
}
