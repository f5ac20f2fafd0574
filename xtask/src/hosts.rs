//! The TypeScript packages and the plugin in real hosts: `tests/hosts/run.mjs` does the work, since it needs Node
//! anyway. Without Node, npm or its registry the steps say so and pass.

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

/// The command that serves engines, then the plugin in a real OpenClaw, and the command on a real Codex.
pub(crate) fn hosts() -> Vec<Step> {
    let build = Step::cargo("engine build", "build -p contextwire -j2");
    let gateway = node("openclaw gateway", "gateway")
        .within(LONG)
        .after_previous();
    vec![
        build,
        gateway,
        node("codex app-server", "codex").within(LONG),
    ]
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
