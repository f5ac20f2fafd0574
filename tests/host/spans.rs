//! What a client writes of its calls: spans, figures and a status that say who answered, and nothing
//! of what was said.

use std::io::Write;
use std::sync::{Arc, Mutex};

use contextwire_client::store::{AnyStore, MemoryStore, NewEntry, TranscriptStore};
use contextwire_client::{HostModel, Label, Metrics, ModelAnswer, SessionHost};
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    EngineError, EngineInfo, HookContext, Host as Calls, Ingest, Ingested, LlmComplete,
    LlmCompleted, Message, Session, SessionId, Transcript,
};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use super::builder;
use crate::harness::Place;

/// In everything that somebody says.
const CANARY: &str = "canary-7f3a";

/// Everything that is written.
#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Figures as lines.
#[derive(Debug, Default)]
struct Figures(Mutex<Vec<String>>);

impl Metrics for Figures {
    fn add(&self, name: &'static str, labels: &[Label<'_>], _by: u64) {
        self.0.lock().unwrap().push(format!("{name} {labels:?}"));
    }

    fn record(&self, name: &'static str, labels: &[Label<'_>], _value: f64) {
        self.0.lock().unwrap().push(format!("{name} {labels:?}"));
    }
}

/// Says it wherever an engine can say something.
struct Talkative;

impl ContextEngine for Talkative {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("talkative", "Talkative", "1.0.0")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: true })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let mut messages = Assembled::keep(0..request.transcript.len());
        messages.push_insert(said("assistant"));
        Ok(AssembleReply {
            messages,
            system_prompt_addition: Some(CANARY.to_owned()),
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, cx: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        let request = LlmComplete {
            messages: vec![("user".to_owned(), CANARY.to_owned())],
            system_prompt: Some(CANARY.to_owned()),
            ..LlmComplete::default()
        };
        let answer = cx.host.complete(request).await;
        Ok(Compacted::declined(
            answer.map_or_else(|error| error.message, |it| it.text),
        ))
    }
}

/// Answers with it.
struct Model;

impl HostModel for Model {
    fn complete(&self, _: LlmComplete) -> ModelAnswer<'_> {
        Box::pin(async {
            Ok(LlmCompleted {
                text: CANARY.to_owned(),
                ..LlmCompleted::default()
            })
        })
    }
}

fn said(role: &str) -> Message {
    Message::from_payload(format!(
        r#"{{"role":"{role}","content":"{CANARY}","{CANARY}":1}}"#
    ))
}

fn family() -> Session {
    Session {
        key: Some(format!("agent:{CANARY}")),
        locator: Some(CANARY.to_owned()),
        ..Session::new(SessionId::new("s1").unwrap())
    }
}

async fn session_host() -> Calls {
    let store = AnyStore::new(MemoryStore::with_entry_ids());
    let entry = NewEntry::message(said("user").payload().clone(), 0);
    store.append(vec![entry]).await.unwrap();
    let host = SessionHost::new(family(), store).with_model(Model);
    Calls::new(Arc::new(host))
}

/// Calls of every kind, answered by the engine and in its place; gives the status afterwards.
async fn everything(figures: Arc<Figures>) -> String {
    let place = Place::new();
    let running = place.serve(Talkative).await;
    let host = builder()
        .engine("lossless", place.target())
        .metrics(figures)
        .build()
        .unwrap();
    let host = host.with_host(session_host().await);
    let view = || Assemble {
        transcript: [said("user")].into_iter().collect::<Transcript>(),
        prompt: Some(CANARY.to_owned()),
        memory_prompt: Some(CANARY.to_owned()),
        ..Assemble::default()
    };
    let compact = || Compact {
        custom_instructions: Some(CANARY.to_owned()),
        ..Compact::default()
    };
    let ingest = Ingest {
        message: said("user"),
        is_heartbeat: false,
    };
    host.assemble(&family(), view()).await.unwrap();
    host.ingest(&family(), ingest).await.unwrap();
    let compacted = host.compact(&family(), compact()).await.unwrap();
    assert_eq!(compacted.result.reason.as_deref(), Some(CANARY));
    running.kill().await;
    host.assemble(&family(), view()).await.unwrap();
    host.compact(&family(), compact()).await.unwrap();
    serde_json::to_string(&host.status()).unwrap()
}

#[tokio::test]
async fn spans_figures_and_status_say_who_answered_and_nothing_of_what_was_said() {
    let (written, figures) = (Written::default(), Arc::<Figures>::default());
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(written.clone())
        .finish();
    let _here = tracing::subscriber::set_default(subscriber);
    // With one subscriber in the process, a thread without it may decide first that nobody listens.
    let nobody = tracing_subscriber::fmt()
        .with_writer(std::io::sink)
        .finish();
    let _second = tracing::Dispatch::new(nobody);
    let status = everything(Arc::<Figures>::clone(&figures)).await;

    let text = written.text();
    for part in [
        "contextwire.client.call{hook=Assemble",
        "contextwire.client.call{hook=Compact",
        "contextwire.client.attempt{attempt=1",
        "contextwire.client.host_call{kind=\"complete\"",
        "trace_id=",
        "served_by=talkative",
        "served_by=in-process",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let figures = figures.0.lock().unwrap().join("\n");
    for part in [
        r#"calls_total [("engine", "lossless"), ("hook", "Assemble"), ("served_by", "engine"), ("code", "")]"#,
        r#"call_seconds [("engine", "lossless"), ("hook", "Compact"), ("served_by", "in-process")]"#,
        r#"attempts_total [("engine", "lossless"), ("hook", "Ingest")]"#,
        r#"host_calls_total [("engine", "lossless"), ("kind", "complete"), ("code", "OK")]"#,
        "sent_bytes_total",
    ] {
        assert!(figures.contains(part), "{part} in\n{figures}");
    }
    for (name, text) in [("spans", text), ("figures", figures), ("status", status)] {
        let line = text.lines().find(|line| line.contains(CANARY));
        assert_eq!(line, None, "{name}");
    }
}
