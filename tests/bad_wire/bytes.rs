//! Bytes that are no message, or one too large.

use bytes::Bytes;
use contextwire_engine::{Message, Transcript};
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tonic::Code;

use super::{INVALID, LIMIT, TOO_LARGE, bench, fields, ingest};
use crate::harness::{
    Place, RawAssemble, TestEngine, connect, encoded, framed, post, refusal, session, soon, start,
    start_over, transcript, update, view,
};

#[tokio::test(flavor = "multi_thread")]
async fn garbage_as_a_message_is_refused_unary_and_streaming() {
    let bench = bench().await;
    let valid = encoded(&ingest());
    for garbage in [
        &b"\xff\xff\xff\xff\xff"[..],
        b"\x0a\xff\x01",
        b"plain text",
        &valid[..40],
    ] {
        for rpc in ["Ingest", "Assemble", "Compact", "Describe"] {
            let status = post(&bench.channel, rpc, framed(garbage), &[]).await;
            assert_eq!(refusal(&status), INVALID, "{rpc}: {status}");
            assert!(!status.message().contains("plain text"), "{status}");
        }
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_after_a_good_start_is_refused() {
    let bench = bench().await;
    let list = transcript(3);
    let resumed = start_over(&session("other"), &list, &list);
    let start = encoded(&v1::AssembleRequest {
        frame: Some(HostFrame::Start(resumed)),
    });
    let body = [&start[..], &framed(b"\xff\xff\xff")].concat();
    let status = post(&bench.channel, "Assemble", body.into(), &[]).await;
    assert_eq!(refusal(&status), INVALID);
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_fld_18_invalid_utf_8_in_a_string_is_refused() {
    let bench = bench().await;
    let spoil = |bytes: Vec<u8>| {
        let at = bytes
            .windows(3)
            .position(|window| window == b"raw")
            .unwrap();
        let mut bytes = bytes;
        bytes[at] = 0xff;
        framed(&bytes)
    };
    let unary = spoil(ingest().encode_to_vec());
    let start = v1::AssembleRequest {
        frame: Some(HostFrame::Start(start(&transcript(3)))),
    };
    let stream = spoil(start.encode_to_vec());
    for (rpc, body) in [("Ingest", unary), ("Assemble", stream)] {
        let status = post(&bench.channel, rpc, body, &[]).await;
        assert_eq!(refusal(&status), INVALID, "{rpc}: {status}");
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_frm_19_a_truncated_message_costs_its_stream_only() {
    let bench = bench().await;
    let start = v1::AssembleRequest {
        frame: Some(HostFrame::Start(start(&transcript(3)))),
    };
    for (rpc, whole) in [
        ("Ingest", encoded(&ingest())),
        ("Assemble", encoded(&start)),
    ] {
        for len in [1, 4, 5, whole.len() - 1] {
            let status = post(&bench.channel, rpc, whole.slice(..len), &[]).await;
            assert_ne!(status.code(), Code::Ok, "{rpc}, {len} bytes");
        }
    }
    let odd_flag = post(
        &bench.channel,
        "Ingest",
        Bytes::from_static(b"\x42\0\0\0\x01x"),
        &[],
    )
    .await;
    assert_ne!(odd_flag.code(), Code::Ok);
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_02_a_message_over_the_limit_is_too_large_unary_as_first_frame_and_later() {
    let bench = bench().await;
    let large = Message::from_payload(format!(r#"{{"content":"{}"}}"#, "x".repeat(LIMIT)));
    let list: Transcript = [large.clone()].into_iter().collect();
    let request = v1::IngestRequest {
        message: Some(large.into()),
        ..ingest()
    };
    let unary = bench.stub.clone().ingest(request).await.unwrap_err();
    let first = bench.refused_start(start(&list)).await;
    let resumed = start_over(&session("other"), &list, &list);
    let mut hook = RawAssemble::start(&bench.stub, resumed).await;
    hook.need().await;
    hook.send(HostFrame::Transcript(update(2, &Transcript::new(), &list)))
        .await;
    for (what, status) in [
        ("unary", unary),
        ("first", first),
        ("later", hook.failure().await),
    ] {
        assert_eq!(refusal(&status), TOO_LARGE, "{what}: {status}");
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_siz_02_a_message_of_exactly_the_limit_is_accepted() {
    let bench = bench().await;
    let of = |len: usize| {
        let payload = format!(r#"{{"content":"{}"}}"#, "x".repeat(len));
        v1::IngestRequest {
            message: Some(Message::from_payload(payload).into()),
            ..ingest()
        }
    };
    let beside = of(LIMIT).encoded_len() - LIMIT;
    let exact = of(LIMIT - beside);
    assert_eq!(exact.encoded_len(), LIMIT);
    assert!(
        bench
            .stub
            .clone()
            .ingest(exact)
            .await
            .unwrap()
            .into_inner()
            .ingested
    );
    let status = bench
        .stub
        .clone()
        .ingest(of(LIMIT - beside + 1))
        .await
        .unwrap_err();
    assert_eq!(refusal(&status), TOO_LARGE);
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_grpc_timeout_is_refused() {
    let bench = bench().await;
    let start = v1::AssembleRequest {
        frame: Some(HostFrame::Start(start(&transcript(3)))),
    };
    for (rpc, body) in [
        ("Ingest", encoded(&ingest())),
        ("Assemble", encoded(&start)),
    ] {
        for timeout in ["soon", "1", "123456789S", "-1S"] {
            let status = post(
                &bench.channel,
                rpc,
                body.clone(),
                &[("grpc-timeout", timeout)],
            )
            .await;
            let named = fields(&status);
            assert_eq!(
                (refusal(&status), named),
                (INVALID, vec!["grpc-timeout".to_owned()])
            );
        }
        let readable = post(&bench.channel, rpc, body, &[("grpc-timeout", "99999999H")]).await;
        assert_eq!(readable.code(), Code::Ok, "{rpc}: {readable}");
    }
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_rob_05_an_unknown_method_or_service_is_unimplemented() {
    let bench = bench().await;
    let status = post(&bench.channel, "Push", encoded(&ingest()), &[]).await;
    assert_eq!(status.code(), Code::Unimplemented);
    bench.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_the_socket_ends_that_connection_and_no_other() {
    for place in Place::each() {
        let _running = place.serve(TestEngine::keep()).await;
        let client = place.client();
        client
            .assemble(&session("s"), view(&transcript(3)))
            .await
            .unwrap();
        for garbage in [
            &b"GET / HTTP/1.1\r\nhost: engine\r\n\r\n"[..],
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut socket = connect(&place.target()).await.unwrap();
            socket.write_all(garbage).await.unwrap();
            let mut answer = Vec::new();
            // The server closes it, with or without a last word.
            let _reset = soon(socket.read_to_end(&mut answer)).await.is_err();
        }
        let others = [client, place.client()];
        for client in others {
            let served = client
                .assemble(&session("s"), view(&transcript(3)))
                .await
                .unwrap();
            assert!(served.reason.is_none(), "{:?}", served.reason);
        }
    }
}
