//! A step: one command with a heading, a time limit and an outcome.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Generous for two cores that start from nothing; what takes longer hangs.
const LIMIT: Duration = Duration::from_mins(20);

const FAILURE: &str = "FAILED";

/// One command of a plan.
#[derive(Debug)]
pub(crate) struct Step {
    /// What the heading and the summary call it.
    pub(crate) title: &'static str,
    /// What is done.
    pub(crate) work: Work,
    /// Whether it makes sense after a failure.
    pub(crate) needs: Needs,
    /// What the summary says when it fails.
    pub(crate) failure: &'static str,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum Work {
    /// Runs a command, killed after `limit`.
    Run {
        command: Box<Command>,
        output: Output,
        limit: Duration,
    },
    /// Does nothing here, for the reason given. Not a failure.
    Skip(&'static str),
}

/// What has to be true before a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The step before it passed.
    Previous,
}

/// Where a command's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Straight to ours.
    Inherited,
    /// To ours line by line, while the results of test binaries in it are added up.
    Counted,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command exited with zero.
    Passed,
    /// The command exited otherwise, or could not be started.
    Failed,
    /// The command was killed at its limit.
    TimedOut,
    /// There was nothing to run.
    Skipped,
    /// The developer stopped everything.
    Interrupted,
}

impl Step {
    /// A step that runs `program` with `args` in the workspace folder.
    pub(crate) fn run(title: &'static str, program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(workspace())
            .stdin(Stdio::null());
        Self {
            title,
            work: Work::Run {
                command: Box::new(command),
                output: Output::Inherited,
                limit: LIMIT,
            },
            needs: Needs::Nothing,
            failure: FAILURE,
        }
    }

    /// A step that runs `cargo` with the words of a line.
    pub(crate) fn cargo(title: &'static str, line: &str) -> Self {
        let args: Vec<&str> = line.split_whitespace().collect();
        Self::run(title, "cargo", &args)
    }

    /// A step that only says why it does not run.
    pub(crate) fn skipped(title: &'static str, reason: &'static str) -> Self {
        Self {
            title,
            work: Work::Skip(reason),
            needs: Needs::Nothing,
            failure: FAILURE,
        }
    }

    /// The same step with one more environment variable for its command.
    pub(crate) fn with_env(mut self, key: &str, value: &str) -> Self {
        if let Work::Run { command, .. } = &mut self.work {
            command.env(key, value);
        }
        self
    }

    /// The same step with the results of its test binaries added up.
    pub(crate) fn counted(mut self) -> Self {
        if let Work::Run { output, .. } = &mut self.work {
            *output = Output::Counted;
        }
        self
    }

    /// The same step, left out when the one before it failed.
    pub(crate) fn after_previous(mut self) -> Self {
        self.needs = Needs::Previous;
        self
    }

    /// The same step with its own word for a failure.
    pub(crate) fn failing_with(mut self, failure: &'static str) -> Self {
        self.failure = failure;
        self
    }

    /// The same step, killed after `limit` instead.
    pub(crate) fn within(mut self, new_limit: Duration) -> Self {
        if let Work::Run { limit, .. } = &mut self.work {
            *limit = new_limit;
        }
        self
    }
}

/// The folder of the workspace that this program was built from.
pub(crate) fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
