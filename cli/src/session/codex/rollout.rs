//! Puts the records of a rollout, and of those that it goes on, together into a session.

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
use super::super::parse;
use super::super::problem::{Outcome, Problem, Reason, Source};
use super::super::tree::Tree;
use super::answer::{Answer, Answering};
use super::item::{self, Call, Circumstances, Item};
use super::lineage::{self, Base};
use super::record::{Record, record};

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
    tools: HashMap<String, String>,
    provider: Option<String>,
    model: Option<String>,
    /// The newest answer, and the entry that it is for.
    answer: Option<(usize, Answer)>,
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
                if name == "session_meta" {
                    self.meta(&at, &payload, is_start);
                }
                self.follows(&at, fields.whole("ordinal"));
                self.wrapped(&at, &name, &payload);
            }
            Record::Bare(name) => self.item(&at, &name, &fields),
            Record::BareMeta => {
                self.meta(&at, &fields, is_start);
                self.entry(&at, "session_meta", None, Kind::Silent);
            }
            Record::State => {
                self.entry(&at, "state", None, Kind::Silent);
            }
            Record::Foreign(name) => {
                self.entry(&at, &name, None, Kind::Foreign);
            }
            Record::NoPayload(entry_type) => {
                let field = "payload";
                let reason = Reason::MalformedEntry { entry_type, field };
                self.report(at.line, reason, Outcome::Skipped);
            }
            Record::Untyped => self.report(at.line, Reason::MissingType, Outcome::Skipped),
        }
    }

    /// The first line of each file: the session's facts, and the session that it goes on.
    fn meta(&mut self, at: &Envelope<'_>, payload: &Fields<'_>, is_start: bool) {
        if self.header.is_none() {
            self.provider = payload.text("model_provider");
            self.header = Some(Header {
                id: payload.text("id"),
                version: 0,
                cwd: payload.text("cwd"),
                timestamp_ms: payload.millis("timestamp").or(at.timestamp_ms),
                parent_session: payload.text("forked_from_id"),
                model: None,
            });
        }
        // A fork that copied its past has the first lines of others among its own.
        if is_start && let Some(base) = Base::of(payload) {
            lineage::take_over(self, at.line, &base);
        }
    }

    fn follows(&mut self, at: &Envelope<'_>, ordinal: Option<u64>) {
        let Some(found) = ordinal else { return };
        if let Some(due) = self.due.filter(|due| *due != found) {
            self.report(at.line, Reason::RecordGap { due, found }, Outcome::Kept);
        }
        self.due = Some(found.saturating_add(1));
    }

    fn wrapped(&mut self, at: &Envelope<'_>, name: &str, payload: &Fields<'_>) {
        let inner = payload.text("type");
        let entry_type = match &inner {
            Some(inner) => format!("{name}/{inner}"),
            None => name.to_owned(),
        };
        match (name, inner.as_deref()) {
            ("response_item", Some(item_type)) => return self.item(at, item_type, payload),
            ("response_item", None) => {
                let reason = Reason::MalformedEntry {
                    entry_type,
                    field: "type",
                };
                return self.report(at.line, reason, Outcome::Skipped);
            }
            ("inter_agent_communication", _) => {
                let item = self.circumstances(at, |at| item::between_agents(payload, at));
                return self.add(at, &entry_type, payload.text("id"), item);
            }
            ("compacted", _) => return self.compacted(at, payload),
            ("turn_context", _) => return self.turn_context(at, payload),
            ("token_usage_record", _) => {
                self.has_usage_records = true;
                self.counted(payload.object("usage").as_ref());
            }
            ("event_msg", Some("token_count")) if !self.has_usage_records => {
                let info = payload.object("info");
                self.counted(
                    info.and_then(|info| info.object("last_token_usage"))
                        .as_ref(),
                );
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
        self.entry(at, &entry_type, None, kind);
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

    fn item(&mut self, at: &Envelope<'_>, item_type: &str, fields: &Fields<'_>) {
        let item = self.circumstances(at, |at| item::read(item_type, fields, at));
        let entry_type = format!("response_item/{item_type}");
        self.add(at, &entry_type, fields.text("id"), item);
    }

    fn add(&mut self, at: &Envelope<'_>, entry_type: &str, id: Option<String>, item: Item) {
        match item {
            Item::Part(part) => {
                if self
                    .answer
                    .as_ref()
                    .is_none_or(|(_, answer)| answer.is_closed())
                {
                    self.finish_answer();
                    let index = self.entry(at, "response_item/answer", id, Kind::Silent);
                    self.answer = Some((index, Answer::new(at.timestamp_ms)));
                }
                if let Some(Call { id, tool }) = &part.call {
                    self.tools.insert(id.clone(), tool.clone());
                }
                if let Some((_, answer)) = &mut self.answer {
                    answer.add(part);
                }
            }
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
                let entry_type = entry_type.to_owned();
                self.entry(at, &entry_type, None, Kind::Broken);
                let reason = Reason::MalformedEntry { entry_type, field };
                self.report(at.line, reason, Outcome::Skipped);
            }
        }
    }

    /// Adds an entry; of a second one with the same id the id is dropped, since an engine would
    /// take the two for one. Gives its index.
    pub(super) fn entry(
        &mut self,
        at: &Envelope<'_>,
        entry_type: &str,
        id: Option<String>,
        kind: Kind,
    ) -> usize {
        let id = id.filter(|id| !id.trim().is_empty() && self.tree.find(id).is_none());
        let entry = Entry {
            line: at.line,
            id: id.map(Arc::from),
            tag: entry_type.to_owned(),
            timestamp_ms: at.timestamp_ms,
            parent: Parent::Absent,
            side: false,
            kind,
            json: at.json.clone(),
        };
        // Nothing is odd about a place in a list.
        let _none = self.tree.insert(&entry);
        self.entries.push(entry);
        self.entries.len() - 1
    }

    fn set_message(&mut self, index: usize, role: &str, payload: Bytes) {
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
        entry.kind = Kind::Message {
            message: ContextMessage::new(origin, role.to_owned(), payload),
            excluded: false,
        };
    }

    pub(super) fn key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }

    /// Whatever comes next belongs to another answer.
    fn close_answer(&mut self) {
        if let Some((_, answer)) = &mut self.answer {
            answer.close();
        }
    }

    /// What a response used ends it, and is said after it.
    fn counted(&mut self, usage: Option<&Fields<'_>>) {
        if let (Some((_, answer)), Some(usage)) = (&mut self.answer, usage) {
            answer.counted(usage);
            answer.close();
        }
    }

    pub(super) fn finish_answer(&mut self) {
        let Some((index, answer)) = self.answer.take() else {
            return;
        };
        let payload = answer.finish(self.answering());
        self.set_message(index, "assistant", payload);
    }

    pub(super) fn answering(&self) -> Answering<'_> {
        Answering {
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
        }
    }

    fn turn_context(&mut self, at: &Envelope<'_>, payload: &Fields<'_>) {
        let model = payload
            .text("model")
            .filter(|model| self.model.as_ref() != Some(model));
        let Some(id) = model else {
            self.entry(at, "turn_context", None, Kind::Silent);
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
        self.entry(at, "turn_context", None, Kind::ModelChange(model));
    }

    /// The newest turns did not happen: the conversation goes on before them.
    fn roll_back(&mut self, turns: u64) {
        self.finish_answer();
        let mut left = turns;
        let mut next = self.tree.leaf();
        let mut before = None;
        while let Some(index) = next.filter(|_| left > 0) {
            next = self.tree.parent(index);
            let message = self.entries.get(index).and_then(Entry::message);
            if message.is_some_and(|message| message.role() == "user") {
                left -= 1;
                before = Some(next);
            }
        }
        if let Some(before) = before {
            self.tree.rewind(before);
        }
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
