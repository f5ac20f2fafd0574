//! What the engine says of a turn, and what that means for the thread.

use contextwire_client::engine::{Assemble, EngineInfo, KnownProjection, Transcript};
use contextwire_client::projection::{
    Assembly, Binding, Content, Plan, ProjectionReason, Step, Turn as PlannedTurn,
};
use contextwire_client::{CallError, Context, Served, ServedBy, Traffic, Turn};

use super::CodexHost;

/// A context with what is done about it.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) plan: Plan,
    pub(super) answer: Result<Served<Context>, CallError>,
    moved: Vec<Traffic>,
}

impl Assembled {
    /// What was assembled; nothing where nobody was to stand in for the engine.
    pub(super) fn context(&self) -> Option<&Context> {
        self.answer.as_ref().ok().map(|served| &served.result)
    }

    pub(super) fn is_projected(&self) -> bool {
        match self.plan.content {
            Content::Projected(_) => true,
            Content::Bare => false,
        }
    }

    /// Whether the thread gets the context with each turn.
    pub(super) fn is_per_turn(&self) -> bool {
        self.plan.reason == ProjectionReason::PerTurn
    }

    pub(super) fn served_by(&self) -> String {
        let served = self.answer.as_ref();
        served.map_or_else(|_| "nobody".to_owned(), |served| served.by.to_string())
    }

    /// Why the engine did not answer.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = |error: &CallError| format!("{} ({error})", error.code());
        match &self.answer {
            Err(error) => Some(problem(error)),
            Ok(served) if served.by == ServedBy::InProcess => served.reason.as_deref().map(problem),
            Ok(_) => None,
        }
    }

    pub(super) fn sum(&self, bytes: fn(&Traffic) -> u64) -> u64 {
        self.moved.iter().map(bytes).sum()
    }
}

impl CodexHost {
    /// Asks the engine, once more where it turns out that the thread does not show what it was
    /// thought to show.
    pub(super) async fn assemble(
        &self,
        turn: &Turn,
        (view, prompt): (Transcript, &str),
        bound: Option<&Binding>,
    ) -> Assembled {
        let engine = match (self.host.active_info(), bound) {
            // Only who it is tells whether the thread is still the right one.
            (None, Some(_)) => self.introduced().await,
            (known, _) => known,
        };
        let mut known = self.planner.known(engine.as_ref(), bound, &self.tools);
        let mut moved = Vec::new();
        loop {
            let request = self.request(&view, prompt, known.take());
            let asked = request.known_projection.clone();
            let limit = self.settings.assemble_deadline;
            let answer = turn
                .assemble_within(&self.settings.session, request, limit)
                .await;
            moved.extend(answer.as_ref().ok().map(|served| served.traffic.clone()));
            // The call may have been the first that reached the engine.
            let engine = self.host.active_info();
            let step = self.planner.plan(&PlannedTurn {
                engine: engine.as_ref(),
                bound,
                tools: &self.tools,
                assembly: Assembly::of(&answer, asked.as_ref()),
            });
            match step {
                // Without a known projection it is not asked a third time.
                Step::AskAgain => {}
                Step::Run(plan) => {
                    return Assembled {
                        plan: *plan,
                        answer,
                        moved,
                    };
                }
            }
        }
    }

    /// What the engine says of itself; a failure is found again, and told, by the call that follows.
    async fn introduced(&self) -> Option<EngineInfo> {
        let engine = self.host.engine(&self.host.selected()).ok()?;
        let described = engine.engine().await.ok()?;
        Some(described.info.clone())
    }

    fn request(
        &self,
        view: &Transcript,
        prompt: &str,
        known_projection: Option<KnownProjection>,
    ) -> Assemble {
        let tools = self.settings.tools.names();
        Assemble {
            transcript: view.clone(),
            token_budget: self.settings.token_budget,
            available_tools: (!tools.is_empty()).then_some(tools),
            model: self.settings.model.clone(),
            prompt: Some(prompt.to_owned()),
            known_projection,
            ..Assemble::default()
        }
    }
}
