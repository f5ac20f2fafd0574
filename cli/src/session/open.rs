//! Finds out what a file is, by its content, and reads it with the reader for that.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use super::codex::{self, Rollout};
use super::format::Format;
use super::kind::FileKind;
use super::line::{Line, Lines, MAX_LINE_BYTES};
use super::problem::Reason;
use super::read_error::{ReadError, Strictness};
use super::reader::Reader;
use super::{Session, page, parse, sqlite};

/// Bytes at the start of a file that decide what it looks like.
const SAMPLE_BYTES: u64 = 64 * 1024;

/// Lines without a trace of a session after which a file is taken for another kind.
const GIVE_UP_AFTER: usize = 100;

/// Bytes of such lines that are kept for the reader that they turn out to be for.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// Reads a session file of any format, found out by its content: JSON Lines of OpenClaw and pi,
/// OpenClaw's SQLite store, rollouts of Codex, each of the files also packed with Zstandard.
///
/// Of a file that holds several sessions the one with the id `chosen` is read. One line is in
/// memory at a time; the entries of the session stay. A line over 64 MiB is skipped.
///
/// # Errors
/// [`ReadError::Io`] when the file cannot be read, [`ReadError::OtherKind`] when no line of it
/// belongs to a session, [`ReadError::Store`] for databases, [`ReadError::NoSuchSession`] and
/// [`ReadError::SeveralSessions`] where `chosen` chooses none, [`ReadError::Damaged`] under
/// [`Strictness::Strict`].
pub fn read_chosen(
    path: &Path,
    chosen: Option<&str>,
    strictness: Strictness,
) -> Result<Session, ReadError> {
    // Opening a directory fails with a different error on each platform.
    if fs::metadata(path).map_err(ReadError::Io)?.is_dir() {
        return Err(ReadError::OtherKind {
            kind: FileKind::Directory,
        });
    }
    let session = if sqlite::is_database(path).map_err(ReadError::Io)? {
        sqlite::read(path, chosen)?
    } else {
        let file = File::open(path).map_err(ReadError::Io)?;
        text(
            BufReader::with_capacity(64 * 1024, file),
            Some(path),
            chosen,
        )?
    };
    check(session, strictness)
}

/// Reads a session from any source, for example standard input or [`SAMPLE`](super::SAMPLE).
///
/// # Errors
/// As [`read_chosen`].
pub fn read_from(input: impl BufRead, strictness: Strictness) -> Result<Session, ReadError> {
    check(text(input, None, None)?, strictness)
}

fn check(session: Session, strictness: Strictness) -> Result<Session, ReadError> {
    match strictness {
        Strictness::Strict if !session.problems.is_empty() => Err(ReadError::Damaged {
            problems: session.problems,
        }),
        Strictness::Strict | Strictness::Lenient => Ok(session),
    }
}

/// What the first bytes of an input are, packed or not, and the input from its start.
fn sampled(mut input: impl BufRead) -> io::Result<(Vec<u8>, impl BufRead)> {
    let mut sample = Vec::new();
    (&mut input).take(SAMPLE_BYTES).read_to_end(&mut sample)?;
    Ok((sample.clone(), Cursor::new(sample).chain(input)))
}

fn text(
    input: impl BufRead,
    path: Option<&Path>,
    chosen: Option<&str>,
) -> Result<Session, ReadError> {
    let (sample, input) = sampled(input).map_err(ReadError::Io)?;
    if !sample.starts_with(ZSTD_MAGIC) {
        return unpacked(&sample, input, path, chosen);
    }
    let decoder = StreamingDecoder::new(input).map_err(|error| ReadError::Io(bad_zstd(error)))?;
    let (sample, input) = sampled(BufReader::new(decoder)).map_err(ReadError::Io)?;
    unpacked(&sample, input, path, chosen)
}

fn bad_zstd(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Lines of a session file, packed or not, as one of a rollout's parents is read.
pub(super) fn lines_of(path: &Path) -> io::Result<Lines<Box<dyn BufRead>>> {
    let file = BufReader::with_capacity(64 * 1024, File::open(path)?);
    let (sample, input) = sampled(file)?;
    let input: Box<dyn BufRead> = if sample.starts_with(ZSTD_MAGIC) {
        Box::new(BufReader::new(
            StreamingDecoder::new(input).map_err(bad_zstd)?,
        ))
    } else {
        Box::new(input)
    };
    Ok(Lines::new(input, MAX_LINE_BYTES))
}

fn unpacked(
    sample: &[u8],
    input: impl BufRead,
    path: Option<&Path>,
    chosen: Option<&str>,
) -> Result<Session, ReadError> {
    if let Some(kind) = FileKind::from_magic(sample) {
        return Err(ReadError::OtherKind { kind });
    }
    if page::looks_like_one(sample) {
        return page::read(input);
    }
    let mut lines = Lines::new(input, MAX_LINE_BYTES);
    let (first, is_codex) = first_lines(&mut lines).map_err(ReadError::Io)?;
    let session = if is_codex {
        let mut rollout = Rollout::at(path);
        feed(first, lines, |line| rollout.line(line)).map_err(ReadError::Io)?;
        rollout.finish()
    } else {
        let mut reader = Reader::of_lines(chosen.map(str::to_owned));
        for line in &first {
            reader.line(line);
        }
        // The rows of a chosen session may come late.
        if reader.is_recognised() || chosen.is_some() {
            feed(Vec::new(), lines, |line| reader.line(line)).map_err(ReadError::Io)?;
        }
        if !reader.is_recognised() && chosen.is_none() {
            return Err(ReadError::OtherKind {
                kind: FileKind::guess(sample),
            });
        }
        reader.finish()
    };
    is_chosen(session, chosen)
}

/// Reads until a line tells what the file is; whether that is a rollout.
fn first_lines(lines: &mut Lines<impl BufRead>) -> io::Result<(Vec<Line>, bool)> {
    let mut first = Vec::new();
    let mut kept = 0;
    while first.len() < GIVE_UP_AFTER && kept < KEPT_BYTES {
        let Some(line) = lines.next_line()? else {
            break;
        };
        if line.is_blank() {
            continue;
        }
        kept += line.len();
        let told = tell(&line);
        first.push(line);
        if let Some(is_codex) = told {
            return Ok((first, is_codex));
        }
    }
    Ok((first, false))
}

/// Whether a line is a record of Codex; `None` where it may be anything.
fn tell(line: &Line) -> Option<bool> {
    let (_, fields) = parse::fields(line).ok()?;
    if codex::is_record(&fields) {
        return Some(true);
    }
    let is_row = fields.get("type").is_none() && fields.get("event").is_some();
    let is_header = fields.text("type").as_deref() == Some("session");
    (is_row || is_header).then_some(false)
}

fn feed(
    first: Vec<Line>,
    mut lines: Lines<impl BufRead>,
    mut each: impl FnMut(&Line),
) -> io::Result<()> {
    for line in first {
        each(&line);
    }
    while let Some(line) = lines.next_line()? {
        if !line.is_blank() {
            each(&line);
        }
    }
    Ok(())
}

/// Refuses a session that is not the one that was asked for.
fn is_chosen(session: Session, chosen: Option<&str>) -> Result<Session, ReadError> {
    let Some(chosen) = chosen.filter(|chosen| session.header.id.as_deref() != Some(*chosen)) else {
        return Ok(session);
    };
    if session.format == Format::Rows && !session.entries.is_empty() {
        return Ok(session);
    }
    let mut known: Vec<String> = session.header.id.into_iter().collect();
    for problem in session.problems {
        if let Reason::OtherSession { id } = problem.reason
            && !known.contains(&id)
        {
            known.push(id);
        }
    }
    Err(ReadError::NoSuchSession {
        id: chosen.to_owned(),
        known,
    })
}
