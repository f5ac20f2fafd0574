//! When to stop.

/// Ends on Ctrl-C, and on SIGTERM where there is one.
pub async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    () = interrupt() => {}
                }
                return;
            }
            Err(error) => tracing::warn!(%error, "SIGTERM will not drain"),
        }
    }
    interrupt().await;
}

/// Makes a file that reaches the limit of the process (`ulimit -f`) a failed write, as a full disk
/// is, instead of the end of the process. Needs a runtime of tokio; lasts as long as the process.
pub fn survive_file_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        /// SIGXFSZ on Linux, macOS and the BSDs.
        const FILE_LIMIT: i32 = 25;
        if let Err(error) = signal(SignalKind::from_raw(FILE_LIMIT)) {
            tracing::warn!(%error, "a file at the limit of the process will end it");
        }
    }
}

async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "Ctrl-C will not drain");
        std::future::pending::<()>().await;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_at_its_limit_does_not_end_the_process() {
        survive_file_limit();
        let this = std::process::id().to_string();
        let sent = std::process::Command::new("sh")
            .args(["-c", "kill -XFSZ $0", &this])
            .status();
        assert!(sent.unwrap().success());
    }
}
