//! The command that starts and stops the engine's process, where the operator gives one.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::check::Verdict;

/// How long a verb may take: a drain waits for running hooks.
const PATIENCE: Duration = Duration::from_mins(1);

/// A shell command that takes one more word: `start`, `stop`, `kill`, `pause`, `resume` or `wipe`.
#[derive(Clone, Debug)]
pub struct Control(pub String);

impl Control {
    /// Runs the command with this verb and waits for its end.
    ///
    /// # Errors
    /// When it fails: nothing can be said of the engine then.
    pub async fn run(&self, verb: &str) -> Result<(), Verdict> {
        let line = format!("{} {verb}", self.0);
        let run = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status();
        let what = match tokio::time::timeout(PATIENCE, run).await {
            Ok(Ok(status)) if status.success() => return Ok(()),
            Ok(Ok(status)) => format!("ended with {status}"),
            Ok(Err(error)) => format!("cannot be run: {error}"),
            Err(_) => format!("took longer than {PATIENCE:?}"),
        };
        Err(Verdict::Inconclusive(format!(
            "the control command `{line}` {what}"
        )))
    }
}
