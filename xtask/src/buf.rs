//! The protocol checks: `buf`, which comes from the npm registry and so needs Node.

use std::process::{Command, Stdio};

use crate::step::{Step, workspace};

const PACKAGE: &str = "@bufbuild/buf@1.75.0";
const NPX: &str = if cfg!(windows) { "npx.cmd" } else { "npx" };
const NO_NODE: &str = "node is not installed, and buf runs through npx";

/// Checks the style of the `.proto` files.
pub(crate) fn lint() -> Step {
    const TITLE: &str = "protocol lint";
    if has_npx() {
        buf(TITLE, &["lint"])
    } else {
        Step::skipped(TITLE, NO_NODE)
    }
}

/// Compares the `.proto` files with the newest release. Before the first one there is nothing to break.
pub(crate) fn breaking() -> Step {
    const TITLE: &str = "protocol compatibility";
    let Some(tag) = newest_release() else {
        return Step::skipped(TITLE, "no release tag to compare with");
    };
    if !has_npx() {
        return Step::skipped(TITLE, NO_NODE);
    }
    buf(
        TITLE,
        &["breaking", "--against", &format!(".git#tag={tag}")],
    )
}

fn buf(title: &'static str, args: &[&str]) -> Step {
    let mut all = vec!["--yes", PACKAGE];
    all.extend(args);
    Step::run(title, NPX, &all)
}

fn has_npx() -> bool {
    let mut command = Command::new(NPX);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn newest_release() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"])
        .current_dir(workspace())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let tag = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !tag.is_empty()).then_some(tag)
}
