//! What a walk found, and the refusal that names it.

use std::collections::HashSet;
use std::fmt;

use prost::encoding::WireType;

use crate::reason::Reason;
use crate::schema::Message;
use crate::status::Refusal;

/// Findings that are kept; the details of a status hold fewer.
const KEPT: usize = 160;

/// A field that a strict engine refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path from the request of a unary hook, from the `start` or the frame of a streaming one, in
    /// proto names and with indexes; an unknown leaf is its number: `call.session.#7`,
    /// `transcript.segments[3].insert.#99`. A frame of an unknown kind is `frame.#99`.
    pub path: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a field of a raw request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The number is unknown.
    Unknown,
    /// The number is known, and its value is written as another type.
    WrongType {
        /// How it is written.
        found: WireType,
        /// How it should be.
        expected: WireType,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown field"),
            Self::WrongType { found, expected } => {
                write!(f, "written as {found:?}, not as {expected:?}")
            }
        }
    }
}

/// Everything that a walk found.
///
/// Kept are the first 160 different fields and the first 160 further places of the same fields; the
/// rest is counted.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Different fields: they come first, so that a host learns all of them from one answer even
    /// where the same field sits in each of a thousand messages.
    fields: Vec<Finding>,
    places: Vec<Finding>,
    count: usize,
    /// The fields by their message's address and their number.
    seen: HashSet<(usize, u32)>,
}

impl Findings {
    pub(super) fn add(
        &mut self,
        message: &'static Message,
        number: u32,
        fault: Fault,
        path: impl FnOnce() -> String,
    ) {
        self.count += 1;
        let list = if self.fields.len() < KEPT
            && self
                .seen
                .insert((std::ptr::from_ref(message).addr(), number))
        {
            &mut self.fields
        } else {
            &mut self.places
        };
        if list.len() < KEPT {
            let path = path();
            list.push(Finding { path, fault });
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the request is known throughout.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Those that were kept: different fields first, then further places of the same ones.
    pub fn kept(&self) -> impl Iterator<Item = &Finding> {
        self.fields.iter().chain(&self.places)
    }

    /// The refusal: [`Reason::UnknownField`] with a violation for each, as far as they go into the
    /// details.
    pub fn into_refusal(self) -> Refusal {
        let first = self.kept().next().map_or("", |finding| &finding.path);
        let text = match self.count {
            0 | 1 => format!("this engine does not know the field {first}"),
            count => format!("this engine does not know {count} fields, {first} among them"),
        };
        let refusal = Refusal::new(Reason::UnknownField, text)
            .with("count", &self.count)
            .with("field", first);
        let kept = self.fields.len() + self.places.len();
        self.kept()
            .fold(refusal, |refusal, Finding { path, fault }| {
                refusal.violation(path, fault.to_string())
            })
            .omitting(self.count - kept)
    }
}
