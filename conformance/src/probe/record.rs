//! What was sent and received in a check, for whoever has to explain a failure.

use std::sync::{Arc, Mutex, PoisonError};

/// Longest line of a record in characters; messages of megabytes are sent as well.
const LINE: usize = 600;
/// Most lines of a record.
const LINES: usize = 200;

/// The lines of one check; clones are one.
#[derive(Clone, Debug, Default)]
pub struct Record(Arc<Mutex<Vec<String>>>);

impl Record {
    /// Notes a line; a long one is cut, and after 200 lines nothing is noted any more.
    pub fn note(&self, line: impl Into<String>) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.push("… further frames are not shown".to_owned());
        }
        if lines.len() < LINES {
            let line: String = line.into();
            let shown: String = line.chars().take(LINE).collect();
            let cut = if shown.len() < line.len() { "…" } else { "" };
            lines.push(format!("{shown}{cut}"));
        }
    }

    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
