//! How long the processor worked, whatever else the machine does meanwhile.

use std::time::Duration;

/// How long this thread has worked.
#[cfg(unix)]
pub(super) fn by_thread() -> Duration {
    by(rustix::time::ClockId::ThreadCPUTime)
}

/// How long all threads of this process have worked.
#[cfg(unix)]
pub(super) fn by_process() -> Duration {
    by(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn by(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time of a clock, where the system tells no thread's own.
#[cfg(not(unix))]
pub(super) fn by_thread() -> Duration {
    static START: std::sync::LazyLock<tokio::time::Instant> =
        std::sync::LazyLock::new(tokio::time::Instant::now);
    START.elapsed()
}

/// The same: the system tells no process's own.
#[cfg(not(unix))]
pub(super) fn by_process() -> Duration {
    by_thread()
}
