//! Wire types to and from domain types, one file a concern.
//!
//! Every wire message is taken apart field by field, so that a new field breaks the build here and
//! nowhere else. Payloads move; they are never copied or written again. A number that an enum does
//! not know becomes what its comment says (R4.3).

mod admin;
mod after_turn;
mod assemble;
mod bootstrap;
mod call;
mod commit_turn;
mod compact;
mod describe;
mod dispose;
mod frame;
mod host_call;
mod ingest;
mod maintain;
mod message;
mod settings;
mod subagent;
mod transcript;

use std::fmt;
use std::time::Duration;

use tonic::Status;

use crate::limits::ID_BYTES;
use crate::reason::Reason;
use crate::status::Refusal;

pub use admin::{
    ExplainReader, Inspection, PlanReader, explained, inspected, listed, planned, session,
};
pub use after_turn::{AfterTurnResult, AfterTurnStart};
pub use assemble::{AssembleResult, AssembleStart};
pub use bootstrap::{BootstrapResult, BootstrapStart};
pub use commit_turn::{CommitTurnRequest, CommitTurnResponse};
pub use compact::{CompactResult, CompactStart};
pub use dispose::{DisposeRequest, DisposeResponse};
pub use ingest::{IngestBatchRequest, IngestBatchResponse, IngestRequest, IngestResponse};
pub use maintain::{MaintainResult, MaintainStart};
pub use subagent::{
    EndSubagentRequest, EndSubagentResponse, PrepareSubagentSpawnRequest,
    PrepareSubagentSpawnResponse, ResolveSubagentSpawnRequest, ResolveSubagentSpawnResponse,
};

/// A wire message that means nothing: which field, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    field: String,
    problem: Problem,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is required and absent.
    #[error("is missing")]
    Missing,
    /// It must not be empty.
    #[error("is empty")]
    Empty,
    /// A text is too long.
    #[error("has {bytes} bytes, the limit is {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        limit: usize,
    },
    /// A list is too long.
    #[error("has {count} items, the limit is {limit}")]
    TooMany {
        /// Its length.
        count: usize,
        /// The longest allowed.
        limit: usize,
    },
    /// A digest is not 32 bytes long.
    #[error("has {bytes} bytes, a digest has 32")]
    NotADigest {
        /// Its length.
        bytes: usize,
    },
    /// It is not a UUID.
    #[error("is not a uuid")]
    NotAUuid,
    /// An enum has a number that cannot be read.
    #[error("has the unknown number {0}")]
    UnknownNumber(i32),
    /// A number is too large, or a range ends beyond what can be counted.
    #[error("is out of range")]
    OutOfRange,
    /// JSON of this contract is nested too deep.
    #[error("is nested deeper than 128")]
    TooDeep,
    /// It is set although another field rules it out.
    #[error("must not be set here")]
    NotAllowed,
}

impl Problem {
    /// The refusal with what varies in the problem's text (R6.1).
    fn told(self, refusal: Refusal) -> Refusal {
        match self {
            Self::TooLong { bytes, limit } => refusal.with("bytes", &bytes).with("limit", &limit),
            Self::TooMany { count, limit } => refusal.with("count", &count).with("limit", &limit),
            Self::NotADigest { bytes } => refusal.with("bytes", &bytes),
            Self::UnknownNumber(number) => refusal.with("number", &number),
            Self::Missing
            | Self::Empty
            | Self::NotAUuid
            | Self::OutOfRange
            | Self::TooDeep
            | Self::NotAllowed => refusal,
        }
    }
}

impl ConvertError {
    /// A problem with a field.
    pub fn new(field: impl Into<String>, problem: Problem) -> Self {
        Self {
            field: field.into(),
            problem,
        }
    }

    /// Path of the field in proto names, from the message that was converted.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong with it.
    pub fn problem(&self) -> Problem {
        self.problem
    }

    /// The refusal of a request that does not convert: [`Reason::InvalidRequest`] naming
    /// the field. Only for requests; a response that does not convert is the peer's
    /// contract violation.
    pub fn into_refusal(self) -> Refusal {
        let refusal =
            Refusal::new(Reason::InvalidRequest, self.to_string()).with("field", &self.field);
        self.problem
            .told(refusal)
            .violation(self.field, self.problem.to_string())
    }

    /// [`ConvertError::into_refusal`] as a status.
    pub fn into_status(self) -> Status {
        self.into_refusal().into_status()
    }

    fn inside(mut self, outer: &str) -> Self {
        // `[3]` attaches to the list's name without a dot.
        let dot = if self.field.starts_with('[') || self.field.is_empty() {
            ""
        } else {
            "."
        };
        self.field = format!("{outer}{dot}{}", self.field);
        self
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for ConvertError {}

/// Names the field that a problem is in.
trait At<T> {
    fn at(self, field: &str) -> Result<T, ConvertError>;
}

impl<T> At<T> for Result<T, ConvertError> {
    fn at(self, field: &str) -> Result<T, ConvertError> {
        self.map_err(|error| error.inside(field))
    }
}

impl<T> At<T> for Result<T, Problem> {
    fn at(self, field: &str) -> Result<T, ConvertError> {
        self.map_err(|problem| ConvertError::new(field, problem))
    }
}

/// Converts a message, putting the field's name in front of what goes wrong inside.
fn within<W, T>(wire: W, field: &str) -> Result<T, ConvertError>
where
    T: TryFrom<W, Error = ConvertError>,
{
    T::try_from(wire).at(field)
}

/// Converts a message that must be there.
fn required<W, T>(wire: Option<W>, field: &str) -> Result<T, ConvertError>
where
    T: TryFrom<W, Error = ConvertError>,
{
    within(wire.ok_or(Problem::Missing).at(field)?, field)
}

/// Converts a message that may be absent.
fn optional<W, T>(wire: Option<W>, field: &str) -> Result<Option<T>, ConvertError>
where
    T: TryFrom<W, Error = ConvertError>,
{
    wire.map(|wire| within(wire, field)).transpose()
}

/// Converts a list, naming the index of what goes wrong.
fn each<W, T, C>(wire: Vec<W>, field: &str) -> Result<C, ConvertError>
where
    T: TryFrom<W, Error = ConvertError>,
    C: FromIterator<T>,
{
    let items = wire.into_iter().enumerate();
    items
        .map(|(index, item)| within(item, &format!("{field}[{index}]")))
        .collect()
}

/// The meaning of an enum whose numbers all mean something: zero and unknown ones too.
fn known<W: TryFrom<i32>>(wire: i32) -> Option<W> {
    W::try_from(wire).ok()
}

/// A text that names something for ever: not empty, and no longer than an id.
fn identifier(text: String) -> Result<String, Problem> {
    match text.len() {
        0 => Err(Problem::Empty),
        1..=ID_BYTES => Ok(text),
        bytes => Err(Problem::TooLong {
            bytes,
            limit: ID_BYTES,
        }),
    }
}

/// Whole milliseconds.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Checks the nesting of JSON that this contract defines (PROTOCOL 8).
fn shallow(json: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > crate::limits::JSON_DEPTH {
            return Err(Problem::TooDeep);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
