//! A request without some of its fields, and what of it must not be lost: how a newer host speaks to
//! an older or stricter engine (R5.2 to R5.4).
//!
//! Both read the raw bytes against the tables of [`schema`], as the walk of [`strict`](crate::strict)
//! does, so that a field which is added to the contract is left out for old engines without a line
//! of code. Nothing that stays is written anew but the lengths of what is around it.

use std::collections::BTreeMap;

use contextwire_engine::Hook;
use prost::DecodeError;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::schema::{self, RequestField};
use crate::strict::{key, skip, value};

/// The path of the list of what must be understood, in every request about a session.
const MUST_UNDERSTAND: &str = "call.must_understand";

/// Fields that are left out of the requests of one hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omission(BTreeMap<u32, Omitted>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Omitted {
    Whole,
    Inside(Omission),
}

impl Omission {
    /// The fields of these paths and what is inside of them. A path that the hook does not have adds
    /// nothing.
    pub fn of<'a>(hook: Hook, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut root = Self::default();
        for path in paths {
            if let Some(numbers) = schema::numbers(hook, path) {
                root.add(&numbers);
            }
        }
        match schema::start(hook) {
            Some(start) if !root.is_empty() => {
                Self(BTreeMap::from([(start, Omitted::Inside(root))]))
            }
            Some(_) | None => root,
        }
    }

    /// Whether everything stays.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The request of a unary hook, or the frame of a streaming one, without these fields. Frames
    /// that are no start stay as they are.
    ///
    /// # Errors
    /// When the bytes are no message.
    pub fn apply(&self, request: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut kept = Vec::with_capacity(request.len());
        self.copy(request, &mut kept)?;
        Ok(kept)
    }

    fn add(&mut self, path: &[u32]) {
        match path {
            [] => {}
            [number] => {
                self.0.insert(*number, Omitted::Whole);
            }
            [number, inside @ ..] => {
                let inner = self.0.entry(*number);
                match inner.or_insert_with(|| Omitted::Inside(Self::default())) {
                    Omitted::Whole => {}
                    Omitted::Inside(omission) => omission.add(inside),
                }
            }
        }
    }

    fn copy(&self, mut bytes: &[u8], kept: &mut Vec<u8>) -> Result<(), DecodeError> {
        while !bytes.is_empty() {
            let (number, wire, content) = key(bytes)?;
            let rest = skip(number, wire, content)?;
            match self.0.get(&number) {
                Some(Omitted::Whole) => {}
                Some(Omitted::Inside(omission)) if wire == WireType::LengthDelimited => {
                    let (message, _) = value(wire, content)?;
                    let mut inner = Vec::with_capacity(message.len());
                    omission.copy(message, &mut inner)?;
                    wrap(number, &inner, kept);
                }
                Some(Omitted::Inside(_)) | None => {
                    let field = bytes.split_at_checked(bytes.len() - rest.len());
                    kept.extend_from_slice(field.map_or(&[], |(field, _)| field));
                }
            }
            bytes = rest;
        }
        Ok(())
    }
}

/// The critical fields newer than their method that a host can set in the requests of a hook: those
/// that the host names when it sets them (R5.4).
pub fn critical_fields(hook: Hook) -> Vec<RequestField> {
    let since = schema::method_since(hook);
    let mut fields = schema::fields(hook);
    fields.retain(|field| field.critical && field.since > since);
    fields
}

/// Which of these fields the request, or the frame of one, sets; a list is set when it holds
/// something.
///
/// # Errors
/// When the bytes are no message.
pub fn set_fields<'a>(
    hook: Hook,
    fields: &'a [RequestField],
    request: &[u8],
) -> Result<Vec<&'a RequestField>, DecodeError> {
    let mut set = Vec::new();
    for field in fields {
        let Some(path) = schema::numbers(hook, &field.path) else {
            continue;
        };
        let path: Vec<_> = schema::start(hook).into_iter().chain(path).collect();
        if holds(&path, request)? {
            set.push(field);
        }
    }
    Ok(set)
}

/// The request, or the start of one, naming what must be understood besides what it names already.
#[must_use]
pub fn naming(hook: Hook, names: &[&str], mut request: Vec<u8>) -> Vec<u8> {
    let Some(path) = schema::numbers(hook, MUST_UNDERSTAND) else {
        return request;
    };
    let path: Vec<_> = schema::start(hook).into_iter().chain(path).collect();
    for name in names {
        let mut field = name.as_bytes().to_vec();
        for number in path.iter().rev() {
            let mut outer = Vec::with_capacity(field.len() + 4);
            wrap(*number, &field, &mut outer);
            field = outer;
        }
        // A message that occurs twice is read as one, its lists one after the other.
        request.extend(field);
    }
    request
}

fn holds(path: &[u32], mut bytes: &[u8]) -> Result<bool, DecodeError> {
    let Some((first, inside)) = path.split_first() else {
        return Ok(true);
    };
    while !bytes.is_empty() {
        let (number, wire, content) = key(bytes)?;
        if number == *first {
            let found = match wire {
                WireType::LengthDelimited => holds(inside, value(wire, content)?.0)?,
                WireType::Varint
                | WireType::SixtyFourBit
                | WireType::ThirtyTwoBit
                | WireType::StartGroup
                | WireType::EndGroup => inside.is_empty(),
            };
            if found {
                return Ok(true);
            }
        }
        bytes = skip(number, wire, content)?;
    }
    Ok(false)
}

fn wrap(number: u32, content: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests;
