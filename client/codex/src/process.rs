//! The app-server as a process: never left behind, and what it complains of kept.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::codec::{FramedRead, LinesCodec};

/// How long it may take to end by itself once its input is closed.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Lines of its complaints that are kept, and how long one may be.
const KEPT_LINES: usize = 50;
const KEPT_LINE_BYTES: usize = 4096;

/// How to start the app-server.
#[derive(Clone, Debug)]
pub struct Program {
    /// The `codex` command: a path, or a name that is looked up.
    pub path: PathBuf,
    /// Arguments; `app-server` where there is nothing to add.
    pub args: Vec<String>,
    /// `CODEX_HOME` for it; absent: as this process has it.
    pub codex_home: Option<PathBuf>,
    /// Where it works; absent: where this process does.
    pub cwd: Option<PathBuf>,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            path: PathBuf::from("codex"),
            args: vec!["app-server".to_owned()],
            codex_home: None,
            cwd: None,
        }
    }
}

/// A running app-server. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    complaints: Complaints,
}

impl Process {
    /// Starts it; gives both its ends.
    pub(crate) fn start(program: &Program) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new(&program.path);
        command
            .args(&program.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(home) = &program.codex_home {
            command.env("CODEX_HOME", home);
        }
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn()?;
        let no_pipe = || std::io::Error::other("the process has no pipes");
        let input = child.stdin.take().ok_or_else(no_pipe)?;
        let output = child.stdout.take().ok_or_else(no_pipe)?;
        let complaints = Complaints::default();
        if let Some(stderr) = child.stderr.take() {
            // It ends with the process, whose end closes the pipe.
            tokio::spawn(complaints.clone().follow(stderr));
        }
        Ok((Self { child, complaints }, input, output))
    }

    /// What it complained of last, oldest first.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.lines()
    }

    /// Waits until it has ended by itself, and kills it if it does not. Its input is closed.
    pub(crate) async fn end(mut self) {
        let ended = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        if ended.is_err() {
            tracing::warn!("the app-server does not end by itself: it is killed");
            if let Err(error) = self.child.kill().await {
                tracing::warn!(%error, "the app-server was not killed");
            }
        }
    }
}

/// The last lines of a process's standard error.
#[derive(Clone, Debug, Default)]
struct Complaints(Arc<Mutex<VecDeque<String>>>);

impl Complaints {
    async fn follow(self, stderr: impl AsyncRead + Unpin) {
        let codec = LinesCodec::new_with_max_length(KEPT_LINE_BYTES);
        let mut lines = FramedRead::new(stderr, codec);
        // The stream has an end after each failure, and goes on after it with the next line.
        loop {
            match lines.next().await {
                Some(Ok(line)) => self.keep(line),
                Some(Err(_too_long)) => self.keep("(a line that is too long)".to_owned()),
                None if lines.read_buffer().is_empty() => return,
                None => {}
            }
        }
    }

    fn keep(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program {
            path: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            ..Program::default()
        }
    }

    #[tokio::test]
    async fn a_process_ends_when_its_input_is_closed_and_its_last_complaints_are_kept() {
        let script = "i=0; while [ $i -lt 60 ]; do echo line $i >&2; i=$((i+1)); done; cat";
        let (process, input, output) = Process::start(&shell(script)).unwrap();
        let complaints = process.complaints.clone();
        drop(input);
        process.end().await;
        drop(output);
        while complaints
            .lines()
            .last()
            .is_none_or(|line| line != "line 59")
        {
            tokio::task::yield_now().await;
        }
        assert_eq!(complaints.lines().len(), KEPT_LINES);
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_not_kept_whole() {
        let long = "x".repeat(3 * KEPT_LINE_BYTES);
        let text = format!("first\n{long}\nlast\n");
        let complaints = Complaints::default();
        complaints.clone().follow(text.as_bytes()).await;
        let lines = complaints.lines();
        assert_eq!(lines.first().unwrap(), "first");
        assert_eq!(lines.last().unwrap(), "last");
        assert!(lines.iter().all(|line| line.len() <= KEPT_LINE_BYTES));
    }

    #[tokio::test]
    async fn a_process_that_is_dropped_is_gone() {
        let (process, input, _output) = Process::start(&shell("cat; sleep 600")).unwrap();
        let id = process.child.id().unwrap();
        let stat = PathBuf::from(format!("/proc/{id}/stat"));
        if !stat.exists() {
            return;
        }
        drop(process);
        drop(input);
        let is_there = || {
            let stat = std::fs::read_to_string(&stat).unwrap_or_default();
            let state = stat.rsplit(')').next().unwrap_or_default().trim();
            !state.is_empty() && !state.starts_with('Z')
        };
        while is_there() {
            tokio::task::yield_now().await;
        }
    }
}
