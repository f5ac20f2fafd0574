//! A host on its way: its log, the views that it makes of it, and its calls.

use contextwire_client::{EngineClient, Served, ServedBy};
use contextwire_engine::{
    AfterTurn, Assemble, Bootstrap, Message, RuntimeContext, Site, Transcript,
};
use contextwire_proto::sync::List;

use super::cost::LIMIT;
use super::engine::{BEHIND, halves};
use super::model::Book;
use crate::harness::{PATIENT, session};

/// What is done with the host's log in a hook that carries a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// The engine does not hear of it.
    Untold,
    /// The engine hears its state and asks for nothing.
    Told,
    /// The engine asks for it.
    Wanted,
}

/// A hook that carries a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Assemble(Site, Log),
    AfterTurn,
    Bootstrap,
}

impl Call {
    pub(super) fn list(self) -> (List, Site) {
        match self {
            Self::Assemble(site, _) => (List::View, site),
            Self::AfterTurn | Self::Bootstrap => (List::Log, Site::default()),
        }
    }
}

/// What came of a call.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) by: ServedBy,
    pub(super) reason: Option<&'static str>,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// A host and what it knows.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) client: EngineClient,
    pub(super) log: Transcript,
    pub(super) book: Book,
    /// Its connection may be one to a server that is gone.
    pub(super) stale: bool,
}

impl Host {
    pub(super) fn new(client: EngineClient, log: Transcript) -> Self {
        Self {
            client,
            log,
            book: Book::default(),
            stale: false,
        }
    }

    /// The list that this call carries.
    pub(super) fn carried(&self, call: Call) -> Transcript {
        match call {
            Call::Assemble(site, _) => view(&self.log, site),
            Call::AfterTurn | Call::Bootstrap => self.log.clone(),
        }
    }

    /// Calls, and checks that an answer is made of the host's own messages, each once.
    pub(super) async fn call(&self, call: Call, mark: &str) -> Outcome {
        let context = |log: Log| RuntimeContext {
            cwd: Some(mark.to_owned()),
            trigger: (log == Log::Wanted).then(|| BEHIND.to_owned()),
            ..RuntimeContext::default()
        };
        match call {
            Call::Assemble(site, log) => self.assemble(site, log, context(log)).await,
            Call::AfterTurn => {
                let request = AfterTurn {
                    transcript: self.log.clone(),
                    runtime_context: Some(context(Log::Untold)),
                    ..AfterTurn::default()
                };
                outcome(
                    self.client
                        .after_turn(&session("walk"), request)
                        .await
                        .unwrap(),
                )
            }
            Call::Bootstrap => {
                let request = Bootstrap {
                    transcript: self.log.clone(),
                    runtime_context: Some(context(Log::Untold)),
                    ..Bootstrap::default()
                };
                let served = self
                    .client
                    .bootstrap(&session("walk"), request)
                    .await
                    .unwrap();
                let taken = served.by != ServedBy::InProcess;
                assert_eq!(served.result.bootstrapped, taken);
                outcome(served)
            }
        }
    }

    async fn assemble(&self, site: Site, log: Log, context: RuntimeContext) -> Outcome {
        let list = view(&self.log, site);
        let request = Assemble {
            transcript: list.clone(),
            site,
            runtime_context: Some(context),
            ..Assemble::default()
        };
        let client = match log {
            Log::Untold => self.client.clone(),
            Log::Told | Log::Wanted => self.client.with_log(self.log.clone()),
        };
        let served = client
            .assemble_within(&session("walk"), request, PATIENT)
            .await
            .unwrap();
        let got: Vec<_> = served.result.messages().collect();
        let expected = match (&served.by, site) {
            (ServedBy::Engine(_), Site::Sync) => Vec::new(),
            (ServedBy::Engine(_), _) => halves(&list).messages(&list).cloned().collect(),
            (ServedBy::InProcess, _) => list.iter().cloned().collect::<Vec<_>>(),
        };
        assert_eq!(got.len(), expected.len());
        let own = got
            .iter()
            .zip(&expected)
            .all(|(got, own)| got.is_same_object(own));
        assert!(own, "the caller's own objects, in the engine's order");
        outcome(served)
    }
}

fn outcome<T>(served: Served<T>) -> Outcome {
    Outcome {
        by: served.by,
        reason: served.reason.as_ref().map(|reason| reason.code()),
        sent: served.traffic.bytes_sent(),
        received: served.traffic.bytes_received(),
    }
}

/// What the host would send to the model: never the log itself (R3.1). Between tool rounds it is
/// pruned.
fn view(log: &Transcript, site: Site) -> Transcript {
    let merged = |message: &Message| {
        let size = message.payload().len();
        let text = "y".repeat(size / 2);
        let id = message.entry_id();
        let payload = format!(
            r#"{{"role":"user","content":"{text}","of":"{}"}}"#,
            id.as_str()
        );
        Message::from_payload(payload).with_log_entry_id(Some(id.clone()))
    };
    let sent =
        |message: &&Message| site != Site::ToolLoop || !message.payload().len().is_multiple_of(4);
    log.iter().filter(sent).map(merged).collect()
}

/// The `n`th message that anybody wrote. Sizes differ, so that no two are equal by accident; some
/// are equal on purpose, and have no id.
pub(super) fn written(n: usize) -> Message {
    if n % 7 == 6 {
        return Message::from_payload(r#"{"role":"user","content":"go on"}"#);
    }
    // Some fit into a frame, and not beside the start of a hook.
    let large = if n % 11 == 5 { 18_000 } else { 0 };
    let text = "x".repeat(300 + (n * 397) % 2500 + large);
    let payload = format!(r#"{{"role":"user","content":"{n} {text}"}}"#);
    Message::from_payload(payload).with_entry_id(format!("e{n}"))
}

/// A message that fits into no frame.
pub(super) fn huge(n: usize) -> Message {
    let text = "z".repeat(3 * LIMIT);
    let payload = format!(r#"{{"role":"user","content":"{n} {text}"}}"#);
    Message::from_payload(payload).with_entry_id(format!("huge{n}"))
}
