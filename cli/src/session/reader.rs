//! Reads a file line by line into a session.

use std::io::{self, BufRead, Cursor, Read};

use super::Session;
use super::branch::{Branch, Entries};
use super::entry::{Entry, Header, Kind};
use super::kind::FileKind;
use super::line::{Line, Lines, MAX_LINE_BYTES};
use super::parse::{self, Parsed, Record};
use super::problem::{Outcome, Problem, ReadError, Reason, Strictness};
use super::tree::Tree;

/// Bytes at the start of a file that decide what it looks like.
const SAMPLE_BYTES: u64 = 64 * 1024;

/// Lines without a trace of a session after which a file is taken for another kind.
const GIVE_UP_AFTER: u64 = 100;

/// Newest format version that is known.
const NEWEST_VERSION: u64 = 4;

pub(super) fn read(mut input: impl BufRead, strictness: Strictness) -> Result<Session, ReadError> {
    let mut sample = Vec::new();
    (&mut input)
        .take(SAMPLE_BYTES)
        .read_to_end(&mut sample)
        .map_err(ReadError::Io)?;
    if let Some(kind) = FileKind::from_magic(&sample) {
        return Err(ReadError::OtherKind { kind });
    }
    let mut reader = Reader::default();
    reader
        .read_lines(Cursor::new(&sample).chain(input))
        .map_err(ReadError::Io)?;
    if !reader.recognised {
        return Err(ReadError::OtherKind {
            kind: FileKind::guess(&sample),
        });
    }
    let session = reader.finish();
    match strictness {
        Strictness::Strict if !session.problems.is_empty() => Err(ReadError::Damaged {
            problems: session.problems,
        }),
        Strictness::Strict | Strictness::Lenient => Ok(session),
    }
}

#[derive(Default)]
struct Reader {
    header: Option<Header>,
    entries: Vec<Entry>,
    tree: Tree,
    positions: Vec<Option<usize>>,
    problems: Vec<Problem>,
    /// The session of a row export.
    row_session: Option<String>,
    /// Whether a line was seen that only a session has.
    recognised: bool,
}

impl Reader {
    fn read_lines(&mut self, input: impl BufRead) -> io::Result<()> {
        let mut lines = Lines::new(input, MAX_LINE_BYTES);
        let mut seen = 0;
        while let Some(line) = lines.next_line()? {
            if line.is_blank() {
                continue;
            }
            self.line(&line);
            seen += 1;
            if !self.recognised && seen == GIVE_UP_AFTER {
                break;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) {
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
        if let Some(id) = row_session
            && *self.row_session.get_or_insert_with(|| id.clone()) != id
        {
            return self.report(line.number, Reason::OtherSession { id }, Outcome::Skipped);
        }
        match record {
            Record::Header(header) => self.header(line.number, header),
            Record::Entry(entry, reason) => self.entry(entry, reason),
        }
    }

    fn header(&mut self, line: u64, header: Header) {
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
    }

    fn entry(&mut self, entry: Entry, malformed: Option<Reason>) {
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
        if self.header.is_none() && self.entries.is_empty() {
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

    fn report(&mut self, line: u64, reason: Reason, outcome: Outcome) {
        self.problems.push(Problem {
            line,
            reason,
            outcome,
        });
    }

    fn finish(mut self) -> Session {
        for problem in &mut self.problems {
            if let Reason::UnknownParent { id } = &problem.reason
                && self.tree.find(id).is_some()
            {
                problem.reason = Reason::LaterParent { id: id.clone() };
            }
        }
        let Self {
            header,
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
        problems.sort_by_key(|problem| problem.line);
        Session {
            header: header.unwrap_or_default(),
            entries,
            branch,
            problems,
        }
    }
}
