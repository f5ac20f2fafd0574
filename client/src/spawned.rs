//! An engine that its host runs: started, watched over, started again, and never left behind.

mod command;
#[cfg(unix)]
mod output;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod restarts;

pub use command::{InvalidCommand, SpawnCommand};

#[cfg(unix)]
mod supervise;

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use contextwire_proto::limits;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::status::ProcessStatus;

/// How long a connection waits for an engine that is starting; short of what connecting may take, so
/// that the error can say so.
const WAIT: Duration = limits::CONNECT_TIMEOUT.saturating_sub(Duration::from_millis(200));

/// What an engine is doing now.
#[derive(Clone, Debug, Default)]
struct Phase {
    is: Is,
    starts: u64,
    /// Why it was started again.
    reason: Option<String>,
    /// What it said last before that.
    last_lines: Vec<String>,
}

#[derive(Clone, Debug, Default)]
enum Is {
    #[default]
    Starting,
    Ready {
        socket: PathBuf,
        pid: u32,
    },
    Down,
    CrashLoop,
}

/// An engine of this process's own. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Spawned {
    command: SpawnCommand,
    phase: watch::Sender<Phase>,
    supervised: OnceLock<DropGuard>,
}

impl Spawned {
    /// Starts at once inside of a tokio runtime, else when it is first needed.
    pub(crate) fn new(command: SpawnCommand) -> Self {
        let spawned = Self {
            command,
            phase: watch::Sender::new(Phase::default()),
            supervised: OnceLock::new(),
        };
        spawned.start();
        spawned
    }

    fn start(&self) {
        if Handle::try_current().is_err() {
            return;
        }
        self.supervised.get_or_init(|| {
            let stop = CancellationToken::new();
            #[cfg(unix)]
            tokio::spawn(supervise::supervise(
                self.command.clone(),
                self.phase.clone(),
                stop.clone(),
            ));
            #[cfg(not(unix))]
            self.phase.send_modify(|now| {
                now.is = Is::CrashLoop;
                now.reason = Some("engines are run on systems with Unix sockets only".to_owned());
            });
            stop.drop_guard()
        });
    }

    /// Where it listens; waits a little while it starts.
    ///
    /// # Errors
    /// When it is not there yet, or will not be.
    pub(crate) async fn socket(&self) -> io::Result<PathBuf> {
        self.start();
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|now| matches!(now.is, Is::Ready { .. } | Is::CrashLoop));
        let now = match timeout(WAIT, settled).await {
            Ok(Ok(now)) => now.clone(),
            Ok(Err(_)) | Err(_) => self.phase.borrow().clone(),
        };
        match now.is {
            Is::Ready { socket, .. } => Ok(socket),
            Is::Starting => Err(io::Error::other(now.why("the engine is still starting"))),
            Is::Down => Err(io::Error::other(now.why("the engine ended"))),
            Is::CrashLoop => Err(io::Error::other(now.why("the engine ends again and again"))),
        }
    }

    pub(crate) fn status(&self) -> ProcessStatus {
        let now = self.phase.borrow().clone();
        let (state, pid) = match now.is {
            Is::Starting => ("starting", None),
            Is::Ready { pid, .. } => ("ready", Some(pid)),
            Is::Down => ("down", None),
            Is::CrashLoop => ("crash-loop", None),
        };
        ProcessStatus {
            state: state.to_owned(),
            pid,
            starts: now.starts,
            ended_because: now.reason,
            last_lines: now.last_lines,
        }
    }
}

impl Phase {
    fn why(&self, what: &str) -> String {
        let last = self.last_lines.last();
        let parts = [Some(what), self.reason.as_deref(), last.map(String::as_str)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
}
