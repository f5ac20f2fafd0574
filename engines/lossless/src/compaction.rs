//! Room made without losing anything: summaries put in place of the oldest entries.
//!
//! Leaves stand over runs of entries, cut between no call and its result; where they do not suffice,
//! neighbouring summaries are condensed. Each finished summary is kept at once, the new plan takes effect
//! at the end in one step, and until then nothing has changed for anybody. The same conversation and the
//! same answers give the same summaries and the same plan, in parallel or one by one.

mod aim;
mod bodies;
mod border;
mod breaker;
mod draft;
mod identifier;
mod memory;
mod outcome;
mod prompt;
mod round;
mod run;
mod settings;
mod sink;
mod source;
mod work;
mod write;

#[cfg(test)]
mod tests;

use contextwire_engine::{Compact, HookContext};
use contextwire_legacy::Summarizer;
use tokio::time::Instant;

pub use bodies::Bodies;
pub use breaker::{Admission, Breaker, Cause};
pub use memory::Memory;
pub use outcome::{End, Outcome};
pub use prompt::PROMPT_VERSION;
pub use settings::Settings;
pub use sink::{Sink, SinkError, Stored};

use crate::redact::Redaction;
use crate::snapshot::Snapshot;
use aim::Aim;
use bodies::{Piece, Room};
use draft::Draft;
use round::Round;
use run::Run;
use work::{Work, next_round, repairs};
use write::Writer;

/// Rounds of one compaction at most; each has to make progress (BR-053).
const MAX_ROUNDS: usize = 32;
/// One compaction of one session.
#[derive(Clone, Copy)]
pub struct Compaction<'a> {
    /// Whom it works for.
    pub cx: &'a HookContext,
    /// The session as it is; outlines of its entries suffice.
    pub snapshot: Snapshot<'a>,
    /// Where the whole entries are.
    pub bodies: &'a dyn Bodies,
    /// What is asked for.
    pub request: &'a Compact,
    /// How.
    pub settings: &'a Settings,
    /// Who writes.
    pub summarizer: &'a dyn Summarizer,
    /// What is masked for it, and in what it writes.
    pub redaction: &'a Redaction,
    /// Whether that one may be asked; shared by all sessions that ask it.
    pub breaker: &'a Breaker,
    /// Where the results go.
    pub sink: &'a dyn Sink,
}

impl Compaction<'_> {
    /// Runs it. Whatever happens, what was there is there; [`Outcome`] says what was added to it.
    pub async fn run(&self, memory: &mut Memory) -> Outcome {
        let mut run = Run::of(self.snapshot);
        let aim = Aim::of(self, &run.draft);
        let state = memory::state(&self.snapshot, aim.reach.goal, self.request.force);
        let mends = self.mends(&run.draft, &aim, memory);
        let end = if memory.is_exhausted(state) && mends.is_empty() {
            End::NothingLeft
        } else if aim.is_due || self.request.force || !mends.is_empty() {
            self.rounds(&mut run, &aim, mends, memory).await
        } else {
            End::NotDue
        };
        if matches!(end, End::NothingLeft) {
            memory.note_exhausted(state);
        }
        self.publish(run, &aim, end).await
    }

    fn writer(&self) -> Writer<'_> {
        let instructions = self.request.custom_instructions.as_deref();
        Writer {
            cx: self.cx,
            summarizer: self.summarizer,
            settings: self.settings,
            redaction: self.redaction,
            instructions: instructions.map(str::trim).filter(|text| !text.is_empty()),
        }
    }

    /// Provisional summaries to replace. Room comes first, and nobody is asked while the breaker is open.
    fn mends(&self, draft: &Draft<'_>, aim: &Aim, memory: &Memory) -> Vec<Work> {
        let is_open = matches!(self.breaker.admit(Instant::now()), Admission::Wait(..));
        if aim.is_hard || is_open {
            return Vec::new();
        }
        repairs(draft, memory)
    }

    async fn rounds(
        &self,
        run: &mut Run<'_>,
        aim: &Aim,
        mut mends: Vec<Work>,
        memory: &mut Memory,
    ) -> End {
        let mut has_passed = false;
        for _ in 0..MAX_ROUNDS {
            let works = if mends.is_empty() {
                let is_wanted = aim.is_due || self.request.force;
                if !is_wanted || run.draft.tokens() <= aim.reach.goal {
                    return End::TargetMet;
                }
                // Without a goal, one pass over the entries is what was asked for.
                if aim.reach.goal == 0 && has_passed {
                    return End::TargetMet;
                }
                has_passed = true;
                next_round(&run.draft, self.settings, &aim.reach, memory)
            } else {
                std::mem::take(&mut mends)
            };
            if works.is_empty() {
                return End::NothingLeft;
            }
            if let Some(end) = self.round(run, aim, &works, memory).await {
                return end;
            }
        }
        End::NothingLeft
    }

    /// One round; an end where nothing should follow.
    async fn round(
        &self,
        run: &mut Run<'_>,
        aim: &Aim,
        works: &[Work],
        memory: &mut Memory,
    ) -> Option<End> {
        let admission = self.breaker.admit(Instant::now());
        let (parallel, works) = match admission {
            Admission::Go => (self.settings.parallel, works),
            Admission::Probe => (1, works.get(..1).unwrap_or_default()),
            Admission::Wait(Cause::Failing, _) if aim.is_hard => {
                return self.quoted(run, aim, works).await;
            }
            Admission::Wait(cause, _) => return Some(End::Resting(cause)),
        };
        let room = Room::of(self.settings.held_bytes);
        let round = Round {
            writer: self.writer(),
            bodies: self.bodies,
            room: &room,
            sink: self.sink,
            breaker: self.breaker,
            longest: run.longest,
            is_hard: aim.is_hard,
        };
        let made = round.run(&run.draft, works, parallel).await;
        let mut end = None;
        let mut progress = false;
        for (work, (made, took)) in works.iter().zip(made) {
            run.longest = run.longest.max(took);
            let (stop, done) = run.take(work, made, memory);
            progress |= done;
            end = end.or(stop);
        }
        end.or_else(|| {
            (!progress)
                .then_some(())
                .and_then(|()| run.failure.take().map(End::Failed))
        })
    }

    /// Room made without asking anybody: the model failed a moment ago and the context does not fit.
    async fn quoted(&self, run: &mut Run<'_>, aim: &Aim, works: &[Work]) -> Option<End> {
        let (writer, room) = (self.writer(), Room::of(self.settings.held_bytes));
        let mut progress = false;
        for work in works {
            if run.draft.tokens() <= aim.reach.goal {
                break;
            }
            let piece = match Piece::read(self.bodies, &room, &run.draft, work).await {
                Ok(piece) => piece,
                Err(SinkError::Stale) => return Some(End::Stale),
                Err(error) => return Some(End::Store(error)),
            };
            let Ok(node) = writer.quote(&run.draft, &piece).await else {
                continue;
            };
            drop(piece);
            match self.sink.keep(&node).await {
                Ok(()) => progress |= run.put(node),
                Err(SinkError::Stale) => {}
                Err(error) => return Some(End::Store(error)),
            }
        }
        (!progress).then_some(End::Resting(Cause::Failing))
    }

    async fn publish(&self, mut run: Run<'_>, aim: &Aim, mut end: End) -> Outcome {
        let version = self.snapshot.plan.version() + 1;
        let plan = run.draft.plan.as_version(version);
        let mut saved = run.before.saturating_sub(run.draft.tokens());
        let is_kept = !matches!(end, End::Cancelled | End::Stale | End::Store(_));
        let mut is_published = false;
        if is_kept && !run.written.is_empty() {
            match self.sink.publish(&plan, &run.replaced).await {
                Ok(()) => is_published = true,
                Err(SinkError::Stale) => end = End::Stale,
                Err(error) => end = End::Store(error),
            }
        }
        if !is_published {
            run.written.clear();
            run.provisional = 0;
            saved = 0;
        }
        let plan = if is_published {
            plan
        } else {
            self.snapshot.plan.clone()
        };
        let before = run.before + aim.foreign;
        let first = self.snapshot.log.entry(plan.end());
        Outcome {
            end,
            first_kept: first
                .map(|entry| entry.message().entry_id().clone())
                .filter(|id| !id.is_empty()),
            plan,
            written: run.written,
            provisional: run.provisional,
            calls: run.calls,
            tokens_before: before,
            tokens_after: before.saturating_sub(saved),
            budget: aim.budget,
        }
    }
}

impl std::fmt::Debug for Compaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compaction")
            .field("snapshot", &self.snapshot)
            .field("summarizer", &self.summarizer.name())
            .finish_non_exhaustive()
    }
}
