//! One start of an engine: its process group, its folder, its socket.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use contextwire_proto::handshake::HostDescription;
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use contextwire_proto::{limits, v1};
use hyper_util::rt::TokioIo;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::command::SpawnCommand;
use super::output::{LastLines, capture};

/// What stands between the engine and its host, for the case that the host dies without a word.
const WATCHDOG: &str = include_str!("watchdog.sh");
/// How long an engine may take to end by itself once it is told to.
const GRACE: Duration = Duration::from_secs(10);
/// What its end may take beyond that.
const SLACK: Duration = Duration::from_secs(3);
/// Between two looks whether it is ready.
const LOOK: Duration = Duration::from_millis(20);

/// A running engine.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pid: u32,
    /// Closed to end it. It closes with this process as well, whatever becomes of it.
    host: Option<ChildStdin>,
    /// Removed with it, by the watchdog where this process is gone.
    folder: TempDir,
    pub(super) last_lines: LastLines,
}

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    /// When there is no room for its folder or its process.
    pub(super) fn start(command: &SpawnCommand) -> io::Result<Self> {
        let mut folder = tempfile::Builder::new();
        let folder = folder
            .prefix("contextwire-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let socket = socket_in(folder.path());
        let mut child = Command::new("/bin/sh")
            .args(["-c", WATCHDOG, "contextwire-watchdog"])
            .arg(folder.path())
            .arg(GRACE.as_secs().to_string())
            .args(command.words(&socket))
            .env("CONTEXTENGINE_SOCKET", &socket)
            .env("CONTEXTWIRE_SERVER_SOCKET", &socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pid = child.id().unwrap_or_default();
        let last_lines = LastLines::default();
        if let Some(out) = child.stdout.take() {
            tokio::spawn(capture(pid, "stdout", out, None));
        }
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(capture(pid, "stderr", errors, Some(last_lines.clone())));
        }
        Ok(Self {
            host: child.stdin.take(),
            child,
            pid,
            folder,
            last_lines,
        })
    }

    /// The process group, for people.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn socket(&self) -> PathBuf {
        socket_in(self.folder.path())
    }

    /// Ends with the engine; says how that was. Safe to cancel.
    pub(super) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => how(status),
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }

    /// Ends it: by the signal that asks, later by the one that does not. Whoever gives this up leaves
    /// the rest to the watchdog.
    pub(super) async fn stop(mut self) {
        self.host.take();
        if timeout(GRACE + SLACK, self.child.wait()).await.is_ok() {
            return;
        }
        // Its leader was not waited for, so the group is still its own.
        let leader = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = leader.and_then(Pid::from_raw) {
            let _gone = kill_process_group(group, Signal::KILL).is_err();
        }
        let _gone = self.child.wait().await.is_err();
    }
}

/// Ends when the engine answers at this socket and does not say that it is still starting.
pub(super) async fn ready(socket: &Path) {
    while UnixStream::connect(socket).await.is_err() {
        sleep(LOOK).await;
    }
    let mut stub = ContextEngineServiceClient::new(channel(socket.to_owned()));
    let host = HostDescription {
        protocol: limits::PROTOCOL,
        ..HostDescription::default()
    };
    loop {
        let asked = stub.describe(v1::DescribeRequest::from(host.clone()));
        let share = contextwire_engine::Hook::Describe.profile().deadline;
        match timeout(share, asked).await {
            Ok(Ok(answer)) if answer.get_ref().state() == v1::EngineState::Starting => {}
            // Who refuses to be described is there; what to make of it is the client's business.
            Ok(Ok(_)) => return,
            Ok(Err(status)) if status.code() != Code::Unavailable => return,
            Ok(Err(_)) | Err(_) => {}
        }
        sleep(LOOK).await;
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("engine.sock")
}

fn channel(socket: PathBuf) -> Channel {
    Endpoint::from_static("http://engine.spawned").connect_with_connector_lazy(service_fn(
        move |_| {
            let socket = socket.clone();
            async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
        },
    ))
}

/// The watchdog ends as the engine did; a shell says signals as codes.
fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "there is no such program".to_owned(),
        Some(code) if code > 128 => format!("it was ended by signal {}", code - 128),
        Some(code) => format!("it ended with code {code}"),
        None => "it was killed".to_owned(),
    }
}
