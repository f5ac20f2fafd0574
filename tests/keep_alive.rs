//! Pings of a host: few enough for servers that count them.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::{pause, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::harness::{Listener, PATIENT, Place, Wire, soon};

const PREFACE: usize = 24;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACKNOWLEDGED: u8 = 1;

/// A server that takes HTTP/2 frames, counts some, and says nothing but what HTTP/2 wants.
struct Counting {
    headers: Semaphore,
    resets: Semaphore,
    pings: Semaphore,
}

impl Counting {
    async fn at(place: &Place) -> (Arc<Self>, AbortOnDropHandle<()>) {
        let counting = Arc::new(Self {
            headers: Semaphore::new(0),
            resets: Semaphore::new(0),
            pings: Semaphore::new(0),
        });
        let (listener, counts) = (Listener::bind(&place.target()).await, Arc::clone(&counting));
        let serving = tokio::spawn(async move {
            loop {
                // A host that closes ends its connection only.
                let _closed = counts.serve(listener.accept().await).await.is_err();
            }
        });
        (counting, AbortOnDropHandle::new(serving))
    }

    async fn serve(&self, mut wire: Wire) -> std::io::Result<()> {
        wire.read_exact(&mut [0; PREFACE]).await?;
        wire.write_all(&frame(SETTINGS, 0, &[])).await?;
        loop {
            let mut head = [0; 9];
            wire.read_exact(&mut head).await?;
            let [a, b, c, kind, flags, ..] = head;
            let length = u32::from_be_bytes([0, a, b, c]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            wire.read_exact(&mut payload).await?;
            match kind {
                HEADERS => self.headers.add_permits(1),
                RESET => self.resets.add_permits(1),
                SETTINGS if flags != ACKNOWLEDGED => {
                    wire.write_all(&frame(SETTINGS, ACKNOWLEDGED, &[])).await?;
                }
                PING if flags != ACKNOWLEDGED => {
                    self.pings.add_permits(1);
                    wire.write_all(&frame(PING, ACKNOWLEDGED, &payload)).await?;
                }
                _ => {}
            }
        }
    }
}

/// A frame of the connection itself.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, 0], payload].concat()
}

#[tokio::test]
async fn br_161_an_idle_connection_is_not_pinged() {
    for place in Place::each() {
        let (server, _serving) = Counting::at(&place).await;
        let client = place.client();
        let given_up = client.describe(Duration::from_millis(200)).await;
        assert!(given_up.is_err());
        soon(server.resets.acquire()).await.unwrap().forget();
        pause();
        // Nothing runs: time passes at once.
        sleep(Duration::from_mins(10)).await;
        assert_eq!(server.pings.available_permits(), 0);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn br_162_a_call_in_silence_is_pinged_after_30_s() {
    for place in Place::each() {
        let (server, _serving) = Counting::at(&place).await;
        let client = place.client();
        let call = AbortOnDropHandle::new(tokio::spawn(async move {
            client.describe(PATIENT).await.map(drop)
        }));
        soon(server.headers.acquire()).await.unwrap().forget();
        pause();
        sleep(Duration::from_secs(28)).await;
        assert_eq!(server.pings.available_permits(), 0);
        sleep(Duration::from_secs(4)).await;
        assert_eq!(server.pings.available_permits(), 1);
        drop(call);
        tokio::time::resume();
    }
}
