//! Which host wrote a session, and in which form.

use std::fmt;

/// The form of a session file, found out from what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON Lines of OpenClaw or pi, entries one a line.
    Lines,
    /// JSON Lines in which each row of OpenClaw's store wraps an entry.
    Rows,
    /// OpenClaw's store itself, an SQLite database.
    Store,
    /// Pages of OpenClaw's transcript reader: messages without the entries between them.
    Pages,
    /// A rollout of Codex.
    Codex,
}

impl Format {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "openclaw-lines",
            Self::Rows => "openclaw-rows",
            Self::Store => "openclaw-store",
            Self::Pages => "openclaw-pages",
            Self::Codex => "codex-rollout",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
