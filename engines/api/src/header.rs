//! The typed header of a message, derived from its payload (R2.2).
//!
//! Rules, the same in every language. Only the payload's top level and the blocks of `content` are
//! read. Duplicate keys: the last one wins, also where its value is of another kind. Strings are
//! decoded with U+FFFD for what is not text. A payload that breaks off or is malformed gives what
//! stood before the break.
//!
//! - `role`: a string, else empty.
//! - `timestamp_ms`: `timestamp` as a number (a fraction is cut off, beyond 64 bits is none) or as
//!   ISO 8601 text `YYYY-MM-DD[Thh:mm[:ss[.fraction]][Z|±hh:mm]]`, UTC where it names no offset.
//! - `tool_call_ids`, of assistant messages: `id` of the blocks of type `toolCall`, `toolUse`,
//!   `functionCall` or `tool_use` in `content`, then `tool_calls[].id` where no block has that id.
//!   Empty ids are none.
//! - `tool_result_for`: the first non-empty string of `toolCallId`, `toolUseId`, `tool_call_id`,
//!   `tool_use_id`; not of user, assistant, system and developer messages, which answer no call.

mod timestamp;

use crate::json::{Cursor, JsonError, Kind, Text};
use crate::message::Header;

const RESULT_KEYS: [&str; 4] = ["toolCallId", "toolUseId", "tool_call_id", "tool_use_id"];
const CALL_TYPES: [&str; 4] = ["toolCall", "toolUse", "functionCall", "tool_use"];
const ROLES_WITHOUT_RESULT: [&str; 4] = ["user", "assistant", "system", "developer"];

/// Derives the header of any bytes; what is not there stays at its default.
pub fn derive(payload: &[u8]) -> Header {
    let mut found = Found::default();
    // An error ends the scan and nothing else: what came before it counts.
    let _ = found.read(&mut Cursor::new(payload));
    found.into_header()
}

/// Whether blocks of this type are tool calls.
pub fn is_call_type(block_type: &str) -> bool {
    CALL_TYPES.contains(&block_type)
}

#[derive(Default)]
struct Found {
    role: String,
    timestamp_ms: Option<i64>,
    block_calls: Vec<String>,
    legacy_calls: Vec<String>,
    results: [Option<String>; RESULT_KEYS.len()],
}

impl Found {
    fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            if key.is("role") {
                self.role = String::new();
                self.role = string(cursor)?.unwrap_or_default();
            } else if key.is("timestamp") {
                self.timestamp_ms = None;
                self.timestamp_ms = timestamp(cursor)?;
            } else if key.is("content") {
                read_calls(cursor, &mut self.block_calls, Some(&CALL_TYPES))?;
            } else if key.is("tool_calls") {
                read_calls(cursor, &mut self.legacy_calls, None)?;
            } else if let Some(slot) = self.result_slot(&key) {
                *slot = None;
                *slot = string(cursor)?;
            } else {
                cursor.skip_value()?;
            }
        }
        Ok(())
    }

    fn result_slot(&mut self, key: &Text<'_>) -> Option<&mut Option<String>> {
        let at = RESULT_KEYS.iter().position(|name| key.is(name))?;
        self.results.get_mut(at)
    }

    fn into_header(self) -> Header {
        let Self {
            role,
            timestamp_ms,
            mut block_calls,
            legacy_calls,
            results,
        } = self;
        let mut tool_call_ids = Vec::new();
        if role == "assistant" {
            let known = block_calls.len();
            for id in legacy_calls {
                if !block_calls.iter().take(known).any(|block| *block == id) {
                    block_calls.push(id);
                }
            }
            tool_call_ids = block_calls;
        }
        let answers = !ROLES_WITHOUT_RESULT.contains(&role.as_str());
        let tool_result_for = results
            .into_iter()
            .flatten()
            .find(|id| !id.is_empty())
            .filter(|_| answers);
        Header {
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
        }
    }
}

/// Reads an array of blocks for the ids of those of a type in `types`, or of any type.
fn read_calls(
    cursor: &mut Cursor<'_>,
    ids: &mut Vec<String>,
    types: Option<&[&str]>,
) -> Result<(), JsonError> {
    ids.clear();
    if cursor.kind()? != Kind::Array {
        return cursor.skip_value().map(drop);
    }
    cursor.begin_array()?;
    while cursor.next_element()? {
        if cursor.kind()? != Kind::Object {
            cursor.skip_value()?;
            continue;
        }
        let mut block = Block {
            id: None,
            matches: types.is_none(),
        };
        let outcome = block.read(cursor, types);
        ids.extend(block.id.filter(|id| block.matches && !id.is_empty()));
        outcome?;
    }
    Ok(())
}

struct Block {
    id: Option<String>,
    matches: bool,
}

impl Block {
    fn read(&mut self, cursor: &mut Cursor<'_>, types: Option<&[&str]>) -> Result<(), JsonError> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            match types {
                Some(types) if key.is("type") => {
                    self.matches = false;
                    self.matches = string(cursor)?.is_some_and(|name| types.contains(&&*name));
                }
                _ if key.is("id") => {
                    self.id = None;
                    self.id = string(cursor)?;
                }
                _ => {
                    cursor.skip_value()?;
                }
            }
        }
        Ok(())
    }
}

/// The next value where it is a string; any other is read over.
fn string(cursor: &mut Cursor<'_>) -> Result<Option<String>, JsonError> {
    if cursor.kind()? == Kind::String {
        return Ok(Some(cursor.text()?.decode().into_owned()));
    }
    cursor.skip_value()?;
    Ok(None)
}

fn timestamp(cursor: &mut Cursor<'_>) -> Result<Option<i64>, JsonError> {
    match cursor.kind()? {
        Kind::Number => Ok(timestamp::from_number(cursor.number()?)),
        Kind::String => Ok(timestamp::from_iso(&cursor.text()?.decode())),
        Kind::Object | Kind::Array | Kind::Bool | Kind::Null => cursor.skip_value().map(|_| None),
    }
}

#[cfg(test)]
mod tests;
