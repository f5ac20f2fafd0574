//! Where a fork comes from: finds the rollouts that it goes on, and reads them up to the point
//! where it begins.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::entry::Header;
use super::super::field::Fields;
use super::super::open::lines_of;
use super::super::parse;
use super::super::problem::{ForkProblem, Outcome, Reason, Source};
use super::record::{Record, record};
use super::rollout::{Envelope, Rollout};

/// Forks of forks that are followed.
const DEEPEST: usize = 32;

/// Files whose first line is looked at where no name tells the parent.
const LOOKED_INTO: usize = 1_000;

/// Folders under `sessions`: year, month, day.
const FOLDERS_DEEP: usize = 3;

/// The past that a file does not hold.
struct Base {
    /// The session that holds it.
    session: String,
    /// Number of its first record that is not part of it.
    end: u64,
}

impl Base {
    /// What the first record of a fork says. One that copied its past says nothing.
    fn of(payload: &Fields<'_>) -> Option<Self> {
        let base = payload.object("history_base");
        let named = base.as_ref().and_then(|base| {
            Some(Self {
                session: base.text("thread_id")?,
                end: base.whole("end_ordinal_exclusive")?,
            })
        });
        named.or_else(|| {
            Some(Self {
                session: payload.text("forked_from_id")?,
                end: payload.whole("forked_from_ordinal_exclusive")?,
            })
        })
    }
}

impl Rollout {
    /// The first line of each file: the session's facts, and the session that it goes on.
    pub(super) fn meta(&mut self, at: &Envelope<'_>, payload: &Fields<'_>, is_start: bool) {
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
            take_over(self, at.line, &base);
        }
    }
}

/// Reads the parent's part before the rest of the file; reports where that cannot be done.
fn take_over(rollout: &mut Rollout, line: u64, base: &Base) {
    let Some(child) = rollout.paths.last().cloned() else {
        return missing(rollout, line, base);
    };
    if rollout.paths.len() > DEEPEST {
        return rollout.report(line, Reason::Fork(ForkProblem::Endless), Outcome::Kept);
    }
    let mut found = locate(&child, &base.session).into_iter();
    let Some(parent) = found.next() else {
        return missing(rollout, line, base);
    };
    if rollout.paths.contains(&parent) {
        return rollout.report(line, Reason::Fork(ForkProblem::Endless), Outcome::Kept);
    }
    if found.next().is_some() {
        let problem = ForkProblem::Ambiguous {
            id: base.session.clone(),
            read: name_of(&parent),
        };
        rollout.report(line, Reason::Fork(problem), Outcome::Kept);
    }
    let source = Source::Parent(Arc::from(name_of(&parent)));
    rollout.paths.push(parent.clone());
    let child_source = std::mem::replace(&mut rollout.source, source);
    let read = read(rollout, &parent, base.end);
    rollout.source = child_source;
    rollout.paths.pop();
    let reached = rollout.due.unwrap_or(0);
    if read.is_err() {
        missing(rollout, line, base);
    } else if reached < base.end {
        let problem = ForkProblem::TooShort { missing: reached };
        rollout.report(line, Reason::Fork(problem), Outcome::Kept);
    }
    // The fork's own numbers go on where it began.
    rollout.due = read.is_ok().then_some(base.end);
}

fn missing(rollout: &mut Rollout, line: u64, base: &Base) {
    let id = base.session.clone();
    let problem = ForkProblem::Missing { id };
    rollout.report(line, Reason::Fork(problem), Outcome::Kept);
}

/// Reads records up to the one with this number. A file without numbers counts its lines.
fn read(rollout: &mut Rollout, path: &Path, end: u64) -> io::Result<()> {
    let mut lines = lines_of(path)?;
    rollout.is_start = true;
    rollout.due = None;
    let (mut counted, mut has_numbers) = (0, false);
    while let Some(line) = lines.next_line()? {
        if line.is_blank() {
            continue;
        }
        let numbered = parse::fields(&line)
            .ok()
            .and_then(|(_, fields)| fields.whole("ordinal"));
        if numbered.unwrap_or(counted) >= end {
            return Ok(());
        }
        counted = numbered.unwrap_or(counted) + 1;
        has_numbers |= numbered.is_some();
        rollout.line(&line);
        if !has_numbers {
            rollout.due = Some(counted);
        }
    }
    Ok(())
}

/// The files that hold a session, the one whose name sorts first in front: by their names beside
/// the child and in its host's folders, else by their first lines beside the child.
fn locate(child: &Path, session: &str) -> Vec<PathBuf> {
    if session.is_empty() {
        return Vec::new();
    }
    let own = child.canonicalize().ok();
    let is_other = |path: &PathBuf| path.canonicalize().ok() != own;
    let folder = child
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut named = Vec::new();
    for (root, deep) in roots(folder) {
        named.extend(
            rollouts(&root, deep)
                .into_iter()
                .filter(|path| name_of(path).contains(session) && is_other(path)),
        );
    }
    if named.is_empty() {
        let beside = rollouts(folder, 0).into_iter().take(LOOKED_INTO);
        named = beside
            .filter(|path| is_other(path) && is_of(path, session))
            .collect();
    }
    named.sort_by_key(|path| name_of(path));
    named.dedup_by_key(|path| path.canonicalize().ok());
    named
}

/// The folders to look into, each with how deep: the child's own, and its host's whole tree.
fn roots(folder: &Path) -> Vec<(PathBuf, usize)> {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let is_tree = |folder: &&Path| {
        folder
            .file_name()
            .is_some_and(|name| name == "sessions" || name == "archived_sessions")
    };
    let home = whole
        .ancestors()
        .take(FOLDERS_DEEP + 1)
        .find(is_tree)
        .and_then(Path::parent);
    match home {
        Some(home) => ["sessions", "archived_sessions"]
            .map(|tree| (home.join(tree), FOLDERS_DEEP))
            .to_vec(),
        None => vec![(folder.to_owned(), 0)],
    }
}

/// The rollouts in a folder, and in its folders so deep.
fn rollouts(folder: &Path, deep: usize) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in read.flatten().map(|entry| entry.path()) {
        let name = name_of(&path);
        let name = name.strip_suffix(".zst").unwrap_or(&name);
        if Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            found.push(path);
        } else if deep > 0 && path.is_dir() {
            found.extend(rollouts(&path, deep - 1));
        }
    }
    found.sort();
    found
}

/// Whether the first line of a file says that it is this session.
fn is_of(path: &Path, session: &str) -> bool {
    let first = lines_of(path).and_then(|mut lines| lines.next_line());
    let Ok(Some(line)) = first else {
        return false;
    };
    let Ok((_, fields)) = parse::fields(&line) else {
        return false;
    };
    match record(&fields) {
        Record::Wrapped(name, payload) => {
            let payload = Fields::parse(payload.get()).ok();
            let id = payload.and_then(|payload| payload.text("id"));
            name == "session_meta" && id.as_deref() == Some(session)
        }
        Record::Bare(_)
        | Record::BareMeta
        | Record::State
        | Record::NoPayload(_)
        | Record::Foreign(_)
        | Record::Untyped => false,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
