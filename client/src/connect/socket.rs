//! The socket below a connection, which can be cut without anybody's consent.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use contextwire_proto::limits;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::Way;
use crate::target::Target;

/// A channel that connects when it is first used and again after a loss, until it is cut.
pub(super) fn channel(way: &Way, endpoint: &Endpoint, cut: &CancellationToken) -> Channel {
    let cut = cut.clone();
    let target = match way.clone() {
        Way::To(target) => target,
        #[cfg(unix)]
        Way::Spawned(spawned) => {
            return endpoint.connect_with_connector_lazy(service_fn(move |_| {
                let spawned = std::sync::Arc::clone(&spawned);
                let connect = async move { UnixStream::connect(spawned.socket().await?).await };
                open(connect, cut.clone())
            }));
        }
        #[cfg(not(unix))]
        Way::Spawned(_) => {
            return endpoint.connect_with_connector_lazy(service_fn(move |_| {
                let none = async { Err::<TcpStream, _>(io::ErrorKind::Unsupported.into()) };
                open(none, cut.clone())
            }));
        }
    };
    match target {
        #[cfg(unix)]
        Target::Unix(path) => endpoint.connect_with_connector_lazy(service_fn(move |_| {
            open(UnixStream::connect(path.clone()), cut.clone())
        })),
        // A way leads to one address.
        Target::Spawn(_) | Target::Replicas(_) => {
            endpoint.connect_with_connector_lazy(service_fn(move |_| {
                let none = async { Err::<TcpStream, _>(io::ErrorKind::Unsupported.into()) };
                open(none, cut.clone())
            }))
        }
        #[cfg(not(unix))]
        Target::Unix(_) => endpoint.connect_with_connector_lazy(service_fn(move |_| {
            let none = async { Err::<TcpStream, _>(io::ErrorKind::Unsupported.into()) };
            open(none, cut.clone())
        })),
        Target::Tcp(address) => endpoint.connect_with_connector_lazy(service_fn(move |_| {
            let connect = async move {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Ok(stream)
            };
            open(connect, cut.clone())
        })),
    }
}

async fn open<S>(
    connect: impl Future<Output = io::Result<S>>,
    cut: CancellationToken,
) -> io::Result<TokioIo<Cuttable<S>>> {
    let connected = timeout(limits::CONNECT_TIMEOUT, connect).await;
    let stream = connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let cut = Box::pin(cut.cancelled_owned());
    Ok(TokioIo::new(Cuttable { stream, cut }))
}

/// A stream that breaks when it is cut. HTTP/2 always reads, so that is where it is told.
struct Cuttable<S> {
    stream: S,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Cuttable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Cuttable<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
