//! A proxy between a host and a server: counts connections and bytes, cuts in mid-frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use contextwire_client::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::place::Place;
use super::wire::{Listener, Wire, connect};

/// A place that passes every byte on to another one.
#[derive(Debug)]
pub(crate) struct Proxy {
    place: Place,
    counts: Arc<Counts>,
    _forwarding: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Counts {
    connections: AtomicUsize,
    /// Bytes that may still go to the server, and to the host; then the connection is cut.
    to_server: AtomicU64,
    to_host: AtomicU64,
}

const NO_CUT: u64 = u64::MAX;

impl Proxy {
    /// A proxy in front of a place.
    pub(crate) async fn to(behind: &Place) -> Self {
        let (place, server) = (behind.another(), behind.target());
        let listener = Listener::bind(&place.target()).await;
        let counts = Arc::new(Counts {
            connections: AtomicUsize::new(0),
            to_server: AtomicU64::new(NO_CUT),
            to_host: AtomicU64::new(NO_CUT),
        });
        let forwarding = tokio::spawn(forward(listener, server, Arc::clone(&counts)));
        Self {
            place,
            counts,
            _forwarding: AbortOnDropHandle::new(forwarding),
        }
    }

    /// Where hosts connect.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// Cuts every connection once this many more bytes went to the server.
    pub(crate) fn cut_to_server_after(&self, bytes: u64) {
        self.counts.to_server.store(bytes, Ordering::SeqCst);
    }

    /// Cuts every connection once this many more bytes went to the host.
    pub(crate) fn cut_to_host_after(&self, bytes: u64) {
        self.counts.to_host.store(bytes, Ordering::SeqCst);
    }

    /// Lets everything through again.
    pub(crate) fn mend(&self) {
        self.cut_to_server_after(NO_CUT);
        self.cut_to_host_after(NO_CUT);
    }
}

async fn forward(listener: Listener, server: Target, counts: Arc<Counts>) {
    let mut connections = JoinSet::new();
    loop {
        let host = listener.accept().await;
        counts.connections.fetch_add(1, Ordering::SeqCst);
        // A server that is away: the host's connection is closed at once.
        let Ok(server) = connect(&server).await else {
            continue;
        };
        connections.spawn(pass(host, server, Arc::clone(&counts)));
    }
}

/// Both directions, until one ends; then both sockets are dropped.
async fn pass(host: Wire, server: Wire, counts: Arc<Counts>) {
    let (from_host, to_host) = tokio::io::split(host);
    let (from_server, to_server) = tokio::io::split(server);
    tokio::select! {
        () = copy(from_host, to_server, &counts.to_server) => {}
        () = copy(from_server, to_host, &counts.to_host) => {}
    }
}

async fn copy(mut from: ReadHalf<Wire>, mut to: WriteHalf<Wire>, allowed: &AtomicU64) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let left = allowed.load(Ordering::SeqCst);
        let passed = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        if to.write_all(&buffer[..passed]).await.is_err() || passed < read {
            return;
        }
        if left != NO_CUT {
            allowed.fetch_sub(passed as u64, Ordering::SeqCst);
        }
    }
}
