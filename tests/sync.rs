//! What a client sends of a list, and that the engine sees the host's list whatever happened
//! before (PROTOCOL 3).

use contextwire_client::{ClientOptions, EngineClient, Served, ServedBy};
use contextwire_engine::{
    Assemble, Assembled, Message, Session, Site, Transcript, TranscriptState, TranscriptSync,
};
use contextwire_proto::v1;
use contextwire_server::ServerOptions;
use prost::Message as _;

use crate::harness::{PATIENT, Place, Running, TestEngine, message, session, transcript, view};

/// What a call costs that sends no message at all.
const NO_INSERT: u64 = 400;

struct Bench {
    place: Place,
    engine: TestEngine,
    running: Running,
}

async fn bench() -> Bench {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let running = place.serve(engine.clone()).await;
    Bench {
        place,
        engine,
        running,
    }
}

/// Bytes that a call sent and received. The engine has to serve it, and to see this list.
async fn served(client: &EngineClient, engine: &TestEngine, list: &Transcript) -> (u64, u64) {
    let served = assembled(client, view(list)).await;
    assert_eq!(engine.seen().last(), Some(list));
    (served.traffic.bytes_sent(), served.traffic.bytes_received())
}

async fn assembled(client: &EngineClient, request: Assemble) -> Served<()> {
    let served = client
        .assemble_within(&session("s"), request, PATIENT)
        .await
        .unwrap();
    assert_eq!(
        served.by,
        ServedBy::Engine("test".to_owned()),
        "{:?}",
        served.reason
    );
    served.map(drop)
}

/// What one request for the list costs on the wire, with nothing to start from.
fn cost_of_a_request(have: &[TranscriptState]) -> u64 {
    let need = v1::NeedTranscript {
        seq: 2,
        list: v1::TranscriptList::View.into(),
        have: have.iter().copied().map(Into::into).collect(),
    };
    let frame = Some(v1::assemble_response::Frame::NeedTranscript(need));
    v1::AssembleResponse { frame }.encoded_len() as u64 + 5
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_start_costs_the_list_once_and_an_append_what_is_new() {
    let Bench {
        place,
        engine,
        running: _running,
    } = bench().await;
    let client = place.direct();
    let mut list = transcript(2000);
    let (sent, first_received) = served(&client, &engine, &list).await;
    assert!(
        sent > list.payload_bytes() && sent < 3 * list.payload_bytes(),
        "{sent}"
    );
    let (sent, received) = served(&client, &engine, &list).await;
    assert!(sent < NO_INSERT, "{sent}");
    assert_eq!(
        first_received,
        received + cost_of_a_request(&[]),
        "one request, no more"
    );

    list.push(message(2000));
    let (sent, received_after) = served(&client, &engine, &list).await;
    let new = message(2000).payload().len() as u64;
    assert!(sent > new && sent < NO_INSERT + new, "{sent}");
    assert_eq!(received_after, received);
    let seen = engine.seen();
    assert!(
        seen.last().unwrap().iter().eq(list.iter()),
        "payloads, headers and ids too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_11_an_edit_in_the_middle_is_a_few_segments_on_the_wire() {
    let Bench {
        place,
        engine,
        running: _running,
    } = bench().await;
    let client = place.direct();
    served(&client, &engine, &transcript(2000)).await;
    let edited = |at: usize| -> Transcript {
        (0..2000)
            .map(|n| if n == at { message(9999) } else { message(n) })
            .collect()
    };
    for at in [1000, 1500, 0, 1999] {
        let (sent, _) = served(&client, &engine, &edited(at)).await;
        assert!(sent < NO_INSERT + 300, "{sent} bytes for an edit at {at}");
    }
    let cut: Transcript = (0..2000)
        .filter(|n| !(500..1500).contains(n))
        .map(message)
        .collect();
    assert!(served(&client, &engine, &cut).await.0 < NO_INSERT + 300);
    assert!(served(&client, &engine, &Transcript::new()).await.0 < NO_INSERT);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_lost_its_mirror_asks_once_and_gets_the_whole_list() {
    let Bench {
        place,
        engine,
        running,
    } = bench().await;
    let (client, list) = (place.direct(), transcript(500));
    let (first, _) = served(&client, &engine, &list).await;
    let (_, usual) = served(&client, &engine, &list).await;
    running.kill().await;
    // The client learns of the loss before the engine is back.
    let down = client.assemble(&session("s"), view(&list)).await.unwrap();
    assert_eq!(down.by, ServedBy::InProcess);

    let _running = place.serve(engine.clone()).await;
    let (sent, received) = served(&client, &engine, &list).await;
    assert!(
        sent >= list.payload_bytes() && sent < first + NO_INSERT,
        "once: {sent}"
    );
    assert_eq!(received, usual + cost_of_a_request(&[]), "one request");
    assert!(served(&client, &engine, &list).await.0 < NO_INSERT);
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_a_restarted_host_sends_no_message_that_the_engine_has() {
    let Bench {
        place,
        engine,
        running: _running,
    } = bench().await;
    let mut list = transcript(2000);
    served(&place.direct(), &engine, &list).await;

    let restarted = place.direct();
    let (sent, received) = served(&restarted, &engine, &list).await;
    assert!(sent < NO_INSERT, "zero inserts: {sent}");
    assert_eq!(
        received,
        served(&restarted, &engine, &list).await.1,
        "and no request"
    );

    // One that has gone on meanwhile sends what is new, after one request.
    let offered: Vec<_> = std::iter::successors(Some(1), |step| Some(step * 2))
        .map_while(|step| 2000_usize.checked_sub(step).filter(|len| *len > 0))
        .collect();
    let have: Vec<_> = [2000]
        .into_iter()
        .chain(offered)
        .filter_map(|len| list.state_at(len))
        .collect();
    list.push(message(2000));
    let (sent, received_more) = served(&place.direct(), &engine, &list).await;
    assert!(sent < 2 * NO_INSERT, "{sent}");
    assert_eq!(received_more, received + cost_of_a_request(&have));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_of_one_session_go_on_beside_each_other() {
    let Bench {
        place,
        engine,
        running: _running,
    } = bench().await;
    let (ours, theirs) = (place.direct(), place.direct());
    let (mut our_list, mut their_list) = (transcript(1000), transcript(1000));
    served(&ours, &engine, &our_list).await;
    served(&theirs, &engine, &their_list).await;
    for n in 0..10 {
        our_list.push(message(5000 + n));
        their_list.push(message(7000 + n));
        for (client, list) in [(&ours, &our_list), (&theirs, &their_list)] {
            let (sent, _) = served(client, &engine, list).await;
            assert!(sent < 2 * NO_INSERT, "{sent} bytes in round {n}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_that_take_turns_do_not_push_out_each_others_list() {
    let Bench {
        place,
        engine,
        running: _running,
    } = bench().await;
    let client = place.direct();
    // What goes out between tool rounds is another view of the same conversation.
    let pruned = |len: usize| -> Transcript {
        (0..len)
            .map(|n| Message::from_payload(format!(r#"{{"role":"user","content":"{n}"}}"#)))
            .collect()
    };
    let mut costs = Vec::new();
    for round in 0..5 {
        for (site, list) in [
            (Site::BeforePrompt, transcript(1000 + round)),
            (Site::ToolLoop, pruned(1000 + round)),
        ] {
            let served = assembled(
                &client,
                Assemble {
                    site,
                    ..view(&list)
                },
            )
            .await;
            assert_eq!(engine.seen().last(), Some(&list));
            costs.push(served.traffic.bytes_sent());
        }
    }
    assert!(
        costs[2..].iter().all(|sent| *sent < 2 * NO_INSERT),
        "{costs:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_9_an_engine_that_keeps_no_mirror_gets_the_whole_list_each_time() {
    let (place, engine) = (
        Place::new(),
        TestEngine::keep().with_sync(TranscriptSync::Full),
    );
    let _running = place.serve(engine.clone()).await;
    let (client, list) = (place.direct(), transcript(500));
    let (first, received) = served(&client, &engine, &list).await;
    assert!(first > list.payload_bytes(), "{first}");
    for _ in 0..2 {
        let (sent, again) = served(&client, &engine, &list).await;
        assert!(sent.abs_diff(first) < 16, "{sent} and {first}");
        assert_eq!(again, received, "and is never asked for");
    }
}

/// A list of a hundred messages of 5 kB each.
fn large() -> Transcript {
    let text = "x".repeat(5000);
    (0..100)
        .map(|n| Message::from_payload(format!(r#"{{"role":"user","content":"{n}{text}"}}"#)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_a_list_over_the_limit_travels_in_parts() {
    const LIMIT: usize = 64 << 10;
    let small_client = ClientOptions {
        max_message_bytes: LIMIT,
        ..ClientOptions::default()
    };
    let small_server = ServerOptions {
        max_message_bytes: LIMIT,
        ..ServerOptions::default()
    };
    for (client, server) in [
        (small_client, ServerOptions::default()),
        (ClientOptions::default(), small_server),
    ] {
        let (place, engine) = (Place::new(), TestEngine::keep());
        let _running = place.serve_with(engine.clone(), server).await;
        let (client, list) = (place.client_with(&client), large());
        let (sent, _) = served(&client, &engine, &list).await;
        assert!(sent > 5 * LIMIT as u64, "at least five parts: {sent}");
        assert!(engine.seen()[0].iter().eq(list.iter()));
        assert!(served(&client, &engine, &list).await.0 < NO_INSERT);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_9_mirrors_beyond_the_memory_go_and_are_asked_for_again() {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let options = ServerOptions {
        mirror_bytes: 600_000,
        ..ServerOptions::default()
    };
    let _running = place.serve_with(engine.clone(), options).await;
    let (client, list) = (place.direct(), large());
    let call = async |id: &str| {
        let session: Session = session(id);
        let served = client
            .assemble_within(&session, view(&list), PATIENT)
            .await
            .unwrap();
        assert_eq!(served.by, ServedBy::Engine("test".to_owned()));
        served.traffic.bytes_sent()
    };
    assert!(call("a").await > list.payload_bytes());
    assert!(call("a").await < NO_INSERT);
    assert!(call("b").await > list.payload_bytes());
    assert!(call("b").await < NO_INSERT);
    assert!(call("a").await > list.payload_bytes(), "pushed out by b");
    assert!(engine.seen().iter().all(|seen| *seen == list));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_10_ranges_come_in_any_order_and_inserts_between_them() {
    let place = Place::new();
    let summary =
        Message::from_payload(r#"{"role":"user","content":"so far"}"#).with_synthetic(true);
    let invented = summary.clone();
    let engine = TestEngine::of(move |_, _| {
        let mut messages = Assembled::keep(7..9);
        messages.push_insert(invented.clone());
        messages.push_keep(0..2);
        async move { Ok(messages) }
    });
    let _running = place.serve(engine).await;
    let list = transcript(9);
    let served = place
        .client()
        .assemble(&session("s"), view(&list))
        .await
        .unwrap();
    let got: Vec<_> = served.result.messages().collect();
    for (at, own) in [(0, 7), (1, 8), (3, 0), (4, 1)] {
        assert!(got[at].is_same_object(list.get(own).unwrap()), "{at}");
    }
    assert_eq!((got.len(), got[2]), (5, &summary));
    assert!(got[2].is_synthetic());
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_11_bytes_for_one_new_message_do_not_depend_on_history() {
    let mut costs = Vec::new();
    for len in [100, 1000, 10_000, 100_000] {
        let Bench {
            place,
            engine,
            running: _running,
        } = bench().await;
        let client = place.direct();
        let mut list = transcript(len);
        served(&client, &engine, &list).await;
        list.push(message(555));
        let (sent, received) = served(&client, &engine, &list).await;
        costs.push(sent + received);
    }
    let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
    assert!(most * 100 <= least * 105, "within 5 %: {costs:?}");
}

/// The one list that the engine asks for comes in parts within the limit, and each part once. Pages
/// of `ReadTranscript` have tests of their own.
#[tokio::test(flavor = "multi_thread")]
async fn e_syn_12_a_list_is_asked_for_once_and_no_part_is_sent_twice() {
    const LIMIT: usize = 64 << 10;
    let options = ServerOptions {
        max_message_bytes: LIMIT,
        ..ServerOptions::default()
    };
    let (place, engine) = (Place::new(), TestEngine::keep());
    let _running = place.serve_with(engine.clone(), options).await;
    let (client, list) = (place.direct(), large());
    let (sent, received) = served(&client, &engine, &list).await;
    let overhead = sent - list.payload_bytes();
    assert!(
        overhead < list.len() as u64 * 64 + 4000,
        "{overhead} bytes beside the payloads"
    );
    let (_, usual) = served(&client, &engine, &list).await;
    // One request, and a word on each part that is not the last.
    let words = list.payload_bytes() / (LIMIT as u64 / 2) * 64;
    let more = received - usual - cost_of_a_request(&[]);
    assert!((1..=words).contains(&more), "{more} of {words} bytes");
}
