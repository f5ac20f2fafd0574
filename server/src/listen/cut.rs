//! Connections that can be cut: the transport runs each in a task that nobody can reach.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

/// A connection that fails at once when it is cut, whatever it waits for.
#[derive(Debug)]
pub(crate) struct Cuttable<T> {
    stream: T,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<T> Cuttable<T> {
    /// A connection that lives until `cut` is triggered.
    pub(crate) fn new(stream: T, cut: CancellationToken) -> Self {
        Self {
            stream,
            cut: Box::pin(cut.cancelled_owned()),
        }
    }

    /// What came of an attempt, unless it would wait for ever.
    fn unless_cut<V>(
        &mut self,
        cx: &mut Context<'_>,
        tried: Poll<io::Result<V>>,
    ) -> Poll<io::Result<V>> {
        if tried.is_pending() && self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        tried
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Cuttable<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.unless_cut(cx, tried)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Cuttable<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.unless_cut(cx, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tried = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.unless_cut(cx, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_flush(cx);
        self.unless_cut(cx, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tried = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.unless_cut(cx, tried)
    }
}

impl<T: Connected> Connected for Cuttable<T> {
    type ConnectInfo = T::ConnectInfo;

    fn connect_info(&self) -> T::ConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn bytes_pass_until_the_cut_and_whoever_waits_then_fails() {
        let (mut host, server) = duplex(4);
        let cut = CancellationToken::new();
        let mut server = Cuttable::new(server, cut.clone());
        host.write_all(b"hi").await.unwrap();
        let mut two = [0; 2];
        server.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"hi");

        let reading = tokio::spawn(async move {
            let error = server.read(&mut [0]).await.unwrap_err();
            (server, error.kind())
        });
        cut.cancel();
        let (mut server, kind) = reading.await.unwrap();
        assert_eq!(kind, io::ErrorKind::ConnectionAborted);
        // More than the host's side takes.
        let error = server.write_all(&[0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }
}
