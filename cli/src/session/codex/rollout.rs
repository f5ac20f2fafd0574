//! Puts the records of a rollout, and of those that it goes on, together into a session.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::super::Session;
use super::super::branch::{Branch, Entries};
use super::super::entry::{Entry, Header, Kind, Model, Parent};
use super::super::field::Fields;
use super::super::format::Format;
use super::super::line::{Line, Size};
use super::super::message::{ContextMessage, Origin};
use super::super::node::Node;
use super::super::parse;
use super::super::problem::{Outcome, Problem, Reason, Source};
use super::super::tree::Tree;
use super::answer::Answer;
use super::item::{self, Circumstances, Item};
use super::record::{Record, record};
use super::tags::Tags;

/// How deep an item is taken apart: item, content, block, text.
const ITEM_DEPTH: usize = 4;

/// A compaction: its history, and the items in there.
const COMPACTED_DEPTH: usize = 2 + ITEM_DEPTH;

/// An event: `info`, `last_token_usage`, its counts.
const EVENT_DEPTH: usize = 3;

/// A rollout that is being read.
pub(in crate::session) struct Rollout {
    /// The files that are being read, each one the parent of the one before it.
    pub(super) paths: Vec<PathBuf>,
    pub(super) source: Source,
    pub(super) header: Option<Header>,
    /// Number of the record that is due, where records have numbers.
    pub(super) due: Option<u64>,
    /// Whether the next line is the first of its file.
    pub(super) is_start: bool,
    size: Size,
    pub(super) entries: Vec<Entry>,
    pub(super) tree: Tree,
    problems: Vec<Problem>,
    pub(super) tools: HashMap<String, String>,
    pub(super) tags: Tags,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// The newest answer, and the entry that it is for.
    pub(super) answer: Option<(usize, Answer)>,
    /// Whether each response is followed by a record of its own of what it used.
    has_usage_records: bool,
    next_key: u64,
}

/// A record's envelope.
#[derive(Clone, Copy)]
pub(super) struct Envelope<'a> {
    pub(super) line: u64,
    pub(super) timestamp_ms: Option<i64>,
    pub(super) json: &'a Bytes,
}

impl Rollout {
    /// A rollout at this place, beside which its parents may lie.
    pub(in crate::session) fn at(path: Option<&Path>) -> Self {
        Self {
            paths: path.map(Path::to_owned).into_iter().collect(),
            source: Source::File,
            header: None,
            due: None,
            is_start: true,
            size: Size::default(),
            entries: Vec::new(),
            tree: Tree::default(),
            problems: Vec::new(),
            tools: HashMap::new(),
            tags: Tags::default(),
            provider: None,
            model: None,
            answer: None,
            has_usage_records: false,
            next_key: 0,
        }
    }

    /// The next line that is not blank.
    pub(in crate::session) fn line(&mut self, line: &Line) {
        self.size.add(line);
        let is_start = std::mem::replace(&mut self.is_start, false);
        let (json, fields) = match parse::fields(line) {
            Ok(read) => read,
            Err(fault) => return self.report(line.number, fault.reason, Outcome::Skipped),
        };
        let at = Envelope {
            line: line.number,
            timestamp_ms: fields.millis("timestamp"),
            json,
        };
        match record(&fields) {
            Record::Wrapped(name, payload) => {
                if name == "session_meta"
                    && let Ok(payload) = Fields::parse(payload.get())
                {
                    self.meta(&at, &payload, is_start);
                }
                self.follows(&at, fields.whole("ordinal"));
                self.wrapped(&at, &name, payload.get());
            }
            Record::Bare(name) => self.item(&at, &name, text(json)),
            Record::BareMeta => {
                self.meta(&at, &fields, is_start);
                self.bare(&at, "session_meta", Kind::Silent);
            }
            Record::State => {
                self.bare(&at, "state", Kind::Silent);
            }
            Record::Foreign(name) => {
                self.bare(&at, &name, Kind::Foreign);
            }
            Record::NoPayload(name) => {
                let reason = Reason::MalformedEntry {
                    entry_type: name.into_owned(),
                    field: "payload",
                };
                self.report(at.line, reason, Outcome::Skipped);
            }
            Record::Untyped => self.report(at.line, Reason::MissingType, Outcome::Skipped),
        }
    }

    fn follows(&mut self, at: &Envelope<'_>, ordinal: Option<u64>) {
        let Some(found) = ordinal else { return };
        if let Some(due) = self.due.filter(|due| *due != found) {
            self.report(at.line, Reason::RecordGap { due, found }, Outcome::Kept);
        }
        self.due = Some(found.saturating_add(1));
    }

    fn wrapped(&mut self, at: &Envelope<'_>, name: &str, json: &str) {
        // The only records that are large and of which nearly all is read.
        if let "response_item" | "inter_agent_communication" = name {
            return self.item(at, name, json);
        }
        let depth = if name == "compacted" {
            COMPACTED_DEPTH
        } else {
            EVENT_DEPTH
        };
        let Some(payload) = &Node::parse(json, depth) else {
            return self.report(at.line, Reason::NotAnObject, Outcome::Skipped);
        };
        let inner = payload.text_of("type");
        let entry_type = self.tags.of(name, inner.as_deref());
        match (name, inner.as_deref()) {
            ("compacted", _) => return self.compacted(at, payload),
            ("turn_context", _) => return self.turn_context(at, payload),
            ("token_usage_record", _) => {
                self.has_usage_records = true;
                self.counted(payload.get("usage"));
            }
            ("event_msg", Some("token_count")) if !self.has_usage_records => {
                let info = payload.get("info");
                self.counted(info.and_then(|info| info.get("last_token_usage")));
            }
            ("event_msg", Some("thread_rolled_back")) => {
                self.roll_back(payload.whole("num_turns").unwrap_or(0));
            }
            _ => {}
        }
        let kind = match name {
            "session_meta"
            | "event_msg"
            | "world_state"
            | "token_usage_record"
            | "inter_agent_communication_metadata" => Kind::Silent,
            _ => Kind::Foreign,
        };
        self.entry(at, entry_type, None, kind);
    }

    pub(super) fn circumstances<T>(
        &self,
        at: &Envelope<'_>,
        read: impl FnOnce(&Circumstances<'_>) -> T,
    ) -> T {
        read(&Circumstances {
            timestamp_ms: at.timestamp_ms,
            tool_of: &|id| self.tools.get(id).cloned(),
        })
    }

    /// An item in its record, or one without.
    fn item(&mut self, at: &Envelope<'_>, record: &str, json: &str) {
        let Some(payload) = Node::parse(json, ITEM_DEPTH) else {
            return self.report(at.line, Reason::NotAnObject, Outcome::Skipped);
        };
        let item_type = payload.text_of("type");
        let (entry_type, item) = match (record, item_type) {
            ("inter_agent_communication", _) => {
                let item = self.circumstances(at, |at| item::between_agents(&payload, at));
                (self.tags.of(record, None), item)
            }
            (_, Some(item_type)) => {
                let item = self.circumstances(at, |at| item::read(&item_type, &payload, at));
                (self.tags.of("response_item", Some(&item_type)), item)
            }
            (_, None) => {
                let reason = Reason::MalformedEntry {
                    entry_type: record.to_owned(),
                    field: "type",
                };
                return self.report(at.line, reason, Outcome::Skipped);
            }
        };
        self.add(at, entry_type, payload.text_of("id"), item);
    }

    fn add(
        &mut self,
        at: &Envelope<'_>,
        entry_type: Arc<str>,
        id: Option<Cow<'_, str>>,
        item: Item,
    ) {
        match item {
            Item::Part(part) => self.part(at, id, part),
            Item::Message(role, payload) => {
                self.close_answer();
                let index = self.entry(at, entry_type, id, Kind::Silent);
                self.set_message(index, role, payload);
            }
            Item::Silent => {
                self.entry(at, entry_type, None, Kind::Silent);
            }
            Item::Foreign => {
                self.entry(at, entry_type, None, Kind::Foreign);
            }
            Item::Malformed(field) => {
                self.entry(at, Arc::clone(&entry_type), None, Kind::Broken);
                let entry_type = entry_type.as_ref().to_owned();
                let reason = Reason::MalformedEntry { entry_type, field };
                self.report(at.line, reason, Outcome::Skipped);
            }
        }
    }

    /// Adds an entry without an id, of a record that holds nothing of a type of its own.
    pub(super) fn bare(&mut self, at: &Envelope<'_>, record: &str, kind: Kind) {
        let entry_type = self.tags.of(record, None);
        self.entry(at, entry_type, None, kind);
    }

    /// Adds an entry; of a second one with the same id the id is dropped, since an engine would
    /// take the two for one. Gives its index.
    pub(super) fn entry(
        &mut self,
        at: &Envelope<'_>,
        entry_type: Arc<str>,
        id: Option<Cow<'_, str>>,
        kind: Kind,
    ) -> usize {
        let id = id.filter(|id| !id.trim().is_empty() && self.tree.find(id).is_none());
        let entry = Entry {
            line: at.line,
            id: id.map(Arc::from),
            tag: entry_type,
            timestamp_ms: at.timestamp_ms,
            parent: Parent::Absent,
            side: false,
            kind,
            json: at.json.clone(),
            size: at.json.len() as u64,
        };
        // Nothing is odd about a place in a list.
        let _none = self.tree.insert(&entry);
        self.entries.push(entry);
        self.entries.len() - 1
    }

    pub(super) fn set_message(&mut self, index: usize, role: &str, payload: Bytes) {
        let key = self.key();
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        let origin = Origin {
            line: entry.line,
            key,
            entry_id: entry.id.clone(),
            timestamp_ms: entry.timestamp_ms,
        };
        entry.json = Bytes::new();
        entry.kind = Kind::Message {
            message: ContextMessage::new(origin, role.to_owned(), payload),
            excluded: false,
        };
    }

    pub(super) fn key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }

    fn turn_context(&mut self, at: &Envelope<'_>, payload: &Node<'_>) {
        let model = payload
            .text_of("model")
            .filter(|model| self.model.as_deref() != Some(&**model));
        let Some(id) = model.map(Cow::into_owned) else {
            self.bare(at, "turn_context", Kind::Silent);
            return;
        };
        self.finish_answer();
        self.model = Some(id.clone());
        let provider = self.provider.clone().unwrap_or_default();
        let model = Model { provider, id };
        if let Some(header) = &mut self.header
            && header.model.is_none()
        {
            header.model = Some(model.clone());
        }
        self.bare(at, "turn_context", Kind::ModelChange(model));
    }

    pub(super) fn report(&mut self, line: u64, reason: Reason, outcome: Outcome) {
        self.problems.push(Problem {
            source: self.source.clone(),
            line,
            reason,
            outcome,
        });
    }

    /// The session of everything so far.
    pub(in crate::session) fn finish(mut self) -> Session {
        self.finish_answer();
        let mut problems = self.problems;
        let all = Entries {
            list: &self.entries,
            tree: &self.tree,
            positions: &[],
        };
        let branch = Branch::follow(&all, &mut problems);
        Session {
            format: Format::Codex,
            size: self.size,
            header: self.header.unwrap_or_default(),
            header_json: None,
            entries: self.entries,
            positions: Vec::new(),
            tree: self.tree,
            branch,
            problems,
        }
    }
}

/// A line that was read is text.
fn text(json: &Bytes) -> &str {
    std::str::from_utf8(json).unwrap_or_default()
}
