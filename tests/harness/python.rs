//! An old engine in Python, as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use contextwire_client::Target;
use contextwire_engine::Hook;
use contextwire_proto::FILE_DESCRIPTOR_SET;
use tempfile::TempDir;

use super::old::Temper;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const LISTENING: &str = "listening on ";
const ARRIVALS: &str = "arrivals";

/// What an engine of that time was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Age {
    pub(crate) minor: u32,
    /// The minor that it says it has.
    pub(crate) announced: u32,
    /// Whether it knows `must_understand`.
    pub(crate) names: bool,
}

/// A running engine; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct PythonEngine {
    child: Child,
    // Its end is the end of the engine.
    _input: ChildStdin,
    target: Target,
    folder: TempDir,
}

/// The interpreter with the packages of the engine; nothing where nobody has set it up.
pub(crate) fn python() -> Option<PathBuf> {
    let folder = Path::new(ROOT).join("target/old-engines");
    let program = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    let wanted = std::fs::read(Path::new(ROOT).join("tests/old_engines/requirements.txt")).unwrap();
    let installed = std::fs::read(folder.join("requirements.txt")).ok()?;
    (installed == wanted).then(|| folder.join(program))
}

impl PythonEngine {
    /// Starts it; when this returns, hosts can connect.
    pub(crate) async fn start(python: &Path, age: Age, temper: Temper) -> Self {
        let python = python.to_owned();
        let start = move || Self::start_now(&python, age, temper);
        tokio::task::spawn_blocking(start).await.unwrap()
    }

    fn start_now(python: &Path, age: Age, temper: Temper) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let descriptors = folder.path().join("contract.bin");
        std::fs::write(&descriptors, FILE_DESCRIPTOR_SET).unwrap();
        let temper = match temper {
            Temper::Tolerant => "tolerant",
            Temper::Strict => "strict",
            Temper::Throwing => "throwing",
        };
        let names = if age.names { "names" } else { "no-names" };
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(python)
            .arg(Path::new(ROOT).join("tests/old_engines/engine.py"))
            .arg(descriptors)
            .arg(folder.path().join(ARRIVALS))
            .args([&age.minor.to_string(), &age.announced.to_string()])
            .args([temper, names])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix(LISTENING);
        let target = address.expect("an address").parse().unwrap();
        Self {
            child,
            _input: input,
            target,
            folder,
        }
    }

    /// Where it listens.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// How often a hook arrived, refused ones included. What it answered, it has written down.
    pub(crate) fn arrived(&self, hook: Hook) -> usize {
        let seen = std::fs::read_to_string(self.folder.path().join(ARRIVALS)).unwrap();
        seen.lines().filter(|name| *name == hook.name()).count()
    }
}

impl Drop for PythonEngine {
    fn drop(&mut self) {
        let _gone = self.child.kill().is_err();
        let _gone = self.child.wait().is_err();
    }
}
