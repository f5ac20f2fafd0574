//! Running the program, with nothing of the user's own configuration.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The program, not started yet.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contextwire"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CONTEXTWIRE_") {
            command.env_remove(name);
        }
    }
    command.env("CONTEXTWIRE_CONFIG", "none").args(args);
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Output {
    program(args).output().unwrap()
}

/// Runs it to its end with this on its standard input.
pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = program(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// What it printed.
pub(crate) fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).unwrap()
}

/// A running `contextwire serve`, killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    /// What it says it listens on, in its order.
    pub(crate) addresses: Vec<String>,
    // A closed pipe would be an error to the child.
    _out: BufReader<ChildStdout>,
}

impl Service {
    /// Starts it, and waits until hosts may connect to this many addresses.
    pub(crate) fn start(args: &[&str], addresses: usize) -> Self {
        let mut child = program(&["serve", "--log-filter", "warn"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended");
            let address = line.trim_end().strip_prefix("listening on ");
            address.unwrap().to_owned()
        };
        let addresses = (0..addresses).map(|_| next()).collect();
        Self {
            child,
            addresses,
            _out: out,
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _gone = self.child.kill().is_err();
        let _gone = self.child.wait().is_err();
    }
}

/// A folder that nobody else may enter, in another.
#[cfg(unix)]
pub(crate) fn private(root: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::DirBuilderExt;
    let folder = root.join("s");
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .unwrap();
    folder
}
