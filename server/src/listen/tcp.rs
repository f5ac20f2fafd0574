//! Loopback TCP: for Windows, and for tools that cannot use a Unix socket.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::ListenError;

pub(crate) async fn bind(addr: SocketAddr) -> Result<TcpListener, ListenError> {
    if !addr.ip().is_loopback() {
        return Err(ListenError::NotLoopback(addr));
    }
    TcpListener::bind(addr)
        .await
        .map_err(ListenError::io("listen on", addr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn plaintext_beyond_loopback_is_refused() {
        let error = bind(SocketAddr::from(([0, 0, 0, 0], 0))).await.unwrap_err();
        assert!(matches!(error, ListenError::NotLoopback(_)), "{error}");
        assert!(bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.is_ok());
    }
}
