//! Pages of OpenClaw's transcript reader, saved as they came: `{"kind":"page","entries":[…]}`, one
//! or more in a file, each of them often over many lines.

use std::io::{BufRead, Read};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::Session;
use super::entry::{Entry, Kind, Parent};
use super::field::{Fields, elements};
use super::format::Format;
use super::kind::FileKind;
use super::message::{ContextMessage, Origin};
use super::problem::{Outcome, Reason, Source};
use super::read_error::ReadError;
use super::reader::Reader;

/// Most that is read of a file of pages, in bytes: such a file is in memory as a whole.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Whether a file begins as a page does.
pub(super) fn looks_like_one(sample: &[u8]) -> bool {
    let start = String::from_utf8_lossy(sample.get(..200).unwrap_or(sample));
    let start: String = start.split_whitespace().collect();
    start
        .trim_start_matches('\u{feff}')
        .starts_with(r#"{"kind":"page","#)
}

/// Reads the messages of all pages in order.
///
/// # Errors
/// [`ReadError::Io`], [`ReadError::OtherKind`] where it is no JSON after all.
pub(super) fn read(input: impl BufRead) -> Result<Session, ReadError> {
    let mut text = Vec::new();
    let mut input = input.take(MAX_BYTES);
    input.read_to_end(&mut text).map_err(ReadError::Io)?;
    let text = Bytes::from(text);
    let Ok(json) = std::str::from_utf8(&text) else {
        let kind = FileKind::Binary;
        return Err(ReadError::OtherKind { kind });
    };
    let mut reader = Reader::of_numbered(Format::Pages, Source::File);
    let mut place = Place {
        offset: 0,
        line: 1,
        key: 0,
    };
    let mut pages = serde_json::Deserializer::from_str(json).into_iter::<&RawValue>();
    for page in &mut pages {
        let Ok(page) = page else {
            break;
        };
        let entries = Fields::parse(page.get()).ok();
        let entries = entries.and_then(|page| elements(page.get("entries")?));
        for entry in entries.into_iter().flatten() {
            let json = text.slice_ref(entry.get().as_bytes());
            place.advance(&text, &json);
            match read_entry(&place, &json) {
                Ok(entry) => reader.entry(entry, None),
                Err(reason) => reader.report(place.line, reason, Outcome::Skipped),
            }
        }
    }
    let rest = json.get(pages.byte_offset()..).unwrap_or_default();
    if !rest.trim().is_empty() || input.limit() == 0 {
        let line = json.get(..pages.byte_offset()).unwrap_or_default();
        let line = 1 + line.matches('\n').count() as u64;
        reader.report(line, Reason::Truncated, Outcome::Skipped);
    }
    if !reader.is_recognised() {
        return Err(ReadError::OtherKind {
            kind: FileKind::guess(&text),
        });
    }
    Ok(reader.finish())
}

/// Where an entry begins, counted on from the one before it.
struct Place {
    offset: usize,
    line: u64,
    /// How many entries there were up to this one.
    key: u64,
}

impl Place {
    fn advance(&mut self, text: &Bytes, entry: &Bytes) {
        let start = entry.as_ptr().addr().saturating_sub(text.as_ptr().addr());
        let between = text.get(self.offset..start).unwrap_or_default();
        self.line += between.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.offset = start;
        self.key += 1;
    }
}

/// The message as its host stores it, in a line. Line feeds are the page's own layout: no JSON text
/// has one inside of a string.
fn on_one_line(payload: Bytes) -> Bytes {
    if !payload.contains(&b'\n') {
        return payload;
    }
    let line: Vec<u8> = payload
        .iter()
        .map(|byte| if *byte == b'\n' { b' ' } else { *byte })
        .collect();
    line.into()
}

/// A page holds no entries but messages: each of them goes on after the one before it, whatever it
/// names as its parent.
fn read_entry(place: &Place, json: &Bytes) -> Result<Entry, Reason> {
    let malformed = |field| Reason::MalformedEntry {
        entry_type: "page".to_owned(),
        field,
    };
    let text = std::str::from_utf8(json).unwrap_or_default();
    let fields = Fields::parse(text).map_err(|_| Reason::NotAnObject)?;
    let payload = fields.get("message").ok_or_else(|| malformed("message"))?;
    let body = Fields::parse(payload.get()).map_err(|_| malformed("message"))?;
    let id: Option<Arc<str>> = fields.text("entryId").map(Arc::from);
    let timestamp_ms = fields.millis("createdAt");
    let origin = Origin {
        line: place.line,
        key: place.key,
        entry_id: id.clone(),
        timestamp_ms,
    };
    let role = body.text("role").unwrap_or_default();
    let payload = on_one_line(json.slice_ref(payload.get().as_bytes()));
    Ok(Entry {
        line: place.line,
        id,
        tag: Arc::from("message"),
        timestamp_ms,
        parent: Parent::Absent,
        side: false,
        kind: Kind::Message {
            message: ContextMessage::new(origin, role, payload),
            excluded: body.is_true("excludeFromContext"),
        },
        json: json.clone(),
        size: json.len() as u64,
    })
}
