//! The rules of the house as ordinary tests: which crate may know which, how long a file may be, what no file contains.
//!
//! The words that no file may contain are put together here from halves, so that these files keep the rules too.

mod architecture;
mod coverage;
mod crates;
mod lock;
mod sources;
mod tracked;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// What a command prints, run in the workspace folder. Panics when it fails, with what it said.
fn output(program: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(args)
        .current_dir(workspace())
        .output()
        .unwrap_or_else(|error| panic!("`{program}` did not start: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`{program} {}` failed: {stderr}",
        args.join(" ")
    );
    output.stdout
}

/// A text of a tracked file, or of one that would be tracked by the next commit.
#[derive(Debug)]
struct Text {
    /// Relative to the workspace, with `/`.
    path: String,
    body: String,
}

impl Text {
    fn is_rust(&self) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// All files that are text. What is listed but gone from the disk is left out.
fn texts() -> Vec<Text> {
    let listed = output("git", &["ls-files", "-co", "--exclude-standard", "-z"]);
    let listed = String::from_utf8(listed).unwrap();
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    let read = |path: &str| {
        let file: PathBuf = workspace().join(path);
        let body = String::from_utf8(std::fs::read(file).ok()?).ok()?;
        Some(Text {
            path: path.to_owned(),
            body,
        })
    };
    paths.filter_map(read).collect()
}

fn rust_texts() -> impl Iterator<Item = Text> {
    texts().into_iter().filter(Text::is_rust)
}

/// Fails with all problems at once, one a line.
fn none(rule: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{rule}:\n  {}", problems.join("\n  "));
}
