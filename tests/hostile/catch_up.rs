//! Lists that do not arrive within a deadline (R3.4, R3.8).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contextwire_client::{ClientOptions, ServedBy};
use contextwire_engine::{Message, Transcript};
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_response::Frame as EngineFrame;
use tokio::sync::Notify;

use super::engine::{Hostile, Talk, described, keeping};
use super::{SHORT, in_process, origin_of};
use crate::harness::{PATIENT, Place, soon};

/// More than every buffer between the two ends holds.
fn large() -> Transcript {
    let text = "x".repeat(200 << 10);
    let message = |n: u32| format!(r#"{{"role":"user","content":"{n} {text}"}}"#);
    (0..60).map(message).map(Message::from_payload).collect()
}

fn options() -> ClientOptions {
    ClientOptions {
        max_message_bytes: 1 << 20,
        ..ClientOptions::default()
    }
}

/// Says that the engine keeps what came so far.
fn applied(update: &v1::TranscriptUpdate) -> EngineFrame {
    EngineFrame::Progress(v1::Progress {
        applied: Some(v1::AppliedState {
            list: update.list,
            state: update.head.clone(),
        }),
        ..v1::Progress::default()
    })
}

/// Reads a list to its end.
async fn rest(talk: &mut Talk, mut more: bool) {
    while more {
        more = talk.update().await.more;
    }
}

/// What an engine saw of the uploads of one list, and when it goes on.
#[derive(Clone, Default)]
struct Uploads {
    starts: Arc<Mutex<Vec<v1::AssembleStart>>>,
    caught_up: Arc<Notify>,
    host_gave_up: Arc<Notify>,
}

impl Uploads {
    /// An engine that takes one part of the first upload, and every other upload whole.
    fn engine(&self) -> Hostile {
        let uploads = self.clone();
        Hostile::new(move |talk| uploads.clone().take(talk))
    }

    async fn take(self, mut talk: Talk) {
        let start = talk.start().await;
        let update = start.transcript.clone().unwrap();
        let nth = {
            let mut starts = self.starts.lock().unwrap();
            starts.push(start);
            starts.len()
        };
        if nth == 1 {
            return self.take_a_part(talk, update.list).await;
        }
        rest(&mut talk, update.more).await;
        if nth == 2 {
            talk.send(keeping(&[])).await;
            self.caught_up.notify_one();
        } else {
            talk.send(keeping(&[(0, 60)])).await;
        }
    }

    /// The host names its head, is asked for everything, and one part is taken.
    async fn take_a_part(&self, mut talk: Talk, list: i32) {
        let need = v1::NeedTranscript {
            seq: 2,
            list,
            have: Vec::new(),
        };
        talk.send(EngineFrame::NeedTranscript(need)).await;
        let part = talk.update().await;
        talk.send(applied(&part)).await;
        // It does not read until the host has given up. What stays unread takes room that the
        // connection has for all its calls.
        self.host_gave_up.notified().await;
        while talk.next().await.is_some() {}
    }

    /// How much of the list the newest upload started from.
    fn newest_base(&self) -> u64 {
        self.starts.lock().unwrap().last().map(base).unwrap()
    }
}

fn base(start: &v1::AssembleStart) -> u64 {
    let update = start.transcript.as_ref().unwrap();
    update.base.as_ref().unwrap().count
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_an_upload_that_misses_its_deadline_goes_on_beside_from_the_last_applied_part() {
    let (place, list, uploads) = (Place::new(), large(), Uploads::default());
    let _engine = uploads.engine().serve_at(&place).await;
    let client = place.client_with(&options());
    client.engine().await.unwrap();
    let late = origin_of(&client, &list, SHORT).await;
    assert_eq!(late, in_process("SYNCING"));
    uploads.host_gave_up.notify_one();
    soon(uploads.caught_up.notified()).await;

    // The client may not have read the last word of the upload yet: until then it goes on from what
    // was applied, and never from less.
    let mut after = 0;
    while after < 60 {
        let next = origin_of(&client, &list, PATIENT).await;
        assert_eq!(next.0, ServedBy::Engine("hostile".to_owned()));
        let newest = uploads.newest_base();
        assert!(newest > 0 && newest >= after, "{newest} after {after}");
        after = newest;
    }
    let beside = uploads.starts.lock().unwrap()[1].clone();
    assert_eq!(beside.site, i32::from(v1::AssembleSite::Sync));
    assert!(
        (1..60).contains(&base(&beside)),
        "goes on, and not from zero"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_a_list_that_an_engine_without_mirrors_cannot_get_in_time_is_not_sent_beside() {
    let (place, list) = (Place::new(), large());
    let mut description = described();
    description.engine.as_mut().unwrap().transcript_sync = v1::TranscriptSync::Full.into();
    let engine = Hostile::new(|mut talk: Talk| async move {
        talk.start().await;
        talk.abandoned().await;
    });
    let _engine = engine.describing(Ok(description)).serve_at(&place).await;
    let client = place.client_with(&options());
    client.engine().await.unwrap();
    for _ in 0..2 {
        let late = origin_of(&client, &list, Duration::from_millis(400)).await;
        assert_eq!(late, in_process("SYNC_TOO_LARGE"));
    }
}
