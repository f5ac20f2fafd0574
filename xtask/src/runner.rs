//! Runs one command to its end, its time limit or the developer's Ctrl-C, whichever comes first.

use std::io::{self, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::group;
use crate::report;
use crate::step::{Outcome, Output, Step, Work};
use crate::totals::{self, Totals};

/// How long a killed group may take to be gone.
const GRACE: Duration = Duration::from_secs(10);

/// Runs steps, one at a time.
#[derive(Debug)]
pub(crate) struct Runner {
    events: Receiver<Event>,
    sender: Sender<Event>,
    echo: Echo,
}

/// Opens what counted output is copied to.
type Echo = fn() -> Box<dyn Write>;

/// How a step ended and what its tests said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// How the command ended.
    pub(crate) outcome: Outcome,
    /// The sums over its test binaries; zero where they are not counted.
    pub(crate) totals: Totals,
}

/// Why the commands cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunnerError {
    /// Ctrl-C would leave the children running.
    #[error("the handler for Ctrl-C could not be installed")]
    Signals(#[source] ctrlc::Error),
}

#[derive(Debug)]
enum Event {
    Interrupted,
    Ended { success: bool, totals: Totals },
}

impl Runner {
    /// A runner that copies counted output to `echo` and listens for Ctrl-C and SIGTERM. Only one can exist in a process.
    ///
    /// # Errors
    /// [`RunnerError::Signals`] when a handler is installed already.
    pub(crate) fn new(echo: Echo) -> Result<Self, RunnerError> {
        let (sender, events) = channel();
        let interrupts = sender.clone();
        ctrlc::set_handler(move || {
            // The receiver lives as long as `main`.
            let _sent = interrupts.send(Event::Interrupted);
        })
        .map_err(RunnerError::Signals)?;
        Ok(Self {
            events,
            sender,
            echo,
        })
    }

    /// Runs one step to its end.
    pub(crate) fn run(&self, step: Step) -> Ended {
        let Work::Run {
            command,
            output,
            limit,
        } = step.work
        else {
            return Ended {
                outcome: Outcome::Skipped,
                totals: Totals::default(),
            };
        };
        match start(*command, output) {
            Ok(child) => self.wait(child, limit),
            Err(error) => {
                report::trouble(&error);
                Ended {
                    outcome: Outcome::Failed,
                    totals: Totals::default(),
                }
            }
        }
    }

    fn wait(&self, child: Child, limit: Duration) -> Ended {
        let leader = child.id();
        let (sender, echo) = (self.sender.clone(), self.echo);
        // Ends with the child; after a kill that the child survives nobody waits for it.
        thread::spawn(move || {
            let _sent = sender.send(follow(child, echo));
        });
        let outcome = match self.events.recv_timeout(limit) {
            Ok(Event::Ended { success, totals }) => {
                let outcome = if success {
                    Outcome::Passed
                } else {
                    Outcome::Failed
                };
                return Ended { outcome, totals };
            }
            Ok(Event::Interrupted) => Outcome::Interrupted,
            Err(_elapsed) => Outcome::TimedOut,
        };
        Ended {
            outcome,
            totals: self.end(leader),
        }
    }

    /// Kills the group and takes what its tests had said until then.
    fn end(&self, leader: u32) -> Totals {
        group::kill(leader);
        while let Ok(event) = self.events.recv_timeout(GRACE) {
            if let Event::Ended { totals, .. } = event {
                return totals;
            }
        }
        Totals::default()
    }
}

fn start(mut command: Command, output: Output) -> io::Result<Child> {
    group::lead(&mut command);
    if output == Output::Counted {
        command.stdout(Stdio::piped());
    }
    command.spawn()
}

/// Reads the child's output to its end, then takes its exit.
fn follow(mut child: Child, echo: Echo) -> Event {
    let totals = match child.stdout.take() {
        Some(stdout) => totals::forward(BufReader::new(stdout), echo()),
        None => Totals::default(),
    };
    let success = child.wait().is_ok_and(|status| status.success());
    Event::Ended { success, totals }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// One test for all of it, since a process has one handler for Ctrl-C.
    #[test]
    fn a_step_ends_by_itself_or_at_its_limit() {
        let runner = Runner::new(|| Box::new(io::sink())).unwrap();
        let shell = |script| Step::run("shell", "sh", &["-c", script]);
        let outcome = |step| runner.run(step).outcome;
        assert_eq!(outcome(shell("exit 0")), Outcome::Passed);
        assert_eq!(outcome(shell("exit 3")), Outcome::Failed);
        assert_eq!(
            outcome(Step::run("none", "no-such-program-here", &[])),
            Outcome::Failed
        );
        assert_eq!(
            outcome(Step::skipped("none", "not today")),
            Outcome::Skipped
        );

        let script =
            "echo 'test result: ok. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'";
        let counted = runner.run(shell(script).counted());
        let expected = Totals {
            passed: 2,
            failed: 1,
            skipped: 0,
        };
        assert_eq!(
            counted,
            Ended {
                outcome: Outcome::Passed,
                totals: expected
            }
        );

        let hung = shell("sleep 600").within(Duration::from_millis(50));
        assert_eq!(outcome(hung), Outcome::TimedOut);
    }
}
