//! Puts the entries of OpenClaw and pi together into a session, whatever they were read from.

use bytes::Bytes;

use super::branch::{Branch, Entries};
use super::entry::{Entry, Header, Kind};
use super::format::Format;
use super::line::Line;
use super::parse::{self, Parsed, Record};
use super::problem::{Outcome, Problem, Reason, Source};
use super::tree::Tree;
use super::{Session, Size};

/// Newest format version that is known.
const NEWEST_VERSION: u64 = 4;

/// A session that is being read, line by line.
pub(super) struct Reader {
    format: Format,
    source: Source,
    size: Size,
    header: Option<Header>,
    header_json: Option<Bytes>,
    entries: Vec<Entry>,
    tree: Tree,
    positions: Vec<Option<usize>>,
    problems: Vec<Problem>,
    /// The session of rows; other rows are none of it.
    row_session: Option<String>,
    /// Whether a person chose it, and needs no word on the others.
    is_chosen: bool,
    /// Whether a line was seen that only a session has.
    recognised: bool,
}

impl Reader {
    /// Of a file of lines. Of rows, those of this session count, or of the first one.
    pub(super) fn of_lines(row_session: Option<String>) -> Self {
        Self {
            format: Format::Lines,
            source: Source::File,
            size: Size::default(),
            header: None,
            header_json: None,
            entries: Vec::new(),
            tree: Tree::default(),
            positions: Vec::new(),
            problems: Vec::new(),
            is_chosen: row_session.is_some(),
            row_session,
            recognised: false,
        }
    }

    /// Of entries that come one by one from a place that numbers them.
    pub(super) fn of_numbered(format: Format, source: Source) -> Self {
        Self {
            format,
            source,
            ..Self::of_lines(None)
        }
    }

    /// Whether a line was seen that only a session has.
    pub(super) fn is_recognised(&self) -> bool {
        self.recognised
    }

    /// The next line that is not blank.
    pub(super) fn line(&mut self, line: &Line) {
        self.size.add(line);
        let Parsed {
            row_session,
            record,
        } = match parse::parse(line) {
            Ok(parsed) => parsed,
            Err(fault) => {
                if fault.is_json {
                    self.positions.push(None);
                }
                return self.report(line.number, fault.reason, Outcome::Skipped);
            }
        };
        self.positions.push(None);
        if let Some(id) = row_session {
            self.format = Format::Rows;
            if *self.row_session.get_or_insert_with(|| id.clone()) != id {
                if !self.is_chosen {
                    let reason = Reason::OtherSession { id };
                    self.report(line.number, reason, Outcome::Skipped);
                }
                return;
            }
        }
        match record {
            Record::Header(header, json) => self.header(line.number, header, json),
            Record::Entry(entry, reason) => self.entry(entry, reason),
        }
    }

    fn header(&mut self, line: u64, header: Header, json: Bytes) {
        self.recognised = true;
        if self.header.is_some() {
            return self.report(line, Reason::SecondHeader, Outcome::Skipped);
        }
        if header.version > NEWEST_VERSION {
            let reason = Reason::NewerVersion {
                version: header.version,
            };
            self.report(line, reason, Outcome::Kept);
        }
        self.header = Some(header);
        self.header_json = Some(json);
    }

    /// The next entry, and what is wrong with its body.
    pub(super) fn entry(&mut self, entry: Entry, malformed: Option<Reason>) {
        let line = entry.line;
        self.recognised |= !matches!(entry.kind, Kind::Foreign | Kind::Broken);
        if let Some(id) = entry.id()
            && let Some(first_line) = self.tree.line_of(id)
        {
            let reason = Reason::DuplicateId {
                id: id.to_owned(),
                first_line,
            };
            return self.report(line, reason, Outcome::Skipped);
        }
        // A page has no place for a header.
        if self.header.is_none() && self.entries.is_empty() && self.format != Format::Pages {
            self.report(line, Reason::NoHeader, Outcome::Kept);
        }
        if let Some(reason) = malformed {
            self.report(line, reason, Outcome::Skipped);
        }
        if let Some(reason) = self.tree.insert(&entry) {
            self.report(line, reason, Outcome::Kept);
        }
        if let Some(position) = self.positions.last_mut() {
            *position = Some(self.entries.len());
        }
        self.entries.push(entry);
    }

    /// Something about a line that a person should know.
    pub(super) fn report(&mut self, line: u64, reason: Reason, outcome: Outcome) {
        self.problems.push(Problem {
            source: self.source.clone(),
            line,
            reason,
            outcome,
        });
    }

    /// The session of everything so far.
    pub(super) fn finish(mut self) -> Session {
        for problem in &mut self.problems {
            if let Reason::UnknownParent { id } = &problem.reason
                && self.tree.find(id).is_some()
            {
                problem.reason = Reason::LaterParent { id: id.clone() };
            }
        }
        let Self {
            format,
            source,
            size,
            header,
            header_json,
            entries,
            tree,
            positions,
            mut problems,
            ..
        } = self;
        let all = Entries {
            list: &entries,
            tree: &tree,
            positions: &positions,
        };
        let branch = Branch::follow(&all, &mut problems);
        for problem in &mut problems {
            problem.source = source.clone();
        }
        problems.sort_by_key(|problem| problem.line);
        Session {
            format,
            size,
            header: header.unwrap_or_default(),
            header_json,
            entries,
            positions,
            tree,
            branch,
            problems,
        }
    }
}
