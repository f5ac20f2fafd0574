//! Entries for records of hosts that have none.

use bytes::Bytes;
use contextwire_engine::json::ObjectWriter;

use super::super::entry::{Entry, Kind, Model};
use super::super::field::Fields;

/// The envelope of an entry, its ids as JSON.
pub(super) struct Built<'a> {
    pub(super) id: &'a str,
    pub(super) parent: &'a str,
    pub(super) timestamp: &'a str,
}

impl Built<'_> {
    pub(super) fn entry(&self, entry: &Entry) -> Bytes {
        match &entry.kind {
            Kind::Message { message, .. } if message.role() == "custom" => {
                self.custom_message(message.payload())
            }
            Kind::Message { message, .. } => self
                .begin("message")
                .json("message", message.payload())
                .finish(),
            Kind::Replacement { .. } => self.compaction(&entry.json),
            Kind::ModelChange(Model { provider, id }) => self
                .begin("model_change")
                .text("provider", provider)
                .text("modelId", id)
                .json("data", &entry.json)
                .finish(),
            Kind::Compaction { .. }
            | Kind::Reset { .. }
            | Kind::Leaf { .. }
            | Kind::Silent
            | Kind::Foreign
            | Kind::Broken => {
                let name = format!("codex.{}", entry.entry_type());
                self.custom(&name, &entry.json)
            }
        }
    }

    /// An entry that no model sees.
    pub(super) fn custom(&self, custom_type: &str, data: &[u8]) -> Bytes {
        self.begin("custom")
            .text("customType", custom_type)
            .json("data", data)
            .finish()
    }

    fn begin(&self, entry_type: &str) -> ObjectWriter {
        ObjectWriter::new()
            .text("type", entry_type)
            .json("id", self.id.as_bytes())
            .json("parentId", self.parent.as_bytes())
            .text("timestamp", self.timestamp)
    }

    /// The entry that a host derives this payload from.
    fn custom_message(&self, payload: &Bytes) -> Bytes {
        let text = std::str::from_utf8(payload).unwrap_or_default();
        let fields = Fields::parse(text).ok();
        let field = |key: &str| fields.as_ref().and_then(|fields| fields.raw(key));
        ["customType", "content", "display", "details"]
            .into_iter()
            .fold(self.begin("custom_message"), |entry, key| {
                entry.maybe(key, field(key))
            })
            .finish()
    }

    /// A compaction that keeps nothing, and so names itself; what it keeps of single messages stands
    /// in its details.
    fn compaction(&self, record: &Bytes) -> Bytes {
        let text = std::str::from_utf8(record).unwrap_or_default();
        let fields = Fields::parse(text).ok();
        let payload = fields.as_ref().and_then(|fields| fields.object("payload"));
        let summary = payload.as_ref().and_then(|payload| payload.raw("message"));
        self.begin("compaction")
            .json("summary", summary.unwrap_or(b"\"\""))
            .json("firstKeptEntryId", self.id.as_bytes())
            .json("tokensBefore", b"0")
            .json("details", record)
            .finish()
    }
}
