//! Session files: reading a large one, and counting the tokens of one.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use contextwire_engine::Message;
use contextwire_engine::tokens::{ModelFamily, Precision, tally_message};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::Instant;

use super::measure::{Measured, ROUNDS, median, micros};
use super::row::{Rows, Target};
use super::worked::by_thread as worked;
use super::{Bench, Group};
use crate::report::BenchRow;
use crate::session::{self, Piece, Strictness};

/// The group.
pub(super) const GROUP: Group = Group {
    name: "session",
    about: "reading a session file of 100 MB against a plain scan of its lines, and counting tokens",
    run: |bench| Box::pin(run(bench)),
};

/// Size of the large file.
const BYTES: usize = 100_000_000;

/// User turns of the generated sessions: of one of a working day, and of a part of the large file.
const TURNS: usize = 160;

/// A message that is estimated from samples.
const LONG_MESSAGE: usize = 4_000_000;

async fn run(bench: Bench) -> anyhow::Result<Vec<BenchRow>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the large file")?;
    let rounds = bench.effort.pick(ROUNDS, 1);
    let mut rows = Rows::of(GROUP.name);
    for (name, line) in [
        ("OpenClaw entries", entries as fn(&mut String, usize)),
        ("a Codex rollout", records),
    ] {
        bench.says(format!("{name} of 100 MB"));
        let file = large(&folder, line).context("cannot write the large file")?;
        let speed = read_against_a_scan(&file, rounds)?;
        rows.add(
            format!("{name} of 100 MB read, against a scan of its lines"),
            "MB/s",
            speed,
            Target::AtLeast(200.0),
        );
    }
    bench.says("tokens");
    let file = match &bench.file {
        Some(file) => file.to_path_buf(),
        None => generated(&folder)?,
    };
    rows.add(
        "the tokens of a session, by a process that has just started",
        "ms",
        Measured::alone(cold(&file, rounds).await?),
        Target::Under(300.0),
    );
    rows.add(
        "the estimate of a message of 4 MB",
        "ms",
        Measured::alone(long_message(rounds)),
        Target::Under(20.0),
    );
    Ok(rows.into_rows())
}

/// Files are read one after the other, the reader and the scan by turns; what else the machine does
/// meets both.
fn read_against_a_scan(file: &Path, rounds: usize) -> anyhow::Result<Measured> {
    let megabytes = f64::from(u32::try_from(std::fs::metadata(file)?.len())?) / 1e6;
    let mut speeds = Vec::with_capacity(rounds);
    // The first reading brings the file into memory.
    scan(file)?;
    for _ in 0..rounds {
        let started = worked();
        let session = session::read(file, Strictness::Strict)?;
        let read = worked().saturating_sub(started);
        anyhow::ensure!(session.entries().count() > 1_000, "the large file is small");
        // Freeing it is the next one's affair.
        drop(session);
        let started = worked();
        black_box(scan(file)?);
        let scanned = worked().saturating_sub(started);
        speeds.push((
            megabytes / read.as_secs_f64(),
            megabytes / scanned.as_secs_f64(),
        ));
    }
    Ok(Measured::of_rounds(&speeds))
}

/// Every line into memory of its own, as a reader has to that keeps messages.
fn scan(file: &Path) -> std::io::Result<usize> {
    let mut input = BufReader::with_capacity(64 * 1024, std::fs::File::open(file)?);
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(lines.len());
        }
        lines.push(line);
    }
}

async fn cold(file: &Path, rounds: usize) -> anyhow::Result<f64> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let started = Instant::now();
        let status = Command::new(&program)
            .args(["tokens", "--json"])
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await?;
        times.push(micros(started.elapsed()) / 1_000.0);
        anyhow::ensure!(status.success(), "the tokens were not counted: {status}");
    }
    Ok(median(times))
}

fn long_message(rounds: usize) -> f64 {
    let mut text = String::with_capacity(LONG_MESSAGE + 100);
    while text.len() < LONG_MESSAGE {
        let at = text.len();
        let _fits = write!(
            text,
            "{at:x} the tide comes in at {at} and goes out again; "
        )
        .is_ok();
    }
    let payload = format!(r#"{{"role":"user","content":"{text}"}}"#);
    let message = Message::from_payload(payload);
    let family = ModelFamily::O200k;
    // The vocabulary is nobody's message.
    black_box(contextwire_engine::tokens::count_text(family, "warm"));
    let times = (0..rounds).map(|_| {
        let started = Instant::now();
        black_box(tally_message(family, Precision::Estimate, &message));
        micros(started.elapsed()) / 1_000.0
    });
    median(times.collect())
}

fn generated(folder: &TempDir) -> anyhow::Result<PathBuf> {
    let file = folder.path().join("day.jsonl");
    std::fs::write(&file, session::generate(session::SAMPLE_SEED, TURNS))?;
    Ok(file)
}

/// A file of about [`BYTES`], `lines` adding to it a part with this number.
fn large(folder: &TempDir, lines: fn(&mut String, usize)) -> std::io::Result<PathBuf> {
    let path = folder.path().join("large.jsonl");
    let mut file = std::fs::File::create(&path)?;
    let (mut written, mut part) = (0, 0);
    while written < BYTES {
        let mut text = String::new();
        lines(&mut text, part);
        file.write_all(text.as_bytes())?;
        written += text.len();
        part += 1;
    }
    Ok(path)
}

/// A day of a generated session, its entries as a list without ids: as a real session of a thousand
/// days would be, with its mix of prose, code, JSON and logs.
fn entries(text: &mut String, part: usize) {
    let day = session::generate(session::SAMPLE_SEED.wrapping_add(part as u64), TURNS);
    let Ok(day) = session::read_from(day.as_bytes(), Strictness::Lenient) else {
        return;
    };
    if part == 0 {
        text.push_str("{\"type\":\"session\",\"id\":\"large\"}\n");
    }
    for said in day.conversation() {
        let payload = String::from_utf8_lossy(said.message.payload());
        text.push_str(
            "{\"type\":\"message\",\"timestamp\":\"2026-01-31T23:59:59.999Z\",\"message\":",
        );
        text.push_str(&payload);
        text.push_str("}\n");
    }
}

fn text_of(piece: Piece) -> Option<String> {
    match piece {
        Piece::Text(text) | Piece::Thinking(text) | Piece::Command(text) => Some(text),
        Piece::Call { arguments, .. } => Some(arguments),
        Piece::Image { .. } | Piece::Json(_) => None,
    }
}

/// The same texts as items, each with the event that Codex writes beside it.
fn records(text: &mut String, part: usize) {
    let day = session::generate(session::SAMPLE_SEED.wrapping_add(part as u64), TURNS);
    let Ok(day) = session::read_from(day.as_bytes(), Strictness::Lenient) else {
        return;
    };
    let at = r#"{"timestamp":"2026-01-31T23:59:59.999Z","type":"#;
    if part == 0 {
        let _fits = writeln!(
            text,
            r#"{at}"session_meta","payload":{{"id":"large","model_provider":"acme"}}}}"#
        )
        .is_ok();
    }
    for said in day.conversation() {
        let role = match said.message.role() {
            "assistant" => "assistant",
            _ => "user",
        };
        let texts = session::pieces(said.message.payload()).into_iter();
        let texts: Vec<String> = texts.filter_map(text_of).collect();
        let said = contextwire_engine::json::quote(&texts.join("\n"));
        let _fits = writeln!(
            text,
            r#"{at}"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":{said}}}]}}}}"#
        )
        .is_ok();
        let _fits = writeln!(
            text,
            r#"{at}"event_msg","payload":{{"type":"token_count","info":null}}}}"#
        )
        .is_ok();
    }
}
