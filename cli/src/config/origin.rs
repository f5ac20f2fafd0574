//! Where a value comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Where a value comes from, or where a problem is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Origin {
    /// Built in.
    Default,
    /// The file.
    File {
        /// Which file.
        path: PathBuf,
        /// The line, from 1; absent for the file as a whole.
        line: Option<usize>,
    },
    /// The environment.
    Variable {
        /// The variable's name.
        name: String,
    },
    /// The command line.
    Flag {
        /// The flag with its dashes.
        name: &'static str,
    },
}

impl Origin {
    /// Layer and line, to put problems in an order in which they are easily corrected.
    pub(super) fn place(&self) -> (u8, usize) {
        match self {
            Self::File { path: _, line } => (0, line.unwrap_or(0)),
            Self::Variable { .. } => (1, 0),
            Self::Flag { .. } => (2, 0),
            Self::Default => (3, 0),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::Variable { name } => f.write_str(name),
            Self::Flag { name } => f.write_str(name),
        }
    }
}

/// The origin of each value that is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(BTreeMap<&'static str, Origin>);

impl Origins {
    pub(super) fn set(&mut self, key: &'static str, origin: Origin) {
        self.0.insert(key, origin);
    }

    /// Built in where nobody gave one.
    pub(super) fn of(&self, key: &str) -> Origin {
        self.0.get(key).cloned().unwrap_or(Origin::Default)
    }
}
