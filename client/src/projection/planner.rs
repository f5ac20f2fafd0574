//! A turn of a persistent thread, decided before anything of it is sent.

use std::sync::atomic::{AtomicBool, Ordering};

use contextwire_engine::{EngineInfo, KnownProjection};

use super::assembly::Assembly;
use super::binding::{Binding, BindingDraft, ThreadTerms};
use super::decision::{Decision, ProjectionReason, ThreadChoice, decide};
use super::frame::Framing;
use super::options::{OnProjectionFailure, ProjectionOptions};
use super::payload::Payloads;
use super::policy::policy_fingerprint;
use super::requested::{Requested, ThreadProjection};
use super::tools::ToolSurface;
use super::window::fallback_chars;

/// The id under which hosts know that no other engine is active.
const BUILT_IN: &str = "legacy";

/// Decides turns. One a backend; it keeps nothing but that it has warned.
#[derive(Debug)]
pub struct Planner {
    options: ProjectionOptions,
    has_warned: AtomicBool,
}

/// What a turn is decided by.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// What the engine says of itself; `None` while it was never reached.
    pub engine: Option<&'a EngineInfo>,
    /// What the store has of the session; `None` too where the backend no longer has the thread.
    pub bound: Option<&'a Binding>,
    /// The tools of the turn.
    pub tools: &'a ToolSurface,
    /// What became of its Assemble.
    pub assembly: Assembly<'a>,
}

/// What a decision comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The turn can go.
    Run(Box<Plan>),
    /// The thread does not show what the engine was told: Assemble is called again, without
    /// `known_projection` (R10.2).
    AskAgain,
}

/// A turn, whole: who carries out one part of it carries out all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Why it is so.
    pub reason: ProjectionReason,
    /// Where the turn goes.
    pub thread: ThreadChoice,
    /// What goes there.
    pub content: Content,
    /// What belongs into the developer instructions of this turn, trimmed and not blank.
    pub addition: Option<String>,
    /// What becomes of the binding.
    pub binding: BindingStep,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The prompt alone.
    Bare,
    /// The context in these words, then the prompt.
    Projected(Framing),
}

/// What is done to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingStep {
    /// Nothing.
    Leave,
    /// The thread goes on, and this of it has changed: stored before or after the turn.
    Put(Binding),
    /// In two phases around the injection:
    /// [`BindingStore::begin`](super::BindingStore::begin), then
    /// [`confirm`](super::PendingBinding::confirm).
    Begin(BindingDraft),
    /// Removed before the turn.
    Remove,
}

impl Planner {
    /// A planner with these options.
    pub fn new(options: ProjectionOptions) -> Self {
        Self {
            options,
            has_warned: AtomicBool::new(false),
        }
    }

    /// The host's choices.
    pub fn options(&self) -> &ProjectionOptions {
        &self.options
    }

    /// What to tell the engine of the thread: only where a turn with an equal epoch and
    /// fingerprint would not be projected (R10.2).
    pub fn known(
        &self,
        engine: Option<&EngineInfo>,
        bound: Option<&Binding>,
        tools: &ToolSurface,
    ) -> Option<KnownProjection> {
        let projection = bound?.terms.projection.clone()?;
        let known = projection.known();
        let next = self.terms(engine?, tools, Some(projection));
        (!decide(bound, &next, tools).projects()).then_some(known)
    }

    /// Decides a turn. The only trace that it leaves is a warning, once, about an engine that wants a
    /// bootstrap and names no epoch.
    pub fn plan(&self, turn: &Turn<'_>) -> Step {
        match turn.assembly {
            Assembly::Unchanged { known, .. } => self.unchanged(turn, known),
            Assembly::Answered(reply) => match turn.engine {
                Some(engine) if engine.id.trim() != BUILT_IN => {
                    let requested = Requested::read(reply.context_projection.as_ref());
                    self.warn(&requested);
                    Step::Run(Box::new(self.answered(
                        turn,
                        engine,
                        requested.projection().cloned(),
                    )))
                }
                Some(_) | None => Step::Run(Box::new(Self::without_engine(turn))),
            },
            Assembly::InPlace(_) | Assembly::Failed => Step::Run(Box::new(self.failed(turn))),
            Assembly::NoEngine => Step::Run(Box::new(Self::without_engine(turn))),
        }
    }

    fn unchanged(&self, turn: &Turn<'_>, known: Option<&KnownProjection>) -> Step {
        let shown = known
            .and_then(|known| ThreadProjection::new(&known.epoch, known.fingerprint.as_deref()));
        let (Some(engine), Some(shown)) = (turn.engine, shown) else {
            return Step::AskAgain;
        };
        let plan = self.answered(turn, engine, Some(shown));
        match plan.content {
            Content::Bare => Step::Run(Box::new(plan)),
            Content::Projected(_) => Step::AskAgain,
        }
    }

    fn answered(
        &self,
        turn: &Turn<'_>,
        engine: &EngineInfo,
        projection: Option<ThreadProjection>,
    ) -> Plan {
        let payloads = match &projection {
            Some(_) => Payloads::Preserved,
            None => Payloads::Elided,
        };
        let terms = self.terms(engine, turn.tools, projection);
        let decision = decide(turn.bound, &terms, turn.tools);
        let addition = turn.assembly.addition();
        let binding = match &decision.thread {
            ThreadChoice::Fresh { .. } => BindingStep::Begin(BindingDraft {
                terms,
                addition: addition.clone(),
            }),
            ThreadChoice::Keep(_) => with_addition(turn.bound, addition.as_ref()),
        };
        let content = if decision.projects() {
            Content::Projected(self.framing(payloads, self.options.window_chars()))
        } else {
            Content::Bare
        };
        let Decision { reason, thread } = decision;
        Plan {
            reason,
            thread,
            content,
            addition,
            binding,
        }
    }

    /// The engine did not answer (R10.4).
    fn failed(&self, turn: &Turn<'_>) -> Plan {
        let reason = ProjectionReason::AssembleFailed;
        let addition = turn.assembly.addition();
        let is_kept = self.options.on_failure == OnProjectionFailure::Keep
            && *turn.tools != ToolSurface::Disabled;
        let bound = turn.bound.filter(|_| is_kept);
        if let Some(bound) = bound
            && let Some(thread) = bound.usable_thread()
        {
            return Plan {
                reason,
                thread: ThreadChoice::Keep(thread.to_owned()),
                content: Content::Bare,
                addition: addition.or_else(|| bound.addition.clone()),
                binding: BindingStep::Leave,
            };
        }
        let content = match turn.assembly {
            Assembly::InPlace(_) => {
                let window = fallback_chars(self.options.window_chars());
                Content::Projected(self.framing(Payloads::Elided, window))
            }
            Assembly::Answered(_)
            | Assembly::Unchanged { .. }
            | Assembly::Failed
            | Assembly::NoEngine => Content::Bare,
        };
        let rotated = turn.bound.is_some();
        Plan {
            reason,
            thread: ThreadChoice::Fresh { rotated },
            content,
            addition,
            // Whatever is bound misses the turn that now goes elsewhere.
            binding: if rotated {
                BindingStep::Remove
            } else {
                BindingStep::Leave
            },
        }
    }

    /// Only the built-in engine is active: the thread is the backend's own affair, but one that was
    /// shown an engine's context is not gone on in.
    fn without_engine(turn: &Turn<'_>) -> Plan {
        let next = ThreadTerms {
            engine_id: BUILT_IN.to_owned(),
            policy_fingerprint: String::new(),
            tools_fingerprint: turn.tools.fingerprint().map(str::to_owned),
            projection: None,
        };
        let kept = turn.bound.filter(|bound| {
            bound.terms.projection.is_none()
                && bound.terms.tools_fingerprint == next.tools_fingerprint
        });
        let thread = kept.and_then(Binding::usable_thread).map(str::to_owned);
        let (thread, binding) = match thread {
            Some(thread) => (ThreadChoice::Keep(thread), BindingStep::Leave),
            None => (
                ThreadChoice::Fresh {
                    rotated: turn.bound.is_some(),
                },
                BindingStep::Begin(BindingDraft {
                    terms: next,
                    addition: None,
                }),
            ),
        };
        Plan {
            reason: ProjectionReason::NoEngine,
            thread,
            content: Content::Bare,
            addition: turn.assembly.addition(),
            binding,
        }
    }

    fn terms(
        &self,
        engine: &EngineInfo,
        tools: &ToolSurface,
        projection: Option<ThreadProjection>,
    ) -> ThreadTerms {
        ThreadTerms {
            engine_id: engine.id.trim().to_owned(),
            policy_fingerprint: policy_fingerprint(engine, &self.options),
            tools_fingerprint: tools.fingerprint().map(str::to_owned),
            projection,
        }
    }

    fn framing(&self, payloads: Payloads, window: usize) -> Framing {
        Framing {
            label: self.options.label.clone(),
            payloads,
            window_chars: window,
        }
    }

    fn warn(&self, requested: &Requested) {
        let is_fault = matches!(
            requested,
            Requested::PerTurn {
                is_epoch_blank: true
            }
        );
        if is_fault && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the engine asks for a thread bootstrap without an epoch: its context is sent with every turn"
            );
        }
    }
}

/// A binding that goes on remembers what the engine last added.
fn with_addition(bound: Option<&Binding>, addition: Option<&String>) -> BindingStep {
    match bound {
        Some(bound) if bound.addition.as_ref() != addition => BindingStep::Put(Binding {
            addition: addition.cloned(),
            ..bound.clone()
        }),
        Some(_) | None => BindingStep::Leave,
    }
}
