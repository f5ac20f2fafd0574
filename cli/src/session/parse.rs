//! Turns one line into an entry.

use std::sync::Arc;

use bytes::Bytes;
use contextwire_client::store::derived;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::entry::{Entry, FirstKept, Header, Kind, Model, Parent};
use super::field::{self, Fields};
use super::line::{Body, Line};
use super::message::{ContextMessage, Origin};
use super::node::Node;
use super::problem::Reason;

/// A line that was understood.
pub(super) struct Parsed {
    /// The session id of a row export, which wraps each entry.
    pub(super) row_session: Option<String>,
    pub(super) record: Record,
}

pub(super) enum Record {
    Header(Header, Bytes),
    Entry(Entry, Option<Reason>),
}

/// A line that was not.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) reason: Reason,
    /// Whether it is JSON all the same, and so counts where version 1 counts lines.
    pub(super) is_json: bool,
}

/// The bytes of a line and the fields of the object that it is.
///
/// # Errors
/// [`Fault`] for a line that is no JSON object.
pub(super) fn fields(line: &Line) -> Result<(&Bytes, Fields<'_>), Fault> {
    let bytes = match &line.body {
        Body::Text(bytes) => bytes,
        Body::TooLong(bytes) => return Err(broken(Reason::TooLong { bytes: *bytes })),
    };
    let text = std::str::from_utf8(bytes).map_err(|error| match error.error_len() {
        None if !line.terminated => broken(Reason::Truncated),
        None | Some(_) => broken(Reason::InvalidUtf8 {
            valid_bytes: error.valid_up_to(),
        }),
    })?;
    let fields = Fields::parse(text).map_err(|error| not_an_object(line, text, &error))?;
    Ok((bytes, fields))
}

/// # Errors
/// [`Fault`] for a line that is no JSON object with a `type`.
pub(super) fn parse(line: &Line) -> Result<Parsed, Fault> {
    let (bytes, mut fields) = fields(line)?;
    let mut json = bytes.clone();
    let mut row_session = None;
    if fields.get("type").is_none()
        && let Some(event) = fields.get("event")
        && let Ok(inner) = Fields::parse(event.get())
    {
        row_session = fields.text("session_id");
        json = bytes.slice_ref(event.get().as_bytes());
        fields = inner;
    }
    let Some(entry_type) = fields.text("type") else {
        return Err(Fault {
            reason: Reason::MissingType,
            is_json: true,
        });
    };
    let record = if entry_type == "session" {
        Record::Header(header(&fields), json)
    } else {
        let (entry, reason) = entry(line.number, entry_type, &fields, &json);
        Record::Entry(entry, reason)
    };
    Ok(Parsed {
        row_session,
        record,
    })
}

fn broken(reason: Reason) -> Fault {
    Fault {
        reason,
        is_json: false,
    }
}

fn not_an_object(line: &Line, text: &str, error: &serde_json::Error) -> Fault {
    match error.classify() {
        // What stopped the reading of an object may be no JSON at all.
        Category::Data => match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => Fault {
                reason: Reason::NotAnObject,
                is_json: true,
            },
            Err(error) if text.trim_start().starts_with('{') && !error.is_data() => {
                not_an_object(line, text, &error)
            }
            Err(_) => broken(Reason::NotAnObject),
        },
        Category::Eof if !line.terminated => broken(Reason::Truncated),
        Category::Eof | Category::Syntax | Category::Io => {
            let said = error.to_string();
            let detail = said
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .to_owned();
            broken(Reason::NotJson {
                detail,
                column: error.column(),
            })
        }
    }
}

fn header(fields: &Fields<'_>) -> Header {
    Header {
        id: fields.text("id"),
        version: fields.whole("version").unwrap_or(1),
        cwd: fields.text("cwd"),
        timestamp_ms: fields.millis("timestamp"),
        parent_session: fields
            .text("parentSession")
            .or_else(|| fields.text("branchedFrom")),
        model: model(fields, "modelId"),
    }
}

/// The model that an object names, under the given key for its id.
pub(super) fn model(fields: &Fields<'_>, id_key: &str) -> Option<Model> {
    Some(Model {
        provider: fields.text("provider")?,
        id: fields.text(id_key)?,
    })
}

fn entry(
    line: u64,
    entry_type: String,
    fields: &Fields<'_>,
    bytes: &Bytes,
) -> (Entry, Option<Reason>) {
    let id = fields
        .text("id")
        .filter(|id| !id.trim().is_empty())
        .map(Arc::from);
    let timestamp_ms = fields.millis("timestamp");
    let origin = Origin {
        line,
        key: line,
        entry_id: id.clone(),
        timestamp_ms,
    };
    let (kind, reason) = match kind(&entry_type, fields, bytes, origin) {
        Ok(kind) => (kind, None),
        Err(field) => {
            let entry_type = entry_type.clone();
            (
                Kind::Broken,
                Some(Reason::MalformedEntry { entry_type, field }),
            )
        }
    };
    let parent = reference(fields.get("parentId"));
    let side = fields.text("appendMode").as_deref() == Some("side");
    (
        Entry {
            line,
            id,
            tag: entry_type.into(),
            timestamp_ms,
            parent,
            side,
            kind,
            json: bytes.clone(),
            size: bytes.len() as u64,
        },
        reason,
    )
}

/// What the entry is; the name of the field that is missing or of the wrong type otherwise.
fn kind(
    entry_type: &str,
    fields: &Fields<'_>,
    bytes: &Bytes,
    origin: Origin,
) -> Result<Kind, &'static str> {
    Ok(match entry_type {
        "message" => message(fields, bytes, origin).ok_or("message")?,
        "custom_message" => custom_message(fields, origin),
        "branch_summary" => branch_summary(fields, origin),
        "compaction" => compaction(fields, origin).ok_or("summary")?,
        "reset" => Kind::Reset {
            first_kept: first_kept(fields),
        },
        "leaf" => leaf(fields).ok_or("targetId")?,
        "model_change" => model(fields, "modelId").map_or(Kind::Silent, Kind::ModelChange),
        "custom" | "thinking_level_change" | "label" | "session_info" => Kind::Silent,
        _ => Kind::Foreign,
    })
}

fn message(fields: &Fields<'_>, bytes: &Bytes, origin: Origin) -> Option<Kind> {
    let payload = fields.get("message")?;
    // The line was checked as a whole.
    let body = Node::parse(payload.get(), 1).filter(Node::is_object)?;
    let role = body.text_of("role").unwrap_or_default().into_owned();
    let excluded = body.raw("excludeFromContext") == Some(b"true");
    // A slice of the line: the payload keeps the file's bytes and is not copied.
    let payload = bytes.slice_ref(payload.get().as_bytes());
    Some(Kind::Message {
        message: ContextMessage::new(origin, role, payload),
        excluded,
    })
}

fn custom_message(fields: &Fields<'_>, origin: Origin) -> Kind {
    let payload = derived::custom_message(|key| fields.raw(key), origin.timestamp_ms);
    let excluded = fields.is_true("excludeFromContext");
    Kind::Message {
        message: ContextMessage::new(origin, "custom".to_owned(), payload),
        excluded,
    }
}

fn branch_summary(fields: &Fields<'_>, origin: Origin) -> Kind {
    if fields.text("summary").is_none_or(|text| text.is_empty()) {
        return Kind::Silent;
    }
    let from_id = fields.raw("fromId");
    let payload = derived::branch_summary(|key| fields.raw(key), from_id, origin.timestamp_ms);
    let message = ContextMessage::new(origin, "branchSummary".to_owned(), payload);
    Kind::Message {
        message,
        excluded: false,
    }
}

fn compaction(fields: &Fields<'_>, origin: Origin) -> Option<Kind> {
    fields.text("summary")?;
    let payload = derived::compaction_summary(|key| fields.raw(key), origin.timestamp_ms);
    let summary = ContextMessage::new(origin, "compactionSummary".to_owned(), payload);
    Some(Kind::Compaction {
        summary,
        first_kept: first_kept(fields),
    })
}

fn leaf(fields: &Fields<'_>) -> Option<Kind> {
    let target = reference(fields.get("targetId"));
    match target {
        Parent::Root | Parent::Id(_) => Some(Kind::Leaf {
            target,
            append: reference(fields.get("appendParentId")),
        }),
        Parent::Absent | Parent::Malformed => None,
    }
}

fn first_kept(fields: &Fields<'_>) -> FirstKept {
    if let Some(id) = fields.text("firstKeptEntryId").filter(|id| !id.is_empty()) {
        return FirstKept::Id(id);
    }
    fields
        .whole("firstKeptEntryIndex")
        .map_or(FirstKept::Nothing, FirstKept::Position)
}

fn reference(value: Option<&RawValue>) -> Parent {
    let Some(value) = value else {
        return Parent::Absent;
    };
    if value.get() == "null" {
        return Parent::Root;
    }
    match field::text(value) {
        Some(id) if !id.trim().is_empty() => Parent::Id(id.into_owned()),
        Some(_) | None => Parent::Malformed,
    }
}

#[cfg(test)]
mod tests;
