//! A proxy between a host and a server: counts connections and bytes, cuts in mid-frame, and does to
//! the bytes of either direction what a bad network does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use contextwire_client::Target;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
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

/// What becomes of the bytes of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// They arrive.
    Pass,
    /// They are lost: a peer that is gone without a word.
    Lose,
    /// They wait: a peer that accepts and takes nothing.
    Hold,
    /// They arrive this much later.
    Late(Duration),
    /// So many arrive at a time, with such a pause in between.
    Drip(usize, Duration),
    /// Others arrive.
    Garble,
}

#[derive(Debug)]
struct Counts {
    connections: AtomicUsize,
    to_server: Way,
    to_host: Way,
    /// Counted up to cut all connections.
    cuts: watch::Sender<u64>,
}

/// A direction.
#[derive(Debug)]
struct Way {
    /// Bytes that may still go; then the connection is cut.
    allowed: AtomicU64,
    flow: watch::Sender<Flow>,
}

impl Way {
    fn new() -> Self {
        Self {
            allowed: AtomicU64::new(NO_CUT),
            flow: watch::Sender::new(Flow::Pass),
        }
    }
}

const NO_CUT: u64 = u64::MAX;

impl Proxy {
    /// A proxy in front of a place.
    pub(crate) async fn to(behind: &Place) -> Self {
        let (place, server) = (behind.another(), behind.target());
        let listener = Listener::bind(&place.target()).await;
        let counts = Arc::new(Counts {
            connections: AtomicUsize::new(0),
            to_server: Way::new(),
            to_host: Way::new(),
            cuts: watch::Sender::new(0),
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
        self.counts.to_server.allowed.store(bytes, Ordering::SeqCst);
    }

    /// Cuts every connection once this many more bytes went to the host.
    pub(crate) fn cut_to_host_after(&self, bytes: u64) {
        self.counts.to_host.allowed.store(bytes, Ordering::SeqCst);
    }

    /// What becomes of what the host sends, from now on.
    pub(crate) fn to_server(&self, flow: Flow) {
        self.counts.to_server.flow.send_replace(flow);
    }

    /// What becomes of what the server sends, from now on.
    pub(crate) fn to_host(&self, flow: Flow) {
        self.counts.to_host.flow.send_replace(flow);
    }

    /// Cuts every connection that there is.
    pub(crate) fn cut(&self) {
        self.counts.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Lets everything through again.
    pub(crate) fn mend(&self) {
        self.cut_to_server_after(NO_CUT);
        self.cut_to_host_after(NO_CUT);
        self.to_server(Flow::Pass);
        self.to_host(Flow::Pass);
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
    let mut cuts = counts.cuts.subscribe();
    tokio::select! {
        () = copy(from_host, to_server, &counts.to_server) => {}
        () = copy(from_server, to_host, &counts.to_host) => {}
        _ = cuts.changed() => {}
    }
}

async fn copy(mut from: ReadHalf<Wire>, mut to: WriteHalf<Wire>, way: &Way) {
    let mut buffer = vec![0; 16 << 10];
    let mut flow = way.flow.subscribe();
    loop {
        if flow.wait_for(|flow| *flow != Flow::Hold).await.is_err() {
            return;
        }
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = flow.changed() => continue,
        };
        let Ok(read @ 1..) = read else {
            return;
        };
        let left = way.allowed.load(Ordering::SeqCst);
        let passed = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        let now = *flow.borrow_and_update();
        if !forward_as(now, &mut to, &mut buffer[..passed], &mut flow).await || passed < read {
            return;
        }
        if left != NO_CUT {
            way.allowed.fetch_sub(passed as u64, Ordering::SeqCst);
        }
    }
}

/// Whether the other side is still there.
async fn forward_as(
    now: Flow,
    to: &mut WriteHalf<Wire>,
    bytes: &mut [u8],
    flow: &mut watch::Receiver<Flow>,
) -> bool {
    match now {
        Flow::Pass | Flow::Hold => {}
        Flow::Lose => return true,
        Flow::Late(by) => sleep(by).await,
        Flow::Garble => bytes.iter_mut().for_each(|byte| *byte = !*byte),
        Flow::Drip(size, pause) => {
            for drop in bytes.chunks(size) {
                if to.write_all(drop).await.is_err() {
                    return false;
                }
                if *flow.borrow() == now {
                    sleep(pause).await;
                }
            }
            return true;
        }
    }
    to.write_all(bytes).await.is_ok()
}
