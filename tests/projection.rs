//! Turns of a backend with threads of its own, over the wire: what the engine is told, what the
//! thread is sent, and what failures on the way come to (PROTOCOL 10).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use contextwire_client::projection::{
    Assembly, BindingStep, BindingStore, Content, PendingBinding, Plan, Planner, ProjectionOptions,
    Prompt, Step, ThreadChoice, ToolSurface, Turn,
};
use contextwire_client::{Context, EngineClient, Served};
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Compact, Compacted, ContextEngine,
    ContextProjection, EngineError, EngineInfo, HookContext, Ingest, Ingested, KnownProjection,
    Message, ProjectionMode, Session, Transcript, Unchanged,
};
use tempfile::TempDir;
use tracing_subscriber::fmt::MakeWriter;

use crate::harness::{PATIENT, Place, Running, session, transcript};

const MOST_BYTES: u64 = 2_048;

/// An engine with one summary, whose epoch a test sets.
#[derive(Clone, Default)]
struct Epochs {
    epoch: Arc<Mutex<String>>,
    told: Arc<Mutex<Vec<Option<KnownProjection>>>>,
}

impl Epochs {
    fn begin(&self, epoch: &str) {
        epoch.clone_into(&mut self.epoch.lock().unwrap());
    }

    /// What it was told in its last Assemble.
    fn was_told(&self) -> Option<String> {
        let told = self.told.lock().unwrap();
        let known = told.last().unwrap().as_ref()?;
        Some(known.epoch.clone())
    }
}

impl ContextEngine for Epochs {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("epochs", "Epochs", "1.0.0")
    }

    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: false })
    }

    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let known = request.known_projection;
        let epoch = self.epoch.lock().unwrap().clone();
        self.told.lock().unwrap().push(known.clone());
        if known.is_some_and(|known| known.epoch == epoch) {
            return Ok(AssembleOutcome::Unchanged(Unchanged::default()));
        }
        let mut messages = Assembled::new();
        let summary = format!(r#"{{"role":"user","content":"summary of {epoch}"}}"#);
        messages.push_insert(Message::from_payload(summary).with_synthetic(true));
        messages.push_keep(request.transcript.len().saturating_sub(2)..request.transcript.len());
        Ok(AssembleReply {
            messages,
            context_projection: Some(ContextProjection {
                mode: ProjectionMode::ThreadBootstrap,
                epoch: Some(epoch),
                fingerprint: None,
            }),
            ..AssembleReply::default()
        }
        .into())
    }

    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("HOST_CALL_UNAVAILABLE"))
    }
}

/// A host of a backend whose threads remember what they were told.
struct Threads {
    place: Place,
    engine: Epochs,
    client: EngineClient,
    planner: Planner,
    store: BindingStore,
    session: Session,
    list: Transcript,
    tools: ToolSurface,
    said: BTreeMap<String, Vec<String>>,
    begun: usize,
    _folder: TempDir,
}

/// A turn as it went.
struct Told {
    reason: &'static str,
    thread: String,
    text: String,
    bytes: u64,
}

impl Threads {
    async fn new(messages: usize) -> (Self, Running) {
        let (place, engine) = (Place::new(), Epochs::default());
        engine.begin("e1");
        let running = place.serve(engine.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        let threads = Self {
            client: place.direct(),
            place,
            engine,
            planner: Planner::new(ProjectionOptions::default()),
            store: BindingStore::new(folder.path(), "threads"),
            session: session("s"),
            list: transcript(messages),
            tools: ToolSurface::of(["read"]),
            said: BTreeMap::new(),
            begun: 0,
            _folder: folder,
        };
        (threads, running)
    }

    async fn turn(&mut self, prompt: &str) -> Told {
        let (plan, served) = self.decided().await;
        let text = match &plan.content {
            Content::Bare => prompt.to_owned(),
            Content::Projected(framing) => {
                let messages = served.result.messages();
                framing.turn_text(messages, &Prompt::new(prompt)).text
            }
        };
        let thread = match plan.thread {
            ThreadChoice::Keep(thread) => thread,
            ThreadChoice::Fresh { .. } => {
                self.begun += 1;
                format!("t{}", self.begun)
            }
        };
        let pending = self.bind(plan.binding, &thread);
        let said = self.said.entry(thread.clone()).or_default();
        said.push(text.clone());
        if let Some(pending) = pending {
            pending.confirm(&*thread).unwrap();
        }
        let said = format!(r#"{{"role":"user","content":"{prompt}"}}"#);
        let id = format!("p{}", self.list.len());
        self.list
            .push(Message::from_payload(said).with_entry_id(id));
        Told {
            reason: plan.reason.as_str(),
            thread,
            text,
            bytes: served.traffic.bytes_sent() + served.traffic.bytes_received(),
        }
    }

    async fn decided(&self) -> (Plan, Served<Context>) {
        let bound = self.store.get(&self.session).unwrap();
        // A thread that the backend no longer has is none.
        let is_there = |id: &str| self.said.contains_key(id);
        let bound = bound.filter(|bound| bound.usable_thread().is_none_or(is_there));
        let info = self.client.active_info();
        let known = self
            .planner
            .known(info.as_ref(), bound.as_ref(), &self.tools);
        for known in [known, None] {
            let request = Assemble {
                transcript: self.list.clone(),
                known_projection: known.clone(),
                ..Assemble::default()
            };
            let answer = self
                .client
                .assemble_within(&self.session, request, PATIENT)
                .await;
            let info = self.client.active_info();
            let step = self.planner.plan(&Turn {
                engine: info.as_ref(),
                bound: bound.as_ref(),
                tools: &self.tools,
                assembly: Assembly::of(&answer, known.as_ref()),
            });
            if let Step::Run(plan) = step {
                return (*plan, answer.unwrap());
            }
        }
        panic!("asked again, of a thread that the engine was not told of")
    }

    fn bind(&self, step: BindingStep, thread: &str) -> Option<PendingBinding> {
        match step {
            BindingStep::Begin(draft) => {
                let id = Some(thread.to_owned());
                return Some(self.store.begin(&self.session, draft, id).unwrap());
            }
            BindingStep::Put(binding) => self.store.put(&self.session, &binding).unwrap(),
            BindingStep::Remove => self.store.remove(&self.session).unwrap(),
            BindingStep::Leave => {}
        }
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c262_r10_2_the_context_is_sent_once_an_epoch_and_a_turn_costs_what_is_new() {
    for messages in [100, 10_000] {
        let (mut threads, _running) = Threads::new(messages).await;
        let first = threads.turn("one").await;
        assert_eq!(first.reason, "missing-thread-binding");
        assert!(first.text.contains("summary of e1"), "{}", first.text);
        assert_eq!(threads.engine.was_told(), None);
        for prompt in ["two", "three", "four"] {
            let told = threads.turn(prompt).await;
            assert_eq!(told.reason, "matching-thread-bootstrap-binding");
            assert_eq!((&*told.thread, &*told.text), ("t1", prompt));
            assert_eq!(threads.engine.was_told().as_deref(), Some("e1"));
            assert!(told.bytes <= MOST_BYTES, "{} bytes", told.bytes);
        }
        threads.engine.begin("e2");
        let told = threads.turn("five").await;
        assert_eq!(told.reason, "projection-mismatch");
        assert_eq!(told.thread, "t2");
        assert!(told.text.contains("summary of e2") && !told.text.contains("summary of e1"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_4_an_engine_that_is_away_costs_a_bound_thread_nothing() {
    let (mut threads, running) = Threads::new(10).await;
    threads.turn("one").await;
    running.kill().await;
    for prompt in ["two", "three"] {
        let told = threads.turn(prompt).await;
        assert_eq!(told.reason, "assemble-failed");
        assert_eq!((&*told.thread, &*told.text), ("t1", prompt));
    }
    let _running = threads.place.serve(threads.engine.clone()).await;
    let told = threads.turn("four").await;
    assert_eq!(told.reason, "matching-thread-bootstrap-binding");
    assert_eq!(threads.begun, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r10_4_without_a_thread_the_hosts_own_list_is_projected_until_the_engine_is_there() {
    let (mut threads, running) = Threads::new(10).await;
    running.kill().await;
    for (prompt, thread) in [("one", "t1"), ("two", "t2")] {
        let told = threads.turn(prompt).await;
        assert_eq!(told.reason, "assemble-failed");
        assert_eq!(told.thread, thread);
        assert!(told.text.contains("message 9"), "{}", told.text);
        let bound = threads.store.get(&threads.session).unwrap();
        assert_eq!(bound, None, "nothing is stored");
    }
    let _running = threads.place.serve(threads.engine.clone()).await;
    let told = threads.turn("three").await;
    assert_eq!(told.reason, "missing-thread-binding");
    assert!(told.text.contains("summary of e1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn h_hks_12_a_thread_that_the_backend_lost_gets_the_whole_context_in_a_new_one() {
    let (mut threads, _running) = Threads::new(10).await;
    threads.turn("one").await;
    threads.turn("two").await;
    threads.said.clear();
    let told = threads.turn("three").await;
    assert_eq!(threads.engine.was_told(), None);
    assert_eq!(told.reason, "missing-thread-binding");
    assert!(told.text.contains("summary of e1"));
    assert_eq!(told.thread, "t2");
}

/// Keeps the lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn c260_a_bootstrap_without_an_epoch_is_one_warning_and_a_context_with_every_turn() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .finish();
    let planner = Planner::new(ProjectionOptions::default());
    let reply = AssembleReply {
        context_projection: Some(ContextProjection {
            mode: ProjectionMode::ThreadBootstrap,
            epoch: Some("  ".to_owned()),
            fingerprint: None,
        }),
        ..AssembleReply::default()
    };
    let (engine, tools) = (Epochs::default().info(), ToolSurface::of(["read"]));
    let turn = Turn {
        engine: Some(&engine),
        bound: None,
        tools: &tools,
        assembly: Assembly::Answered(&reply),
    };
    tracing::subscriber::with_default(log, || {
        for _ in 0..3 {
            let Step::Run(plan) = planner.plan(&turn) else {
                panic!("asked again")
            };
            assert_eq!(plan.reason.as_str(), "per-turn-projection");
        }
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("without an epoch").count(), 1, "{text}");
}
