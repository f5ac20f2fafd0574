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

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_an_upload_that_misses_its_deadline_goes_on_beside_from_the_last_applied_part() {
    let (place, list) = (Place::new(), large());
    let starts = Arc::new(Mutex::new(Vec::new()));
    let (caught_up, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (noted, told) = (Arc::clone(&starts), Arc::clone(&caught_up));
    let woken = Arc::clone(&go_on);
    let engine = Hostile::new(move |mut talk| {
        let (noted, told) = (Arc::clone(&noted), Arc::clone(&told));
        let woken = Arc::clone(&woken);
        async move {
            let start = talk.start().await;
            let update = start.transcript.clone().unwrap();
            let nth = {
                let mut starts = noted.lock().unwrap();
                starts.push(start);
                starts.len()
            };
            if nth == 1 {
                // The host names its head, and is asked for everything.
                let need = v1::NeedTranscript {
                    seq: 2,
                    list: update.list,
                    have: Vec::new(),
                };
                talk.send(EngineFrame::NeedTranscript(need)).await;
                let part = talk.update().await;
                talk.send(applied(&part)).await;
                // It does not read until the host has given up. What stays unread takes room that
                // the connection has for all its calls.
                woken.notified().await;
                while talk.next().await.is_some() {}
                return;
            }
            rest(&mut talk, update.more).await;
            if nth == 2 {
                talk.send(keeping(&[])).await;
                told.notify_one();
            } else {
                talk.send(keeping(&[(0, 60)])).await;
            }
        }
    });
    let _engine = engine.serve_at(&place).await;
    let client = place.client_with(&options());
    client.engine().await.unwrap();
    let late = origin_of(&client, &list, SHORT).await;
    assert_eq!(late, in_process("SYNCING"));
    go_on.notify_one();
    soon(caught_up.notified()).await;

    let base = |start: &v1::AssembleStart| {
        let update = start.transcript.as_ref().unwrap();
        update.base.as_ref().unwrap().count
    };
    // The client may not have read the last word of the upload yet: until then it goes on from what
    // was applied, and never from less.
    let mut after = 0;
    while after < 60 {
        let next = origin_of(&client, &list, PATIENT).await;
        assert_eq!(next.0, ServedBy::Engine("hostile".to_owned()));
        let last = starts.lock().unwrap().last().map(base).unwrap();
        assert!(last > 0 && last >= after, "{last} after {after}");
        after = last;
    }
    let starts = starts.lock().unwrap();
    let beside = &starts[1];
    assert_eq!(beside.site, i32::from(v1::AssembleSite::Sync));
    assert!(
        (1..60).contains(&base(beside)),
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
