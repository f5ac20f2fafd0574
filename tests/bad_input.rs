//! Payloads that are the host's own business: carried through untouched, whatever they hold (R2.1).

use bytes::Bytes;
use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::digest::sha256;
use contextwire_engine::{Ingest, Ingested, Message, Transcript};
use contextwire_windowed::WindowedEngine;

use crate::harness::{PATIENT, Place, Proxy, TestEngine, session, transcript, view};

async fn served_by(client: &EngineClient, list: &Transcript) -> (ServedBy, Vec<Message>) {
    let served = client
        .assemble_within(&session("s"), view(list), PATIENT)
        .await
        .unwrap();
    assert!(served.reason.is_none(), "{:?}", served.reason);
    (served.by, served.result.messages().cloned().collect())
}

/// The payloads reach the engine byte for byte and come back as the caller's own objects; an engine
/// that reads them serves as well; the connection lives and the next call works.
async fn carried(payloads: impl IntoIterator<Item = Bytes>) {
    let odd: Vec<_> = payloads.into_iter().map(Message::from_payload).collect();
    let mut list = transcript(3);
    list.extend(odd.clone());
    list.extend(transcript(2).iter().cloned());
    for place in Place::each() {
        let engine = TestEngine::keep();
        let _running = place.serve(engine.clone()).await;
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().client();
        comes_back(&client, &list).await;
        let seen = engine.seen().pop().unwrap();
        assert!(seen.iter().eq(list.iter()), "payloads and headers");
        assert_eq!(seen, list, "digests");
        for message in odd.iter().cloned() {
            is_ingested(&client, message).await;
        }
        comes_back(&client, &transcript(2)).await;
        assert_eq!(proxy.connections(), 1);
    }
    let place = Place::new();
    let _running = place.serve(WindowedEngine::new()).await;
    let (by, messages) = served_by(&place.client(), &list).await;
    assert_eq!(by, ServedBy::Engine("windowed".to_owned()));
    assert!(!messages.is_empty());
}

/// An engine that keeps everything gives the caller's own objects back.
async fn comes_back(client: &EngineClient, list: &Transcript) {
    let (by, messages) = served_by(client, list).await;
    assert_eq!(by, ServedBy::Engine("test".to_owned()));
    assert_eq!(messages.len(), list.len());
    let own = |(got, own): (&Message, &Message)| got.is_same_object(own);
    assert!(messages.iter().zip(list.iter()).all(own));
}

async fn is_ingested(client: &EngineClient, message: Message) {
    let request = Ingest {
        message,
        is_heartbeat: false,
    };
    let ingested = client.ingest(&session("s"), request).await.unwrap();
    assert!(ingested.reason.is_none(), "{:?}", ingested.reason);
    assert_eq!(ingested.result, Ingested { ingested: true });
}

fn texts(payloads: &[&'static str]) -> Vec<Bytes> {
    payloads
        .iter()
        .map(|payload| Bytes::from_static(payload.as_bytes()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_json_is_carried() {
    let not_text = Bytes::from_static(b"\xff\xfe{\"role\":\"user\"\x00");
    carried(
        texts(&[
            "",
            "{",
            "null",
            "[]",
            "not json",
            r#"{"role":"user","content":"broken off"#,
            r#"{"role":"user",,"content":"twice"}"#,
            r#"{"role":"user","content":"tail"} and more"#,
        ])
        .into_iter()
        .chain([not_text]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn null_and_missing_content_is_carried() {
    carried(texts(&[
        r#"{"role":"assistant","content":null}"#,
        r#"{"role":"user"}"#,
        r#"{"content":[null,{"type":null},7]}"#,
        r#"{"role":null,"content":{"text":"an object"}}"#,
    ]))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_roles_are_carried() {
    carried(texts(&[
        r#"{"role":"narrator","content":"once upon a time"}"#,
        r#"{"role":"","content":"nobody"}"#,
        r#"{"role":"USER\u0000","content":"almost"}"#,
        r#"{"role":["user"],"content":"a list"}"#,
    ]))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_ids_and_keys_are_carried() {
    carried(texts(&[
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"a"},{"type":"toolCall","id":"c1","name":"a"}]}"#,
        r#"{"role":"toolResult","toolCallId":"c1","content":"one"}"#,
        r#"{"role":"toolResult","toolCallId":"c1","content":"two"}"#,
        r#"{"role":"user","role":"assistant","content":"a","content":"b"}"#,
    ]))
    .await;
}

/// Equal text is normal and never merged, nor are two entries with one id (R2.3).
#[tokio::test(flavor = "multi_thread")]
async fn equal_messages_and_equal_entry_ids_stay_apart() {
    let same = || Message::from_payload(r#"{"role":"user","content":"again"}"#);
    let list: Transcript = [
        same(),
        same(),
        same().with_entry_id("e"),
        same().with_entry_id("e"),
    ]
    .into_iter()
    .collect();
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve(engine.clone()).await;
    let client = place.client();
    for _ in 0..2 {
        let (_, messages) = served_by(&client, &list).await;
        assert!(
            messages
                .iter()
                .zip(list.iter())
                .all(|(got, own)| got.is_same_object(own))
        );
        assert_eq!(
            (messages.len(), engine.seen().pop().unwrap()),
            (4, list.clone())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_beyond_every_type_are_carried() {
    carried(texts(&[
        r#"{"role":"user","content":"x","n":1e400}"#,
        r#"{"role":"user","content":"x","timestamp":1e400}"#,
        r#"{"role":"user","content":"x","n":9007199254740993,"m":-0.0,"o":1.0}"#,
        r#"{"role":"user","content":"x","timestamp":99999999999999999999999999}"#,
    ]))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_surrogates_are_carried() {
    carried(texts(&[
        r#"{"role":"user","content":"half \ud83d of a pair"}"#,
        r#"{"role":"us\udc00er","content":"in the role"}"#,
        r#"{"role":"toolResult","toolCallId":"\ud800","content":"in an id"}"#,
    ]))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nesting_of_a_hundred_thousand_levels_is_carried() {
    let nest =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let content = format!(r#"{{"role":"user","content":{}}}"#, nest("[", "]"));
    let private = format!(
        r#"{{"role":"user","content":"x","private":{}}}"#,
        nest(r#"{"a":["#, "]}")
    );
    let unclosed = format!(r#"{{"role":"user","content":{}"#, "[".repeat(100_000));
    carried([content, private, unclosed].map(Bytes::from)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_is_carried() {
    for place in Place::each() {
        let engine = TestEngine::keep();
        let _running = place.serve(engine.clone()).await;
        let proxy = Proxy::to(&place).await;
        let client = proxy.place().client();
        for list in [Transcript::new(), transcript(2), Transcript::new()] {
            let (by, messages) = served_by(&client, &list).await;
            assert_eq!(
                (by, messages.len()),
                (ServedBy::Engine("test".to_owned()), list.len())
            );
            assert_eq!(engine.seen().pop(), Some(list));
        }
        assert_eq!(proxy.connections(), 1);
    }
    let place = Place::new();
    let _running = place.serve(WindowedEngine::new()).await;
    let (by, messages) = served_by(&place.client(), &Transcript::new()).await;
    assert_eq!(
        (by, messages.len()),
        (ServedBy::Engine("windowed".to_owned()), 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r2_5_a_message_of_20_mb_travels_as_a_stub_and_comes_back_whole() {
    let large = Message::from_payload(format!(
        r#"{{"role":"user","content":"{}"}}"#,
        "x".repeat(20 << 20)
    ))
    .with_entry_id("large");
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve(engine.clone()).await;
    let proxy = Proxy::to(&place).await;
    let client = proxy.place().client();
    let mut list = transcript(2);
    list.push(large.clone());
    list.extend(transcript(3).iter().cloned());

    let (by, messages) = served_by(&client, &list).await;
    assert_eq!(by, ServedBy::Engine("test".to_owned()));
    assert!(messages[2].is_same_object(&large));
    let seen = engine.seen().pop().unwrap();
    assert_eq!(seen, list, "the digest is the original's");
    let stub = seen.get(2).unwrap();
    let omitted = stub.omitted().unwrap();
    assert_eq!(
        (omitted.bytes, omitted.sha256),
        (large.payload().len() as u64, sha256(large.payload()))
    );
    assert_eq!(
        (stub.header(), stub.entry_id()),
        (large.header(), large.entry_id())
    );
    assert!(stub.payload().len() < 100);

    list.push(Message::from_payload("{}"));
    let served = client
        .assemble_within(&session("s"), view(&list), PATIENT)
        .await
        .unwrap();
    assert!(served.traffic.bytes_sent() < 1000, "and once only");

    let request = Ingest {
        message: large,
        is_heartbeat: false,
    };
    let ingested = client.ingest(&session("s"), request).await.unwrap();
    assert_eq!(
        ingested.reason.unwrap().code(),
        "MESSAGE_TOO_LARGE",
        "only Ingest of it fails"
    );
    assert_eq!(ingested.result, Ingested { ingested: false });
    served_by(&client, &list).await;
    assert_eq!(proxy.connections(), 1);
}
