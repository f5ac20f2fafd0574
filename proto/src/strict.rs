//! The walk of a strict engine over a request: names everything that this build does not know,
//! nested messages included, before anything is decoded (R5.3, R5.6).
//!
//! Decoding drops unknown fields in silence, so the walk reads the raw bytes against the tables of
//! [`schema`]. It reads keys and lengths by prost's own functions: what is malformed
//! for the one is malformed for the other. Values are skipped, whatever their size.

mod findings;

use std::fmt;

use contextwire_engine::Hook;
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::schema::{self, Field, Kind, Message};

pub use findings::{Fault, Finding, Findings};

/// Finds what an engine of this protocol minor does not know of a request: of the whole message of
/// a unary hook, of one frame of a streaming one.
///
/// A known field that is written as another type is found too, since a decoder cannot read it.
///
/// # Errors
/// When the bytes are no message at all, or groups are nested deeper than 100.
pub fn unknown_fields(hook: Hook, minor: u32, request: &[u8]) -> Result<Findings, DecodeError> {
    let method = schema::method(hook);
    let place = if std::ptr::eq(method.request, method.root) {
        Place::Root
    } else {
        Place::Frame
    };
    let mut walk = Walk {
        minor,
        findings: Findings::default(),
    };
    walk.message(method.request, request, &place)?;
    Ok(walk.findings)
}

/// Where in a request a message is.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// Paths begin here.
    Root,
    /// A frame of a stream: paths begin at its `start`, or at the frame.
    Frame,
    Inside {
        outer: &'a Place<'a>,
        name: &'static str,
        /// In a list.
        index: Option<usize>,
    },
}

impl<'a> Place<'a> {
    fn inside(&'a self, field: &Field, index: Option<usize>) -> Place<'a> {
        if matches!(self, Self::Frame) && field.name == "start" {
            return Self::Root;
        }
        Self::Inside {
            outer: self,
            name: field.name,
            index,
        }
    }

    /// Path of a field here.
    fn of(&self, field: impl fmt::Display) -> String {
        match self {
            Self::Root | Self::Frame => field.to_string(),
            Self::Inside { .. } => format!("{self}.{field}"),
        }
    }

    /// Path of an unknown field here. An unknown frame is told from one of the `start`.
    fn of_number(&self, number: u32) -> String {
        match self {
            Self::Frame => format!("frame.#{number}"),
            Self::Root | Self::Inside { .. } => self.of(format_args!("#{number}")),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Inside { outer, name, index } = self else {
            return Ok(());
        };
        f.write_str(&outer.of(name))?;
        match index {
            Some(index) => write!(f, "[{index}]"),
            None => Ok(()),
        }
    }
}

struct Walk {
    minor: u32,
    findings: Findings,
}

impl Walk {
    /// As deep as messages are nested, which the contract bounds: none is inside itself.
    fn message(
        &mut self,
        message: &'static Message,
        mut bytes: &[u8],
        place: &Place<'_>,
    ) -> Result<(), DecodeError> {
        let mut lengths = Lengths::default();
        while !bytes.is_empty() {
            let (number, wire, rest) = key(bytes)?;
            let known = message.field(number);
            let known = known.filter(|field| field.since <= self.minor);
            match known {
                Some(field) if field.wire == wire => {
                    let (value, rest) = value(wire, rest)?;
                    bytes = rest;
                    if let Kind::Message(inner) | Kind::Map(inner) = field.kind {
                        let index = field.repeated.then(|| lengths.next(number));
                        self.message(inner, value, &place.inside(field, index))?;
                    }
                }
                Some(_) | None => {
                    bytes = skip(number, wire, rest)?;
                    self.other(message, (number, wire), known, place);
                }
            }
        }
        Ok(())
    }

    /// What is not a known field written in the usual way.
    #[cold]
    fn other(
        &mut self,
        message: &'static Message,
        (number, wire): (u32, WireType),
        known: Option<&Field>,
        place: &Place<'_>,
    ) {
        let (fault, path) = match known {
            Some(field) if field.repeated && wire == WireType::LengthDelimited => return,
            Some(field) => {
                let (found, expected) = (wire, field.wire);
                let fault = Fault::WrongType { found, expected };
                (fault, Ok(field.name))
            }
            None => (Fault::Unknown, Err(number)),
        };
        self.findings.add(message, number, fault, || match path {
            Ok(name) => place.of(name),
            Err(number) => place.of_number(number),
        });
    }
}

/// How many items each list of a message has so far. Most messages have no list of messages.
#[derive(Default)]
struct Lengths(Vec<(u32, usize)>);

impl Lengths {
    /// Index of the next item.
    fn next(&mut self, list: u32) -> usize {
        let known = self.0.iter_mut().find(|(number, _)| *number == list);
        let Some((_, length)) = known else {
            self.0.push((list, 1));
            return 0;
        };
        *length += 1;
        *length - 1
    }
}

// What follows takes a slice and gives back the rest of it: a slice that prost's functions could
// change in place would live in memory, which costs the walk a fifth of its time.

/// Number and type of the next field. Nearly all keys are one byte long.
#[inline]
pub(crate) fn key(bytes: &[u8]) -> Result<(u32, WireType, &[u8]), DecodeError> {
    if let [byte @ 0x08..=0x7f, rest @ ..] = bytes {
        let wire = WireType::try_from(u64::from(byte & 7))?;
        return Ok((u32::from(byte >> 3), wire, rest));
    }
    let mut rest = bytes;
    let (number, wire) = decode_key(&mut rest)?;
    Ok((number, wire, rest))
}

/// A number, nearly always of one or two bytes.
#[inline]
fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    match bytes {
        [byte @ ..=0x7f, rest @ ..] => Ok((u64::from(*byte), rest)),
        [low, high @ ..=0x7f, rest @ ..] => {
            Ok((u64::from(low & 0x7f) | u64::from(*high) << 7, rest))
        }
        _ => {
            let mut rest = bytes;
            let number = decode_varint(&mut rest)?;
            Ok((number, rest))
        }
    }
}

/// The value of a field, which is its content where it has a length.
#[inline]
pub(crate) fn value(wire: WireType, bytes: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let (length, content) = match wire {
        WireType::LengthDelimited => varint(bytes)?,
        WireType::Varint => (0, varint(bytes)?.1),
        WireType::SixtyFourBit => (8, bytes),
        WireType::ThirtyTwoBit => (4, bytes),
        WireType::StartGroup | WireType::EndGroup => (u64::MAX, bytes),
    };
    let length = usize::try_from(length).ok();
    match length.and_then(|length| content.split_at_checked(length)) {
        Some(split) => Ok(split),
        // Says what is wrong; no field of ours is a group.
        None => Ok((&[], skip(1, wire, bytes)?)),
    }
}

/// What is behind a field of any type, groups too.
#[cold]
pub(crate) fn skip(number: u32, wire: WireType, bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let mut rest = bytes;
    skip_field(wire, number, &mut rest, DecodeContext::default())?;
    Ok(rest)
}

#[cfg(test)]
mod tests;
