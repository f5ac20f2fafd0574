//! What the engines of the tests that are written in Python need. Without it their tests are skipped.

use std::process::{Command, Stdio};

use crate::step::Step;

const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// Sets up the packages of old engines, in a folder beside what cargo builds.
pub(crate) fn old_engines() -> Step {
    const TITLE: &str = "old engines in Python";
    if has_python() {
        let args = ["tests/old_engines/set_up.py", "target/old-engines"];
        Step::run(TITLE, PYTHON, &args)
    } else {
        Step::skipped(TITLE, "python3 is not installed")
    }
}

fn has_python() -> bool {
    let mut command = Command::new(PYTHON);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
