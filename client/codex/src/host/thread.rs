//! The thread of a turn: the one that shows the right context, or a new one that is shown it.

use contextwire_client::projection::{
    Binding, BindingStep, Content, PendingBinding, Prompt, ThreadChoice,
};

use super::CodexHost;
use super::context::Assembled;
use crate::error::CodexError;
use crate::item;
use crate::protocol::{RunTerms, Thread, ThreadStart};
use crate::rollout::Rollout;
use crate::rpc::RpcError;
use crate::running::{Ran, Running, Said};
use crate::settings::Injection;

/// A thread that is ready for its turn.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) thread: Thread,
    pub(super) is_new: bool,
    /// Messages that were sent.
    pub(super) injected: u64,
    /// What is said.
    text: String,
    /// The binding, while it is not known that the thread has what it speaks of.
    pending: Option<PendingBinding>,
}

impl CodexHost {
    /// Loads the bound thread, and judges whether it still shows what it was shown.
    pub(super) async fn load(
        &mut self,
        bound: Option<Binding>,
    ) -> Result<Option<Binding>, CodexError> {
        let Some(binding) = bound else {
            return Ok(None);
        };
        // One that is pending is never gone on with: nobody knows what its thread has.
        let Some(id) = binding.usable_thread().map(str::to_owned) else {
            return Ok(Some(binding));
        };
        let is_new_here = self.loaded.is_none();
        if !self.resume(&id).await? {
            tracing::warn!(thread = id, "Codex does not have the thread any more");
            self.bindings.remove(&self.settings.session)?;
            return Ok(None);
        }
        if is_new_here {
            self.addition.clone_from(&binding.addition);
        }
        let path = self.loaded.as_ref().and_then(|thread| thread.path.clone());
        let rollout = match path {
            Some(path) => Rollout::of(path).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the thread's rollout cannot be read");
                Rollout::default()
            }),
            None => Rollout::default(),
        };
        if rollout.is_compacted {
            self.forget_projection(&id)?;
        }
        let bound = self.bindings.get(&self.settings.session)?;
        if bound
            .as_ref()
            .is_some_and(|bound| self.is_over_limits(rollout.bytes, bound))
        {
            tracing::info!(thread = id, "the thread is full: another one begins");
            self.bindings.remove(&self.settings.session)?;
            return Ok(None);
        }
        Ok(bound)
    }

    /// Whether the app-server has the thread.
    async fn resume(&mut self, id: &str) -> Result<bool, CodexError> {
        if self.loaded.as_ref().is_some_and(|thread| thread.id == id) {
            return Ok(true);
        }
        self.unload();
        let terms = self.run_terms();
        match self.server()?.resume_thread(id, &terms).await {
            Ok(thread) => {
                self.loaded = Some(thread);
                Ok(true)
            }
            Err(CodexError::AppServer {
                source: RpcError::Refused { .. },
                ..
            }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes the thread ready. What is to be bound is pending before anything is sent.
    pub(super) async fn begin(
        &mut self,
        assembled: &Assembled,
        prompt: &str,
    ) -> Result<Begun, CodexError> {
        let plan = &assembled.plan;
        let (thread, is_new) = match &plan.thread {
            ThreadChoice::Keep(id) => (self.kept(id).await?, false),
            ThreadChoice::Fresh { .. } => (self.fresh().await?, true),
        };
        let session = self.settings.session.clone();
        let pending = match plan.binding.clone() {
            // What the thread goes on with is stored once it has it.
            BindingStep::Leave | BindingStep::Put(_) => None,
            BindingStep::Remove => {
                self.bindings.remove(&session)?;
                None
            }
            BindingStep::Begin(draft) => Some(self.bindings.begin(
                &session,
                draft,
                Some(thread.id.clone()),
            )?),
        };
        let mut begun = Begun {
            thread,
            is_new,
            injected: 0,
            text: prompt.to_owned(),
            pending,
        };
        if let (Content::Projected(framing), Some(context)) = (&plan.content, assembled.context()) {
            let messages: Vec<_> = context.messages().collect();
            begun.injected = messages.len() as u64;
            let as_items = self.settings.injection == Injection::Items && !assembled.is_per_turn();
            if as_items && is_new {
                self.inject(&mut begun, &item::items(messages.into_iter()))
                    .await?;
            } else {
                let framed = framing.turn_text(messages, &Prompt::new(prompt));
                begun.text = framed.text;
            }
        }
        Ok(begun)
    }

    /// Items first, and the binding once the thread has acknowledged them.
    async fn inject(
        &mut self,
        begun: &mut Begun,
        items: &[serde_json::Value],
    ) -> Result<(), CodexError> {
        if !items.is_empty() {
            self.server()?.inject(&begun.thread.id, items).await?;
        }
        if let Some(pending) = begun.pending.take() {
            pending.confirm(&begun.thread.id)?;
        }
        Ok(())
    }

    async fn kept(&mut self, id: &str) -> Result<Thread, CodexError> {
        self.resume(id).await?;
        Ok(self.loaded.clone().unwrap_or_else(|| Thread {
            id: id.to_owned(),
            ..Thread::default()
        }))
    }

    fn run_terms(&self) -> RunTerms {
        let settings = &self.settings;
        RunTerms {
            cwd: settings.program.cwd.clone(),
            model: settings.model.clone(),
            approval_policy: settings.approval_policy.clone(),
            sandbox: settings.sandbox.clone(),
        }
    }

    async fn fresh(&mut self) -> Result<Thread, CodexError> {
        self.unload();
        let settings = &self.settings;
        let start = ThreadStart {
            terms: self.run_terms(),
            developer_instructions: settings.instructions.clone(),
            dynamic_tools: settings.tools.specs(),
            ephemeral: false,
        };
        let thread = self.server()?.start_thread(&start).await?;
        self.loaded = Some(thread.clone());
        Ok(thread)
    }

    /// The turn itself.
    pub(super) async fn run(
        &mut self,
        begun: &mut Begun,
        assembled: &Assembled,
    ) -> Result<Ran, CodexError> {
        let addition = assembled.plan.addition.clone();
        // What was shown once stays in the thread.
        let is_shown = addition == self.addition;
        let said = Said {
            thread_id: &begun.thread.id,
            text: &begun.text,
            addition: addition.as_deref().filter(|_| !is_shown),
            model: &begun.thread.model,
        };
        let limit = self.settings.turn_limit;
        let server = self.server()?;
        let mut running = Running::start(server, said, limit).await?;
        if let Some(pending) = begun.pending.take()
            && running.taken_in(server).await?
        {
            pending.confirm(&begun.thread.id)?;
        }
        let ran = running.end(server).await?;
        if let BindingStep::Put(binding) = &assembled.plan.binding {
            self.bindings.put(&self.settings.session, binding)?;
        }
        if addition.is_some() {
            self.addition = addition;
        }
        self.native_tokens = ran.tokens.map(|tokens| tokens.total_tokens);
        Ok(ran)
    }
}
