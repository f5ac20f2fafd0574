//! A relay that counts what a host sends by frame, and can hold it back so that all of it arrives at
//! once, as after a server whose threads were busy.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::soon;

/// What a client sends before its first frame.
const PREFACE: usize = 24;
const HEAD: usize = 9;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;

/// Frames of one connection so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Streams that were opened.
    pub(crate) opened: usize,
    /// Streams that were reset.
    pub(crate) reset: usize,
}

/// A relay for one connection.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    sent: watch::Receiver<Sent>,
    open: Arc<watch::Sender<bool>>,
    _relaying: AbortOnDropHandle<()>,
}

impl Relay {
    /// A relay in front of a server, open.
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (counted, sent) = watch::channel(Sent::default());
        let open = Arc::new(watch::Sender::new(true));
        let gate = open.subscribe();
        let relaying = tokio::spawn(async move {
            let (host, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(server).await.unwrap();
            let (from_host, mut to_host) = host.into_split();
            let (mut from_server, to_server) = server.into_split();
            tokio::join!(forward(from_host, to_server, counted, gate), async {
                let _cut = tokio::io::copy(&mut from_server, &mut to_host)
                    .await
                    .is_err();
                // The host has to see the end of the connection.
                let _gone = to_host.shutdown().await.is_err();
            });
        });
        Self {
            address,
            sent,
            open,
            _relaying: AbortOnDropHandle::new(relaying),
        }
    }

    /// Keeps what the host sends from now on.
    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    /// Lets all of it through, in one write.
    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    /// Ends when the host has sent this much.
    pub(crate) async fn sent(&self, what: impl Fn(Sent) -> bool) {
        let mut sent = self.sent.clone();
        soon(sent.wait_for(|now| what(*now))).await.unwrap();
    }
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    counted: watch::Sender<Sent>,
    mut open: watch::Receiver<bool>,
) {
    let (mut unread, mut held) = (Vec::new(), Vec::new());
    let mut skip = PREFACE;
    loop {
        let mut buffer = vec![0; 64 << 10];
        tokio::select! {
            read = from.read(&mut buffer) => {
                let Ok(read @ 1..) = read else { return };
                held.extend_from_slice(&buffer[..read]);
                unread.extend_from_slice(&buffer[..read]);
                count(&mut unread, &mut skip, &counted);
            }
            _ = open.changed() => {}
        }
        if *open.borrow_and_update() && !held.is_empty() {
            if to.write_all(&held).await.is_err() {
                return;
            }
            held.clear();
        }
    }
}

/// Counts the whole frames at the beginning of `unread` and takes them out.
fn count(unread: &mut Vec<u8>, skip: &mut usize, counted: &watch::Sender<Sent>) {
    loop {
        if *skip > 0 {
            let skipped = (*skip).min(unread.len());
            unread.drain(..skipped);
            *skip -= skipped;
        }
        let Some(&[a, b, c, kind, ..]) = unread.get(..HEAD) else {
            return;
        };
        *skip = HEAD + usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
        counted.send_modify(|sent| match kind {
            HEADERS => sent.opened += 1,
            RST_STREAM => sent.reset += 1,
            _ => {}
        });
    }
}
