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

async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "Ctrl-C will not drain");
        std::future::pending::<()>().await;
    }
}
