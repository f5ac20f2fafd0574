//! Reads a line of a file into an entry.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use super::{Body, Entry, Kind, LINEAGE_FIELD, Target};
use crate::store::error::LineProblem;
use crate::store::fields::Fields;
use crate::store::id::NativeId;

/// One line of a file, understood.
pub(in crate::store) enum Parsed {
    Header {
        /// Empty where the line names none.
        session: String,
        version: u64,
    },
    Entry(Entry),
    /// Of an unknown type, and without a place in the tree.
    Ignored,
}

/// Reads one line, without a look at any other.
///
/// # Errors
/// [`LineProblem`] where it is no object, or an entry that no store writes.
pub(in crate::store) fn parse(json: &Bytes) -> Result<Parsed, LineProblem> {
    let fields = Fields::scan(json).map_err(LineProblem::Json)?;
    let entry_type = fields.text("type").ok_or(LineProblem::Field("type"))?;
    if entry_type == "session" {
        return Ok(Parsed::Header {
            session: fields.text("id").unwrap_or_default().into_owned(),
            version: fields.whole("version").unwrap_or(1),
        });
    }
    let kind = kind(&entry_type, &fields, json)?;
    let id = match id(&fields, "id") {
        Target::Id(id) => id,
        Target::Absent | Target::Root if kind == Kind::Foreign => return Ok(Parsed::Ignored),
        Target::Absent | Target::Root => return Err(LineProblem::Field("id")),
    };
    let parent = match id_or_problem(&fields, "parentId")? {
        Target::Id(parent) => Some(parent),
        Target::Root => None,
        Target::Absent => return Err(LineProblem::Field("parentId")),
    };
    let entry_id = match id_or_problem(&fields, LINEAGE_FIELD)? {
        Target::Id(lineage) => lineage.lineage(),
        Target::Absent | Target::Root => id.lineage(),
    };
    Ok(Parsed::Entry(Entry(Arc::new(Body {
        json: json.clone(),
        entry_type: entry_type.into(),
        id,
        entry_id,
        parent,
        timestamp_ms: millis(&fields),
        side: fields.text("appendMode").as_deref() == Some("side"),
        kind,
    }))))
}

fn kind(entry_type: &str, fields: &Fields<'_>, json: &Bytes) -> Result<Kind, LineProblem> {
    Ok(match entry_type {
        "message" => message(fields, json)?,
        "custom_message" => Kind::CustomMessage {
            excluded: fields.is_true("excludeFromContext"),
        },
        "branch_summary" => Kind::BranchSummary {
            from: reference(fields, "fromId"),
        },
        "compaction" if fields.text("summary").is_none() => {
            return Err(LineProblem::Field("summary"));
        }
        "compaction" => Kind::Compaction {
            first_kept: reference(fields, "firstKeptEntryId"),
        },
        "reset" => Kind::Reset {
            first_kept: reference(fields, "firstKeptEntryId"),
        },
        "label" => Kind::Label {
            target: reference(fields, "targetId"),
        },
        "leaf" => leaf(fields)?,
        "custom" | "thinking_level_change" | "model_change" | "session_info" => Kind::Silent,
        _ => Kind::Foreign,
    })
}

fn leaf(fields: &Fields<'_>) -> Result<Kind, LineProblem> {
    let target = id_or_problem(fields, "targetId")?;
    if target == Target::Absent {
        return Err(LineProblem::Field("targetId"));
    }
    let append = id_or_problem(fields, "appendParentId")?;
    Ok(Kind::Leaf { target, append })
}

fn message(fields: &Fields<'_>, json: &Bytes) -> Result<Kind, LineProblem> {
    let span = fields
        .span("message")
        .ok_or(LineProblem::Field("message"))?;
    // A slice of the line: the payload keeps its bytes and is not copied.
    let payload = json.slice(span);
    let body = Fields::scan(&payload).map_err(|_| LineProblem::Field("message"))?;
    let excluded = body.is_true("excludeFromContext");
    Ok(Kind::Message { payload, excluded })
}

/// An id where the field holds one, a root where it holds null; a field of any other kind reads as
/// absent.
fn id(fields: &Fields<'_>, key: &str) -> Target {
    match fields.raw(key) {
        Some(b"null") => Target::Root,
        Some(_) | None => fields
            .text(key)
            .and_then(|text| NativeId::new(Cow::into_owned(text)).ok())
            .map_or(Target::Absent, Target::Id),
    }
}

fn id_or_problem(fields: &Fields<'_>, key: &'static str) -> Result<Target, LineProblem> {
    let target = id(fields, key);
    if target == Target::Absent && fields.raw(key).is_some() {
        return Err(LineProblem::Field(key));
    }
    Ok(target)
}

fn reference(fields: &Fields<'_>, key: &str) -> Option<NativeId> {
    match id(fields, key) {
        Target::Id(id) => Some(id),
        Target::Absent | Target::Root => None,
    }
}

/// Milliseconds since the Unix epoch, of a text as hosts write it or of a whole number.
fn millis(fields: &Fields<'_>) -> Option<i64> {
    let Some(text) = fields.text("timestamp") else {
        return fields.whole("timestamp")?.try_into().ok();
    };
    let time = humantime::parse_rfc3339(&text).ok()?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(json: &'static str) -> Entry {
        match parse(&Bytes::from_static(json.as_bytes())) {
            Ok(Parsed::Entry(entry)) => entry,
            Ok(Parsed::Header { .. } | Parsed::Ignored) => panic!("not an entry: {json}"),
            Err(problem) => panic!("{problem}: {json}"),
        }
    }

    fn problem(json: &'static str) -> Option<LineProblem> {
        parse(&Bytes::from_static(json.as_bytes())).err()
    }

    #[test]
    fn an_entry_is_its_envelope_and_the_bytes_of_its_payload() {
        let entry = entry(
            r#"{"type":"message","id":"n2","lineageId":"n1","parentId":null,"timestamp":"2026-11-30T14:04:10.469Z","appendMode":"side","message":{"role":"x","n":1e400,"excludeFromContext":true}}"#,
        );
        assert_eq!(entry.id().as_str(), "n2");
        assert_eq!(entry.entry_id().as_str(), "n1");
        assert_eq!(entry.timestamp_ms(), Some(1_796_047_450_469));
        assert!(entry.is_side() && entry.is_canonical());
        let payload = r#"{"role":"x","n":1e400,"excludeFromContext":true}"#;
        assert_eq!(entry.payload().map(AsRef::as_ref), Some(payload.as_bytes()));
        assert!(matches!(entry.kind(), Kind::Message { excluded: true, .. }));
    }

    #[test]
    fn a_lineage_begins_with_the_entry_itself() {
        let entry = entry(r#"{"type":"custom","id":"n1","parentId":null}"#);
        assert_eq!(entry.entry_id().as_str(), "n1");
    }

    #[test]
    fn an_unknown_type_keeps_its_place_where_it_has_one() {
        assert_eq!(
            entry(r#"{"type":"x","id":"n1","parentId":null}"#).kind(),
            &Kind::Foreign
        );
        let outside = parse(&Bytes::from_static(br#"{"type":"x"}"#));
        assert!(matches!(outside, Ok(Parsed::Ignored)));
    }

    #[test]
    fn what_no_store_writes_is_named() {
        let cases = [
            (r#"{"id":"a","parentId":null}"#, "type"),
            (r#"{"type":"custom","parentId":null}"#, "id"),
            (r#"{"type":"custom","id":" ","parentId":null}"#, "id"),
            (r#"{"type":"custom","id":"a"}"#, "parentId"),
            (r#"{"type":"custom","id":"a","parentId":7}"#, "parentId"),
            (
                r#"{"type":"message","id":"a","parentId":null,"message":[]}"#,
                "message",
            ),
            (
                r#"{"type":"compaction","id":"a","parentId":null}"#,
                "summary",
            ),
            (r#"{"type":"leaf","id":"a","parentId":null}"#, "targetId"),
        ];
        for (json, field) in cases {
            assert_eq!(problem(json), Some(LineProblem::Field(field)), "{json}");
        }
    }
}
