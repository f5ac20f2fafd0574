//! The TypeScript packages and the plugin in real hosts: `tests/hosts/run.mjs` does the work, since it needs Node
//! anyway. Without Node or npm the steps say so and pass; a host that cannot be installed is a failure, unless
//! `CONTEXTWIRE_SKIP_HOSTS` leaves the hosts out.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::step::Step;

const NODE: &str = if cfg!(windows) { "node.exe" } else { "node" };
const RUN: &str = "tests/hosts/run.mjs";
const NO_NODE: &str = "node is not installed";

/// Gateways start slowly on a busy machine.
const LONG: Duration = Duration::from_hours(1);

/// Generated code, types, bundle and unit tests of the TypeScript packages.
pub(crate) fn packages() -> Step {
    const TITLE: &str = "typescript packages";
    node(TITLE, "packages")
}

/// One life of a session in a real OpenClaw, with the command that the build of the tests made.
pub(crate) fn quick() -> Step {
    node("openclaw gateway", "quick").within(LONG)
}

/// The command that serves engines, then the plugin in a real OpenClaw, on both of its harnesses, and the
/// command on a real Codex.
pub(crate) fn hosts() -> Vec<Step> {
    let build = Step::cargo("engine build", "build -p contextwire -j2");
    let tests = [
        ("openclaw gateway, quick", "quick"),
        ("openclaw gateway, all cases", "gateway"),
        ("openclaw on codex", "openclaw_codex"),
        ("codex app-server", "codex"),
    ];
    let tests = tests.map(|(title, task)| node(title, task).within(LONG));
    [build].into_iter().chain(tests).collect()
}

fn node(title: &'static str, task: &str) -> Step {
    if has_node() {
        Step::run(title, NODE, &[RUN, task]).counted()
    } else {
        Step::skipped(title, NO_NODE)
    }
}

fn has_node() -> bool {
    let mut command = Command::new(NODE);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
