use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::Notify;

use super::*;

/// The far end of a connection, written by hand.
struct Far {
    lines: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Far {
    async fn read(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.output.write_all(line.as_bytes()).await.unwrap();
    }
}

/// Answers with what was asked, and `slow` only when it is told to.
#[derive(Default)]
struct Echo {
    slow: Notify,
}

impl Answers for Echo {
    fn answer(&self, method: String, params: Value) -> Answer<'_> {
        Box::pin(async move {
            if method == "slow" {
                self.slow.notified().await;
            }
            if method == "odd" {
                return Err((-32601, "no such method".to_owned()));
            }
            Ok(json!({ "asked": method, "params": params }))
        })
    }
}

fn connected(echo: Arc<Echo>) -> (Rpc, mpsc::Receiver<Notification>, Far) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (input, output) = split(near);
    let (rpc, events) = Rpc::new(input, output, |method| method != "noise", echo);
    let (lines, output) = split(far);
    let lines = BufReader::new(lines);
    (rpc, events, Far { lines, output })
}

const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn answers_find_their_calls_in_any_order_between_notifications_and_noise() {
    let (rpc, mut events, mut far) = connected(Arc::default());
    let both = async {
        tokio::join!(
            rpc.call::<Value>("one", json!({"a": 1}), LONG),
            rpc.call::<Value>("two", json!({}), LONG),
        )
    };
    let answered = async {
        let one = far.read().await;
        assert_eq!(one, json!({"id": 1, "method": "one", "params": {"a": 1}}));
        assert_eq!(far.read().await["method"], "two");
        far.say("a wrapper that prints").await;
        far.say(r#"{"method":"noise","params":{}}"#).await;
        far.say(r#"{"method":"told","params":{"n":1}}"#).await;
        far.say(r#"{"id":77,"result":"of nobody"}"#).await;
        far.say(r#"{"id":2,"result":{"of":"two"}}"#).await;
        far.say(r#"{"id":1,"error":{"code":-7,"message":"no"}}"#)
            .await;
    };
    let ((one, two), ()) = tokio::join!(both, answered);
    let refused = RpcError::Refused {
        method: "one".to_owned(),
        code: -7,
        message: "no".to_owned(),
    };
    assert_eq!(one, Err(refused));
    assert_eq!(two, Ok(json!({"of": "two"})));
    let told = events.recv().await.unwrap();
    assert_eq!(
        (told.method.as_str(), told.params),
        ("told", json!({"n": 1}))
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_by_its_deadline_and_is_forgotten() {
    let (rpc, _events, mut far) = connected(Arc::default());
    let late = rpc.call::<Value>("one", json!({}), Duration::from_secs(3));
    assert!(matches!(late.await, Err(RpcError::Late { seconds: 3, .. })));
    let is_forgotten = match &*rpc.shared.calls() {
        Calls::Open { waiting, .. } => waiting.is_empty(),
        Calls::Closed { .. } => false,
    };
    assert!(is_forgotten);
    let _line = far.read().await;
}

#[tokio::test]
async fn calls_in_flight_and_later_ones_hear_that_the_connection_is_gone() {
    let (rpc, mut events, far) = connected(Arc::default());
    let (lost, ()) = tokio::join!(rpc.call::<Value>("one", json!({}), LONG), async {
        drop(far);
    });
    assert!(matches!(lost, Err(RpcError::Closed { .. })));
    assert_eq!(events.recv().await, None, "the events end as well");
    let later = rpc.call::<Value>("two", json!({}), LONG).await;
    assert!(matches!(later, Err(RpcError::Closed { .. })));
    assert!(rpc.closed_because().is_some());
}

#[tokio::test]
async fn a_slow_answer_of_ours_holds_up_no_other() {
    let echo = Arc::new(Echo::default());
    let (_rpc, _events, mut far) = connected(Arc::clone(&echo));
    far.say(r#"{"id":"s","method":"slow","params":{}}"#).await;
    far.say(r#"{"id":5,"method":"odd","params":{}}"#).await;
    let odd = far.read().await;
    assert_eq!(odd["id"], 5);
    assert_eq!(odd["error"]["code"], -32601);
    echo.slow.notify_one();
    let slow = far.read().await;
    assert_eq!(slow["id"], "s");
    assert_eq!(slow["result"]["asked"], "slow");
}

#[tokio::test]
async fn too_many_calls_are_refused_and_a_dropped_one_makes_room() {
    let (rpc, _events, _far) = connected(Arc::default());
    let mut calls: Vec<_> = (0..MAX_CALLS)
        .map(|_| Box::pin(rpc.call::<Value>("one", json!({}), LONG)))
        .collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call.as_mut()).is_pending());
    }
    let further = rpc.call::<Value>("two", json!({}), LONG).await;
    assert_eq!(further, Err(RpcError::Busy));
    calls.pop();
    let mut again = Box::pin(rpc.call::<Value>("two", json!({}), LONG));
    assert!(futures_util::poll!(again.as_mut()).is_pending());
}

#[tokio::test]
async fn a_flood_that_nobody_reads_closes_the_connection() {
    let (rpc, _events, mut far) = connected(Arc::default());
    let flood = async {
        // The connection may close before the last ones.
        for _ in 0..=MAX_UNREAD {
            if far
                .output
                .write_all(b"{\"method\":\"told\"}\n")
                .await
                .is_err()
            {
                break;
            }
        }
    };
    let (lost, ()) = tokio::join!(rpc.call::<Value>("one", json!({}), LONG), flood);
    let Err(RpcError::Closed { why }) = lost else {
        panic!("{lost:?}")
    };
    assert!(why.contains("notifications"), "{why}");
}
