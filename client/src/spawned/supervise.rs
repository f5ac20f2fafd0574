//! Watches over an engine: ready in time or started again, with pauses that grow.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::command::SpawnCommand;
use super::process::{Process, ready};
use super::restarts::{Next, Restarts};
use super::{Is, Phase};

/// How long an engine may take until it is ready; a large store is opened in that time.
const READY: Duration = Duration::from_secs(30);

/// How one start of the engine went.
struct Run {
    why: String,
    ready_for: Option<Duration>,
    last_lines: Vec<String>,
}

/// Keeps an engine running until it is told to stop.
pub(super) async fn supervise(
    command: SpawnCommand,
    phase: watch::Sender<Phase>,
    stop: CancellationToken,
) {
    let mut restarts = Restarts::default();
    loop {
        phase.send_modify(|now| {
            now.is = Is::Starting;
            now.starts += 1;
        });
        let Some(run) = run(&command, &phase, &stop).await else {
            return;
        };
        let next = restarts.ended(run.ready_for);
        let (pause, why) = (next.pause(), &run.why);
        let last = run.last_lines.last().map(String::as_str);
        let is = match next {
            Next::Again(_) => {
                tracing::warn!(%command, why, last, ?pause, "the engine ended: started again");
                Is::Down
            }
            Next::CrashLoop(_) => {
                tracing::error!(
                    %command, why, last, ?pause,
                    "the engine ends soon after every start: see what it says, and mend it"
                );
                Is::CrashLoop
            }
        };
        phase.send_modify(|now| {
            now.is = is;
            now.reason = Some(run.why);
            now.last_lines = run.last_lines;
        });
        if stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return;
        }
    }
}

/// One start, until the engine ends; `None` when it was to stop.
async fn run(
    command: &SpawnCommand,
    phase: &watch::Sender<Phase>,
    stop: &CancellationToken,
) -> Option<Run> {
    let mut process = match Process::start(command) {
        Ok(process) => process,
        Err(error) => {
            return Some(Run {
                why: format!("it cannot be started: {error}"),
                ready_for: None,
                last_lines: Vec::new(),
            });
        }
    };
    let last_lines = process.last_lines.clone();
    let mut ready_at = None;
    let why = tokio::select! {
        () = stop.cancelled() => None,
        why = watched(&mut process, phase, &mut ready_at) => Some(why),
    };
    process.stop().await;
    Some(Run {
        why: why?,
        ready_for: ready_at.map(|at: Instant| at.elapsed()),
        last_lines: last_lines.all(),
    })
}

/// Ends when the engine is no use any more; says why.
async fn watched(
    process: &mut Process,
    phase: &watch::Sender<Phase>,
    ready_at: &mut Option<Instant>,
) -> String {
    let socket = process.socket();
    tokio::select! {
        how = process.ended() => return how,
        ready = timeout(READY, ready(&socket)) => if ready.is_err() {
            return format!("it was not ready after {READY:?}");
        },
    }
    let pid = process.pid();
    phase.send_modify(|now| now.is = Is::Ready { socket, pid });
    *ready_at = Some(Instant::now());
    process.ended().await
}
