//! An engine of one's own: a child process on a private address, killed with its owner.

use std::process::Stdio;

use contextwire_client::Target;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::config::{self, KEYS};
use crate::engine::EngineChoice;

/// What the service prints when hosts may connect.
const READY: &str = "listening on ";

/// Why the child does not serve.
#[derive(Debug, thiserror::Error)]
pub enum OwnEngineError {
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It ended, or printed something else, before it was ready.
    #[error("the engine process did not start: run `contextwire serve` to see why")]
    NotReady,
}

/// A child that serves one engine.
#[derive(Debug)]
pub struct OwnEngine {
    engine: EngineChoice,
    /// Holds the socket; removed with its content.
    folder: TempDir,
    child: Child,
    target: Target,
}

impl OwnEngine {
    /// Starts the service and waits until hosts may connect.
    ///
    /// # Errors
    /// When the process cannot be started or does not get ready.
    pub async fn start(engine: EngineChoice) -> Result<Self, OwnEngineError> {
        let folder = private_folder().map_err(io("create a private folder"))?;
        let (child, target) = spawn(engine, &folder).await?;
        Ok(Self {
            engine,
            folder,
            child,
            target,
        })
    }

    /// Where it serves.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Kills the process, as a crash would.
    ///
    /// # Errors
    /// When the system refuses.
    pub async fn kill(&mut self) -> Result<(), OwnEngineError> {
        self.child
            .kill()
            .await
            .map_err(io("kill the engine process"))
    }

    /// Starts it again under the same address after [`OwnEngine::kill`].
    ///
    /// # Errors
    /// As [`OwnEngine::start`].
    pub async fn restart(&mut self) -> Result<(), OwnEngineError> {
        (self.child, self.target) = spawn(self.engine, &self.folder).await?;
        Ok(())
    }
}

async fn spawn(engine: EngineChoice, folder: &TempDir) -> Result<(Child, Target), OwnEngineError> {
    let program = std::env::current_exe().map_err(io("find this program"))?;
    let mut command = Command::new(program);
    command.args(["serve", "--config", "none", "--log-filter", "warn"]);
    command.args(["--engine", engine.name()]);
    // What the user's own service is told is not meant for this one.
    for key in KEYS {
        command.env_remove(config::variable(key));
    }
    address(&mut command, folder);
    if engine.has_store() {
        // A replay leaves nothing in the user's own store.
        command
            .arg("--store")
            .arg(folder.path().join("store.sqlite3"));
    }
    let spawned = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = spawned.map_err(io("start the engine process"))?;
    let output = child.stdout.take().ok_or(OwnEngineError::NotReady)?;
    let line = BufReader::new(output).lines().next_line().await;
    let line = line
        .map_err(io("read from the engine process"))?
        .unwrap_or_default();
    let target = line
        .strip_prefix(READY)
        .and_then(|target| target.parse().ok());
    Ok((child, target.ok_or(OwnEngineError::NotReady)?))
}

fn private_folder() -> std::io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("contextwire-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        folder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    folder.tempdir()
}

#[cfg(unix)]
fn address(command: &mut Command, folder: &TempDir) {
    command
        .arg("--socket")
        .arg(folder.path().join("engine.sock"));
}

#[cfg(not(unix))]
fn address(command: &mut Command, _: &TempDir) {
    command.args(["--listen", "127.0.0.1:0"]);
}

fn io(action: &'static str) -> impl FnOnce(std::io::Error) -> OwnEngineError {
    move |source| OwnEngineError::Io { action, source }
}
