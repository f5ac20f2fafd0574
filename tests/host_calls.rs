//! Calls back to the host: an engine rewrites, asks the model, reads the log and delegates a
//! compaction over the stream of its own hook.

mod engine;
mod raw;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use contextwire_client::store::{AnyStore, MemoryStore, NewEntry, TranscriptStore};
use contextwire_client::{
    Call, EngineReply, HostModel, ModelAnswer, Served, ServedBy, SessionHost,
};
use contextwire_engine::{
    AnyEngine, Compact, CompactResult, Compacted, EntryId, Host, HostAnswer, HostCall,
    HostCallError, HostCalls, HostReply, LlmComplete, LlmCompleted, Maintain, Maintained, Message,
    ReadTranscript, RewriteEntries, Rewritten,
};
use tokio::sync::Notify;

use self::engine::CallingEngine;
use crate::harness::{PATIENT, Place, session, soon};

/// A store with three messages, and their ids.
async fn stored() -> (AnyStore, Vec<EntryId>) {
    filled(MemoryStore::with_entry_ids()).await
}

async fn filled(store: MemoryStore) -> (AnyStore, Vec<EntryId>) {
    let store = AnyStore::new(store);
    let rows = ["one", "two", "three"].map(|text| {
        let payload = format!(r#"{{"role":"user","content":"{text}"}}"#);
        NewEntry::message(payload, 1_767_225_600_000)
    });
    let ids = store.append(rows.into()).await.unwrap();
    (store, ids)
}

fn short() -> Message {
    Message::from_payload(r#"{"role":"user","content":"1"}"#)
}

fn replace(id: &EntryId) -> RewriteEntries {
    RewriteEntries {
        replacements: vec![(id.clone(), short())],
        ..RewriteEntries::default()
    }
}

/// The text of a failed host call as the engine's own answer.
fn told(error: HostCallError) -> Maintained {
    Maintained {
        reason: Some(error.reason),
        ..Maintained::default()
    }
}

async fn maintain(place: &Place, host: Host) -> Served<Maintained> {
    let client = place.client().with_host(host);
    soon(client.maintain(&session("s"), Maintain::default()))
        .await
        .unwrap()
}

fn by_engine(served: &Served<Maintained>) -> &Maintained {
    assert!(
        matches!(served.by, ServedBy::Engine(_)),
        "{:?}",
        served.reason
    );
    &served.result
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_6_an_engine_rewrites_an_entry_of_the_hosts_store() {
    for place in Place::each() {
        let (store, ids) = stored().await;
        let first = ids[0].clone();
        let _engine = place
            .serve(CallingEngine::maintaining(move |cx| {
                let first = first.clone();
                async move { Ok(cx.host.rewrite(replace(&first)).await.unwrap().into()) }
            }))
            .await;
        let host = SessionHost::new(session("s"), store.clone());
        let served = maintain(&place, Host::new(Arc::new(host))).await;
        let done = by_engine(&served);
        assert_eq!((done.rewritten_entries, done.bytes_freed), (1, 2));
        let log = store.log().await.unwrap();
        assert_eq!(log.get(0).unwrap().payload(), short().payload());
        assert_eq!(log.get(0).unwrap().entry_id(), &ids[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_cbk_09_after_a_rewrite_the_log_has_its_new_state_and_the_old_one_is_stale() {
    let place = Place::new();
    let (store, ids) = stored().await;
    let before = store.log().await.unwrap().state();
    let engine = CallingEngine::maintaining(move |cx| {
        let ids = ids.clone();
        async move {
            let guarded = |id: &EntryId, expected| RewriteEntries {
                expected: Some(expected),
                ..replace(id)
            };
            let first = cx.host.rewrite(guarded(&ids[0], before)).await.unwrap();
            assert_ne!(first.head, before);
            let stale = cx.host.rewrite(guarded(&ids[1], before)).await.unwrap_err();
            assert_eq!(stale.reason, "STALE");
            let page = ReadTranscript {
                cursor: None,
                max_bytes: 1 << 20,
            };
            assert_eq!(
                cx.host.read_transcript(page).await.unwrap().head,
                first.head
            );
            Ok(cx
                .host
                .rewrite(guarded(&ids[1], first.head))
                .await
                .unwrap()
                .into())
        }
    });
    let _engine = place.serve(engine).await;
    let host = SessionHost::new(session("s"), store);
    let served = maintain(&place, Host::new(Arc::new(host))).await;
    assert_eq!(by_engine(&served).rewritten_entries, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_cbk_12_pages_read_the_whole_log_and_a_rewrite_loses_their_cursor() {
    let place = Place::new();
    let (store, ids) = stored().await;
    let engine = CallingEngine::maintaining(move |cx| {
        let first = ids[0].clone();
        async move {
            let page = |cursor| ReadTranscript {
                cursor,
                max_bytes: 1,
            };
            let first_page = cx.host.read_transcript(page(None)).await.unwrap();
            let mut messages = first_page.messages.len();
            let mut cursor = first_page.next_cursor;
            while cursor.is_some() {
                let read = cx.host.read_transcript(page(cursor)).await.unwrap();
                messages += read.messages.len();
                cursor = read.next_cursor;
            }
            assert_eq!(messages, 3);
            let read = cx.host.read_transcript(page(None)).await.unwrap();
            cx.host.rewrite(replace(&first)).await.unwrap();
            let lost = cx.host.read_transcript(page(read.next_cursor)).await;
            Ok(told(lost.unwrap_err()))
        }
    });
    let _engine = place.serve(engine).await;
    let host = SessionHost::new(session("s"), store);
    let served = maintain(&place, Host::new(Arc::new(host))).await;
    assert_eq!(by_engine(&served).reason.as_deref(), Some("CURSOR_LOST"));
}

struct Echo(AtomicU32);

impl HostModel for Echo {
    fn complete(&self, request: LlmComplete) -> ModelAnswer<'_> {
        Box::pin(async move {
            let nth = self.0.fetch_add(1, Ordering::SeqCst);
            let (_, text) = request.messages.into_iter().next().unwrap_or_default();
            if text == "fail" {
                return Err(HostCallError::new("FAILED", "401 of the provider"));
            }
            Ok(LlmCompleted {
                text: format!("{nth}: {text}"),
                provider: "test".to_owned(),
                model: "echo".to_owned(),
                ..LlmCompleted::default()
            })
        })
    }
}

fn ask(text: &str) -> LlmComplete {
    LlmComplete {
        messages: vec![("user".to_owned(), text.to_owned())],
        ..LlmComplete::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_cbk_04_and_e_err_08_a_failed_model_call_is_a_value_and_the_hook_goes_on() {
    let place = Place::new();
    let engine = CallingEngine::maintaining(|cx| async move {
        let failed = cx.host.complete(ask("fail")).await.unwrap_err();
        assert_eq!(failed.message, "401 of the provider");
        let said = cx.host.complete(ask("hello")).await.unwrap();
        Ok(Maintained {
            reason: Some(format!("{} by {}", said.text, said.model)),
            ..Maintained::default()
        })
    });
    let _engine = place.serve(engine).await;
    let (store, _) = stored().await;
    let host = SessionHost::new(session("s"), store).with_model(Echo(AtomicU32::new(0)));
    let served = maintain(&place, Host::new(Arc::new(host))).await;
    let reason = by_engine(&served).reason.as_deref();
    assert_eq!(reason, Some("1: hello by echo"));
}

#[tokio::test(flavor = "multi_thread")]
async fn e_cbk_03_a_host_that_does_not_offer_a_call_denies_it_and_the_engine_goes_on() {
    let place = Place::new();
    let engine = CallingEngine::maintaining(|cx| async move {
        Ok(told(cx.host.complete(ask("hello")).await.unwrap_err()))
    });
    let _engine = place.serve(engine).await;
    let (store, _) = stored().await;
    let without_model = SessionHost::new(session("s"), store);
    let served = maintain(&place, Host::new(Arc::new(without_model))).await;
    assert_eq!(by_engine(&served).reason.as_deref(), Some("UNSUPPORTED"));
    let served = maintain(&place, Host::default()).await;
    let reason = by_engine(&served).reason.as_deref();
    assert_eq!(reason, Some("HOST_CALL_UNAVAILABLE"));
}

/// Compacts everything before the last entry of the log, as a host's own compaction would.
fn compaction() -> AnyEngine {
    AnyEngine::new(CallingEngine::compacting(|cx, _| async move {
        let log = cx.log.fetch().await.unwrap();
        let delegated = cx.host.delegate_compaction(Compact::default()).await;
        assert_eq!(delegated.unwrap_err().reason, "UNSUPPORTED");
        Ok(Compacted {
            ok: true,
            compacted: true,
            reason: None,
            result: Some(CompactResult {
                summary: Some("what was said".to_owned()),
                first_kept_entry_id: Some(log.get(log.len() - 1).unwrap().entry_id().clone()),
                tokens_before: 30,
                ..CompactResult::default()
            }),
        })
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_7_a_delegated_compaction_runs_in_the_host_and_its_summary_is_stored_once() {
    let place = Place::new();
    let engine = CallingEngine::compacting(|cx, request| async move {
        let (compacted, _) = cx.host.delegate_compaction(request).await.unwrap();
        Ok(compacted)
    });
    let _engine = place.serve(engine).await;
    for without_ids in [false, true] {
        let (store, ids) = if without_ids {
            filled(MemoryStore::new()).await
        } else {
            stored().await
        };
        delegated(&place, store, &ids).await;
    }
}

/// Both kinds of host get their summary: also one whose entries have no ids on the wire.
async fn delegated(place: &Place, store: AnyStore, ids: &[EntryId]) {
    let host = SessionHost::new(session("s"), store.clone()).with_compaction(compaction());
    let client = place.client().with_host(Host::new(Arc::new(host)));
    let compacted = soon(client.compact(&session("s"), Compact::default()))
        .await
        .unwrap();
    let result = compacted.result.result.unwrap();
    assert_eq!(result.first_kept_entry_id.as_ref(), Some(&ids[2]));
    let shown: Vec<String> = store
        .context()
        .await
        .unwrap()
        .iter()
        .map(|message| String::from_utf8_lossy(message.payload()).into_owned())
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].contains("what was said") && shown[1].contains("three"));
    // The log keeps everything: a summary hides nothing from an engine.
    assert_eq!(store.log().await.unwrap().len(), 3);
}

/// Counts what reaches it and serves a rewrite when it is told to.
#[derive(Default)]
struct Slow {
    served: AtomicU32,
    arrived: Notify,
    go_on: Notify,
}

impl HostCalls for Slow {
    fn serve(&self, _: HostCall) -> HostAnswer<'_> {
        Box::pin(async {
            let nth = self.served.fetch_add(1, Ordering::SeqCst) + 1;
            self.arrived.notify_one();
            self.go_on.notified().await;
            Ok(HostReply::Rewritten(Rewritten {
                rewritten_entries: nth.into(),
                ..Rewritten::default()
            }))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_2_a_hook_whose_engine_died_is_closed_and_its_rewrite_is_not_made_again() {
    let place = Place::new();
    let (slow, rewrote) = (Arc::new(Slow::default()), Arc::new(Notify::new()));
    let noted = Arc::clone(&rewrote);
    let engine = CallingEngine::maintaining(move |cx| {
        let noted = Arc::clone(&noted);
        async move {
            match cx.host.rewrite(RewriteEntries::default()).await {
                Ok(_) => noted.notify_one(),
                Err(error) => return Ok(told(error)),
            }
            std::future::pending().await
        }
    });
    let running = place.serve(engine.clone()).await;
    let client = place.direct();
    let mut call = Call::new(session("s"), Maintain::default().into(), PATIENT);
    call.host = Host::new(Arc::<Slow>::clone(&slow));
    let first = tokio::spawn({
        let (client, call) = (client.clone(), call.clone());
        async move { client.call(call).await }
    });
    slow.go_on.notify_one();
    soon(rewrote.notified()).await;
    running.kill().await;
    let lost = soon(first).await.unwrap().unwrap();
    assert_eq!(lost.by, ServedBy::InProcess);

    // The substitute acted: whatever comes of this hook now must not reach the store.
    let _again = place.serve(engine).await;
    // Whether the connection to the old one is known to be gone is not what this is about.
    soon(client.ready(PATIENT)).await.unwrap();
    let mut second = call;
    second.attempt = 2;
    let served = soon(client.call(second)).await.unwrap();
    let EngineReply::Maintained(answer) = served.result else {
        panic!("{:?}", served.result)
    };
    assert_eq!(answer.reason.as_deref(), Some("HOOK_CLOSED"));
    assert_eq!(slow.served.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_2_a_hook_that_overran_makes_no_further_host_call() {
    let place = Place::new();
    let (slow, late) = (Arc::new(Slow::default()), Arc::new(Notify::new()));
    let woken = Arc::clone(&late);
    let engine = CallingEngine::maintaining(move |cx| {
        let woken = Arc::clone(&woken);
        async move {
            // Deaf to its own cancellation.
            let first = cx.host.rewrite(RewriteEntries::default()).await;
            woken.notified().await;
            let second = cx.host.complete(ask("late")).await.unwrap_err();
            assert!(first.is_err());
            Ok(told(second))
        }
    });
    let _engine = place.serve(engine).await;
    let client = place.client();
    client.engine().await.unwrap();
    let share = Duration::from_millis(400);
    let mut call = Call::new(session("s"), Maintain::default().into(), share);
    call.host = Host::new(Arc::<Slow>::clone(&slow));
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(call).await }
    });
    soon(slow.arrived.notified()).await;
    let served = soon(call).await.unwrap().unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "DEADLINE_EXCEEDED");
    assert!(matches!(served.result, EngineReply::Maintained(_)));
    late.notify_one();
    slow.go_on.notify_one();
    assert_eq!(slow.served.load(Ordering::SeqCst), 1);
}
