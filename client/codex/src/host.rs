//! One session on Codex: turns with the context that an engine decides, in threads that are kept for
//! as long as they show the right one.

mod compaction;
mod context;
mod thread;

use std::sync::Arc;

use contextwire_client::engine::{TokenBudget, TurnAdmission};
use contextwire_client::projection::{
    Binding, BindingStore, NativeLimits, NativeThread, Planner, ProjectionOptions, ToolSurface,
};
use contextwire_client::{Admission, Context, Host, Traffic, Turn};
use tokio::time::Instant;

use crate::app_server::AppServer;
use crate::approval::Policy;
use crate::deliver::{ClosedTurn, Delivery};
use crate::error::CodexError;
use crate::log::SessionLog;
use crate::protocol::{Event, Thread};
use crate::report::TurnReport;
use crate::running::Ran;
use crate::settings::CodexSettings;

use context::Assembled;
use thread::Begun;

/// The backend's name, beside which its bindings are stored.
const BACKEND: &str = "codex";
/// How a thread gets its context, in reports.
const PER_TURN: &str = "per_turn";
const BOOTSTRAP: &str = "thread_bootstrap";
const LOG_FILE: &str = "log.jsonl";

/// A session. One process at a time has it.
#[derive(Debug)]
pub struct CodexHost {
    host: Host,
    settings: CodexSettings,
    planner: Planner,
    tools: ToolSurface,
    bindings: BindingStore,
    log: SessionLog,
    delivery: Delivery,
    server: Option<AppServer>,
    /// The thread that the running app-server has loaded.
    loaded: Option<Thread>,
    /// What the loaded thread was shown of the engine's additions last.
    addition: Option<String>,
    /// Tokens of the loaded thread, as its last turn had them.
    native_tokens: Option<u64>,
    turns: u64,
}

impl CodexHost {
    /// Opens a session; it goes on where an earlier process left it. Codex is started with the
    /// first turn.
    ///
    /// # Errors
    /// [`CodexError::Folder`], and [`CodexError::Log`] also while another process has the session.
    pub async fn open(host: Host, settings: CodexSettings) -> Result<Self, CodexError> {
        let folder = &settings.folder;
        std::fs::create_dir_all(folder).map_err(|source| CodexError::Folder {
            folder: folder.display().to_string(),
            source,
        })?;
        let log = SessionLog::open(&folder.join(LOG_FILE), &settings.session).await?;
        let options = ProjectionOptions {
            window_tokens: settings.token_budget.map(TokenBudget::get),
            on_failure: settings.on_projection_failure,
            ..ProjectionOptions::default()
        };
        // The instructions belong to what a thread is made of, as the tools do.
        let mut parts = settings.tools.specs();
        parts.extend(settings.instructions.clone().map(serde_json::Value::from));
        Ok(Self {
            planner: Planner::new(options),
            tools: ToolSurface::of(parts.iter().map(ToString::to_string)),
            bindings: BindingStore::new(folder, BACKEND),
            log,
            delivery: Delivery::default(),
            server: None,
            loaded: None,
            addition: None,
            native_tokens: None,
            turns: 0,
            host,
            settings,
        })
    }

    /// The engines behind it.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What a person is told before the first prompt.
    pub fn welcome(&self) -> String {
        format!(
            "session {} in {}; /help shows the commands",
            self.settings.session.id,
            self.settings.folder.display()
        )
    }

    /// One prompt, answered by the model. The engine's failures are in the report.
    ///
    /// # Errors
    /// [`CodexError`]: Codex cannot be had, or nothing can be stored.
    pub async fn turn(&mut self, prompt: &str) -> Result<TurnReport, CodexError> {
        let started = Instant::now();
        let bound = self.ready().await?;
        let (before, admission) = self.log.admit(prompt).await?;
        let session = self.settings.session.clone();
        let recorded = Admission::Recorded(admission.clone());
        let turn = self.host.turn(&session, recorded).await;
        let turn = turn.map_err(CodexError::Context)?;
        let turn = turn.with_log(before.clone()).with_host(self.log.calls());
        let assembled = self.assemble(&turn, (before, prompt), bound.as_ref()).await;
        let mut begun = self.begin(&assembled, prompt).await?;
        let ran = self.run(&mut begun, &assembled).await?;
        self.log.append(&ran.messages).await?;
        if ran.is_compacted {
            self.forget_projection(&begun.thread.id)?;
        }
        let problem = self.tell(&turn, admission, (&ran, &begun)).await?;
        turn.end();
        self.turns += 1;
        let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let epoch = self.epoch(&begun.thread.id)?;
        let report = report((assembled, begun, ran), problem, millis);
        let mode = epoch.as_ref().map_or(PER_TURN, |_| BOOTSTRAP);
        Ok(TurnReport {
            turn: self.turns,
            mode: mode.to_owned(),
            epoch,
            ..report
        })
    }

    /// Ends Codex, and tells the engine that this host goes away.
    pub async fn close(mut self) {
        if let Some(server) = self.server.take() {
            server.close().await;
        }
        self.host.dispose().await;
    }

    /// Codex runs, and what is known of the session's thread is true. Gives the binding.
    async fn ready(&mut self) -> Result<Option<Binding>, CodexError> {
        self.serve().await?;
        let bound = self.bindings.get(&self.settings.session)?;
        let bound = self.load(bound).await?;
        Ok(bound)
    }

    /// Starts the app-server where none runs.
    async fn serve(&mut self) -> Result<(), CodexError> {
        if let Some(server) = &mut self.server
            && server.gone_because().is_none()
        {
            let mut compacted = Vec::new();
            while let Some(event) = server.ready_event() {
                if let Event::Compacted { thread_id } = event {
                    compacted.push(thread_id);
                }
            }
            for thread_id in compacted {
                self.forget_projection(&thread_id)?;
            }
            return Ok(());
        }
        if let Some(gone) = self.server.take() {
            tracing::warn!(why = gone.gone_because(), "the app-server is started again");
            gone.close().await;
        }
        self.unload();
        let policy = Policy {
            approvals: self.settings.approvals,
            tools: Arc::new(self.settings.tools.clone()),
        };
        let server = AppServer::start(&self.settings.program, Arc::new(policy)).await?;
        tracing::debug!(server = server.initialized().user_agent, "Codex runs");
        self.server = Some(server);
        Ok(())
    }

    fn server(&mut self) -> Result<&mut AppServer, CodexError> {
        self.server.as_mut().ok_or(CodexError::NotRunning)
    }

    fn unload(&mut self) {
        self.loaded = None;
        self.addition = None;
        self.native_tokens = None;
    }

    /// What was injected into this thread may be gone: the next turn begins another one.
    fn forget_projection(&mut self, thread_id: &str) -> Result<(), CodexError> {
        let session = &self.settings.session;
        if let Some(bound) = self.bindings.get(session)?
            && bound.usable_thread() == Some(thread_id)
        {
            self.bindings
                .put(session, &bound.after_native_compaction())?;
        }
        Ok(())
    }

    /// Whether the thread has grown over what it may hold.
    fn is_over_limits(&self, bytes: u64, bound: &Binding) -> bool {
        let thread = NativeThread {
            bytes,
            tokens: self.native_tokens,
            is_supervised: false,
        };
        let limits = NativeLimits::default();
        let has_engine = self.host.active_info().is_some();
        limits.reached(&thread, bound, has_engine, 0).is_some()
    }

    /// The epoch that this thread shows.
    fn epoch(&self, thread_id: &str) -> Result<Option<String>, CodexError> {
        let bound = self.bindings.get(&self.settings.session)?;
        let shown = bound.filter(|bound| bound.usable_thread() == Some(thread_id));
        let projection = shown.and_then(|bound| bound.terms.projection);
        Ok(projection.map(|projection| projection.epoch))
    }

    async fn tell(
        &mut self,
        turn: &Turn,
        admission: TurnAdmission,
        (ran, begun): (&Ran, &Begun),
    ) -> Result<Option<String>, CodexError> {
        let engine = self.host.active_info();
        let told = turn.with_log(self.log.transcript().await?);
        let closed = ClosedTurn {
            admission,
            outcome: ran.outcome(),
            model: begun.thread.model.clone(),
            token_budget: self.settings.token_budget,
        };
        let problem = self.delivery.deliver(
            (&told, &self.settings.session),
            (&self.log, closed),
            engine.as_ref(),
        );
        Ok(problem.await?)
    }
}

fn report(
    (assembled, begun, ran): (Assembled, Begun, Ran),
    untold: Option<String>,
    millis: u64,
) -> TurnReport {
    let problems = [
        assembled.problem(),
        untold.map(|why| format!("not told: {why}")),
    ];
    let problems: Vec<_> = problems.into_iter().flatten().collect();
    TurnReport {
        status: ran.turn.status,
        problem: ran.turn.error.map(|error| error.message),
        answer: ran.answer,
        thread_id: begun.thread.id,
        is_new_thread: begun.is_new,
        projected: assembled.is_projected(),
        reason: assembled.plan.reason.as_str().to_owned(),
        injected_messages: begun.injected,
        context_tokens: assembled.context().map_or(0, Context::estimated_tokens),
        tokens: ran.tokens,
        window: ran.window,
        tool_calls: ran.tool_calls,
        compacted_by_codex: ran.is_compacted,
        served_by: assembled.served_by(),
        engine_problem: problems.join("; "),
        engine_bytes_sent: assembled.sum(Traffic::bytes_sent),
        engine_bytes_received: assembled.sum(Traffic::bytes_received),
        millis,
        ..TurnReport::default()
    }
}
