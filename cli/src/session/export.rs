//! Writes a session in another format: as an entry file of OpenClaw or pi, or as bare messages.
//!
//! Entries of OpenClaw and pi keep their bytes; what is edited is their envelope, where the format
//! wants it otherwise. Records of Codex and pages get an envelope of their own.

mod built;
mod envelope;
mod ids;

use std::io::{self, Write};

use bytes::Bytes;
use contextwire_client::store::iso;
use contextwire_engine::json::ObjectWriter;

use super::Session;
use super::entry::{Entry, FirstKept, Kind, Parent};
use super::format::Format;
use super::turn::HistoryView;
use built::Built;
use ids::Ids;

/// What a session is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An entry file as OpenClaw reads it.
    OpenClaw,
    /// An entry file as pi reads it.
    Pi,
    /// The messages of the conversation, one a line, and nothing else.
    Messages,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Entries, or messages; without the header.
    pub lines: u64,
    /// Messages among them.
    pub messages: u64,
    /// What the target has no equal for, each thing once.
    pub losses: Vec<&'static str>,
}

const RESET: &str = "pi knows no reset: it sees what came before it";
const REPLACEMENT: &str =
    "a compaction of Codex keeps single messages: OpenClaw and pi see its summary in their place";

/// The type of an entry whose body cannot be used, as JSON.
const BROKEN: &str = r#""contextwire.broken""#;

/// The version of OpenClaw's entries, and of pi's.
const OPENCLAW_VERSION: u64 = 4;
const PI_VERSION: u64 = 3;
/// The oldest version that is a tree; what a list becomes.
const TREE_VERSION: u64 = 2;

impl Session {
    /// Writes the session in another format.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn export(&self, target: Target, out: &mut impl Write) -> io::Result<Exported> {
        match target {
            Target::Messages => self.messages(out),
            Target::OpenClaw | Target::Pi => Export::new(self, target).write(out),
        }
    }

    fn messages(&self, out: &mut impl Write) -> io::Result<Exported> {
        let mut done = Exported::default();
        for message in self.view(HistoryView::Full).messages() {
            line(out, message.payload())?;
            done.lines += 1;
            done.messages += 1;
        }
        Ok(done)
    }
}

/// Writes JSON as one line. Only between its values can JSON have line feeds.
fn line(out: &mut impl Write, json: &[u8]) -> io::Result<()> {
    if json.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        let spaced: Vec<u8> = json
            .iter()
            .map(|byte| match byte {
                b'\n' | b'\r' => b' ',
                other => *other,
            })
            .collect();
        out.write_all(&spaced)?;
    } else {
        out.write_all(json)?;
    }
    out.write_all(b"\n")
}

struct Export<'a> {
    session: &'a Session,
    target: Target,
    ids: Ids<'a>,
    done: Exported,
}

impl<'a> Export<'a> {
    fn new(session: &'a Session, target: Target) -> Self {
        Self {
            session,
            target,
            ids: Ids::of(&session.entries),
            done: Exported::default(),
        }
    }

    fn write(mut self, out: &mut impl Write) -> io::Result<Exported> {
        line(out, &self.header())?;
        for (index, entry) in self.session.entries.iter().enumerate() {
            let json = match self.session.format {
                Format::Lines | Format::Rows | Format::Store => self.kept(index, entry),
                Format::Codex | Format::Pages => self.built(index, entry),
            };
            line(out, &json)?;
            self.done.lines += 1;
            self.done.messages += u64::from(matches!(entry.kind, Kind::Message { .. }));
        }
        if let Some(end) = self.end() {
            line(out, &end)?;
            self.done.lines += 1;
        }
        Ok(self.done)
    }

    fn header(&self) -> Bytes {
        let header = &self.session.header;
        let known = self.session.header_json.as_ref();
        match (known, header.version, self.target) {
            (Some(json), 1, _) => envelope::with(json, "version", &TREE_VERSION.to_string()),
            (Some(json), version, Target::Pi) if version > PI_VERSION => {
                envelope::with(json, "version", &PI_VERSION.to_string())
            }
            (Some(json), _, _) => json.clone(),
            (None, _, target) => {
                let version = match target {
                    Target::Pi => PI_VERSION,
                    Target::OpenClaw | Target::Messages => OPENCLAW_VERSION,
                };
                let quoted = |text: &String| contextwire_engine::json::quote(text);
                let cwd = header.cwd.as_ref().map(quoted);
                let parent = header.parent_session.as_ref().map(quoted);
                ObjectWriter::new()
                    .text("type", "session")
                    .json("version", version.to_string().as_bytes())
                    .text("id", header.id.as_deref().unwrap_or("session"))
                    .text("timestamp", &iso(self.start()))
                    .maybe("cwd", cwd.as_deref().map(str::as_bytes))
                    .maybe("parentSession", parent.as_deref().map(str::as_bytes))
                    .finish()
            }
        }
    }

    /// When the session began; that of its first entry with a time where the header has none.
    fn start(&self) -> i64 {
        let entries = self.session.entries.iter();
        let header = self.session.header.timestamp_ms;
        header
            .or_else(|| entries.into_iter().find_map(|entry| entry.timestamp_ms))
            .unwrap_or(0)
    }

    /// An entry of OpenClaw or pi, with as few edits as the target allows.
    fn kept(&mut self, index: usize, entry: &Entry) -> Bytes {
        // What stands outside the tree stays there.
        if matches!(entry.kind, Kind::Foreign) && entry.id.is_none() && !self.is_list() {
            return entry.json.clone();
        }
        let mut json = entry.json.clone();
        if let Some(kept) = self.first_kept(index, entry) {
            json = envelope::with(&json, "firstKeptEntryId", &kept);
        }
        if matches!(entry.kind, Kind::Broken) {
            // Under a type that no host knows an entry keeps its place and says nothing.
            let was = contextwire_engine::json::quote(&entry.tag);
            json = envelope::with(&json, "type", BROKEN);
            json = envelope::with(&json, "brokenType", &was);
        }
        if self.target == Target::Pi {
            json = self.as_pi_knows_it(entry, json);
        }
        if !self.names_its_parent(entry) {
            json = envelope::with(&json, "parentId", &self.parent(index));
        }
        if entry.id.is_none() {
            json = envelope::with(&json, "id", &self.ids.quoted(index));
        }
        json
    }

    fn as_pi_knows_it(&mut self, entry: &Entry, json: Bytes) -> Bytes {
        let name = match entry.kind {
            Kind::Reset { .. } => {
                self.lost(RESET);
                "openclaw.reset"
            }
            Kind::Leaf { .. } => "openclaw.leaf",
            Kind::Message { .. }
            | Kind::Compaction { .. }
            | Kind::Replacement { .. }
            | Kind::ModelChange(_)
            | Kind::Silent
            | Kind::Foreign
            | Kind::Broken => return json,
        };
        let timestamp = iso(entry.timestamp_ms.unwrap_or(0));
        let id = entry.id.as_deref().map(contextwire_engine::json::quote);
        ObjectWriter::new()
            .text("type", "custom")
            .maybe("id", id.as_deref().map(str::as_bytes))
            .text("timestamp", &timestamp)
            .text("customType", name)
            .json("data", &json)
            .finish()
    }

    fn lost(&mut self, what: &'static str) {
        if !self.done.losses.contains(&what) {
            self.done.losses.push(what);
        }
    }

    fn is_list(&self) -> bool {
        self.session.header.version <= 1
    }

    /// Whether an entry's own `parentId` says where it was read. Pi has neither entries beside the
    /// conversation nor marks that move its end: there each entry names what it continues.
    fn names_its_parent(&self, entry: &Entry) -> bool {
        match (&entry.parent, self.target) {
            (Parent::Root, _) => true,
            (Parent::Id(id), Target::OpenClaw) => self
                .session
                .tree
                .line_of(id)
                .is_some_and(|line| line < entry.line),
            (Parent::Id(_) | Parent::Absent | Parent::Malformed, _) => false,
        }
    }

    /// What an entry continues, as JSON.
    fn parent(&self, index: usize) -> String {
        match self.session.tree.parent(index) {
            Some(parent) => self.ids.quoted(parent),
            None => "null".to_owned(),
        }
    }

    /// The id for the number by which a list names the first entry that a compaction keeps. A number
    /// of no entry keeps nothing, and would be another entry's in what is written: a boundary that
    /// keeps nothing names itself.
    fn first_kept(&self, index: usize, entry: &Entry) -> Option<String> {
        let (Kind::Compaction { first_kept, .. } | Kind::Reset { first_kept }) = &entry.kind else {
            return None;
        };
        let FirstKept::Position(position) = first_kept else {
            return None;
        };
        let position = usize::try_from(*position).unwrap_or(usize::MAX);
        let found = self.session.positions.get(position).copied().flatten();
        Some(self.ids.quoted(found.unwrap_or(index)))
    }

    /// A record of another host as an entry.
    fn built(&mut self, index: usize, entry: &Entry) -> Bytes {
        if matches!(entry.kind, Kind::Replacement { .. }) {
            self.lost(REPLACEMENT);
        }
        let built = Built {
            id: &self.ids.quoted(index),
            parent: &self.parent(index),
            timestamp: &iso(entry.timestamp_ms.unwrap_or(0)),
        };
        built.entry(entry)
    }

    /// Pi goes on after the last line of a file: where the conversation ends elsewhere, a last line
    /// that says so.
    fn end(&self) -> Option<Bytes> {
        let last = self.session.entries.len().checked_sub(1)?;
        let leaf = self.session.tree.leaf();
        let ends = self.session.tree.visible(last) == leaf || leaf == Some(last);
        if self.target != Target::Pi || ends {
            return None;
        }
        let parent = leaf.map_or_else(|| "null".to_owned(), |leaf| self.ids.quoted(leaf));
        let built = Built {
            id: &self.ids.quoted(last + 1),
            parent: &parent,
            timestamp: &iso(self.start()),
        };
        Some(built.custom("contextwire.end", b"{}"))
    }
}

#[cfg(test)]
mod tests;
