//! Loopback TCP: for Windows, and for tools that cannot use a Unix socket.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;

use super::ListenError;

pub(crate) async fn bind(addr: SocketAddr) -> Result<TcpListener, ListenError> {
    if !addr.ip().is_loopback() {
        return Err(ListenError::NotLoopback(addr));
    }
    TcpListener::bind(addr)
        .await
        .map_err(ListenError::io("listen on", addr))
}

/// Its connections, each sending small frames at once: without that every call would wait for a
/// delayed acknowledgement, 40 ms. The server builder's own setting misses foreign listeners.
pub(crate) fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;
    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test]
    async fn plaintext_beyond_loopback_is_refused() {
        let error = bind(SocketAddr::from(([0, 0, 0, 0], 0))).await.unwrap_err();
        assert!(matches!(error, ListenError::NotLoopback(_)), "{error}");
        assert!(bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.is_ok());
    }

    #[tokio::test]
    async fn small_frames_do_not_wait() {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let _host = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let accepted = incoming(listener).next().await.unwrap().unwrap();
        assert!(accepted.nodelay().unwrap());
    }
}
