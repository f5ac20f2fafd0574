//! The work of one round, side by side as far as that is allowed.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use contextwire_engine::Progress;
use contextwire_legacy::SummarizeError;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use super::bodies::{Bodies, Piece, Room};
use super::breaker::{Admission, Breaker};
use super::draft::Draft;
use super::sink::{Sink, SinkError};
use super::work::Work;
use super::write::{Unmade, Writer};
use crate::node::{SummaryNode, source_key};

/// Time that is left for storing and answering.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Failures in a row after which no further work of a round is begun.
const FAILURES: u32 = 2;

/// What became of some work.
#[derive(Debug)]
pub(crate) enum Made {
    /// A summary, and whether it was not there already.
    Node {
        node: Box<SummaryNode>,
        is_new: bool,
    },
    Not(Unmade),
    /// Not begun: the time would not suffice, or others failed before.
    Skipped {
        is_late: bool,
    },
    Store(SinkError),
}

/// Everything that a round works with.
#[derive(Clone, Copy)]
pub(crate) struct Round<'a> {
    pub(crate) writer: Writer<'a>,
    pub(crate) bodies: &'a dyn Bodies,
    pub(crate) room: &'a Room,
    pub(crate) sink: &'a dyn Sink,
    pub(crate) breaker: &'a Breaker,
    /// Longest call so far.
    pub(crate) longest: Duration,
    /// Whether quotes take the place of summaries that fail: room has to be made.
    pub(crate) is_hard: bool,
}

/// What the pieces of a round tell each other.
#[derive(Debug, Default)]
struct Shared {
    /// No further piece begins.
    has_stopped: AtomicBool,
    failures: AtomicU32,
    /// Longest call so far, in milliseconds.
    longest: AtomicU64,
}

impl Shared {
    fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.longest.fetch_max(took, Ordering::Relaxed);
    }
}

impl Round<'_> {
    /// Does all of it; the outcomes stand in the order of the work, whatever ended first.
    pub(crate) async fn run(
        &self,
        draft: &Draft<'_>,
        works: &[Work],
        parallel: usize,
    ) -> Vec<(Made, Duration)> {
        let shared = Shared::default();
        shared.note(self.longest);
        let count = works.len();
        // In boxes: whether a stream of borrowing futures may cross threads is beyond the compiler.
        let pieces = works.iter().enumerate().map(|(at, work)| {
            let shared = &shared;
            let piece = async move {
                let started = Instant::now();
                let made = self
                    .piece(draft, work, progress(at, count, work), shared)
                    .await;
                shared.note(started.elapsed());
                (made, started.elapsed())
            };
            piece.boxed()
        });
        let pieces: Vec<_> = pieces.collect();
        futures_util::stream::iter(pieces)
            .buffered(parallel.max(1))
            .collect()
            .await
    }

    async fn piece(
        &self,
        draft: &Draft<'_>,
        work: &Work,
        progress: Progress,
        shared: &Shared,
    ) -> Made {
        let cx = self.writer.cx;
        if cx.cancellation.is_cancelled() {
            return Made::Not(Unmade::Aborted);
        }
        if self.is_late(shared) {
            return Made::Skipped { is_late: true };
        }
        match self.known(draft, work).await {
            Ok(Some(node)) => {
                return Made::Node {
                    node: Box::new(node),
                    is_new: false,
                };
            }
            Ok(None) => {}
            Err(error) => return Made::Store(error),
        }
        let piece = match Piece::read(self.bodies, self.room, draft, work).await {
            Ok(piece) => piece,
            Err(SinkError::Stale) => return Made::Not(Unmade::Stale),
            Err(error) => return Made::Store(error),
        };
        let written = self.ask(draft, &piece, &progress, shared).await;
        let made = match written {
            Ok(node) => Ok(node),
            Err(Asked::Skipped) => return Made::Skipped { is_late: false },
            Err(Asked::Unmade(Unmade::Failed(error))) if self.is_hard => {
                let quoted = self.writer.quote(draft, &piece).await;
                quoted.map_err(|_| Unmade::Failed(error))
            }
            Err(Asked::Unmade(unmade)) => Err(unmade),
        };
        let node = match made {
            Ok(node) => node,
            Err(unmade) => return Made::Not(unmade),
        };
        drop(piece);
        match self.sink.keep(&node).await {
            Ok(()) => Made::Node {
                node: Box::new(node),
                is_new: true,
            },
            Err(SinkError::Stale) => Made::Not(Unmade::Stale),
            Err(error) => Made::Store(error),
        }
    }

    /// A finished summary of an interrupted compaction; quotes are not what is wanted, nor what holds
    /// something that is masked by now.
    async fn known(
        &self,
        draft: &Draft<'_>,
        work: &Work,
    ) -> Result<Option<SummaryNode>, SinkError> {
        let sources = work.sources(draft);
        let key = source_key(work.span, &sources, self.writer.instructions);
        let known = self.sink.find(key).await?;
        let redaction = self.writer.redaction;
        Ok(known.filter(|node| {
            !node.is_provisional()
                && node.parts().sources == sources
                && !redaction.matches(node.text())
        }))
    }

    async fn ask(
        &self,
        draft: &Draft<'_>,
        piece: &Piece<'_>,
        progress: &Progress,
        shared: &Shared,
    ) -> Result<SummaryNode, Asked> {
        if shared.has_stopped.load(Ordering::Relaxed) {
            if self.is_hard && !self.is_refused() {
                return Err(Asked::Unmade(Unmade::Failed(SummarizeError::Unreachable)));
            }
            return Err(Asked::Skipped);
        }
        let written = self.writer.write(draft, piece, progress).await;
        match &written {
            Ok(_) | Err(Unmade::NotShorter) => {
                shared.failures.store(0, Ordering::Relaxed);
                self.breaker.succeeded();
            }
            Err(unmade) => {
                if let Some(cause) = unmade.cause() {
                    self.breaker.failed(cause, Instant::now());
                    let failures = shared.failures.fetch_add(1, Ordering::Relaxed) + 1;
                    let is_refused = matches!(unmade, Unmade::Refused(_));
                    if is_refused || failures >= FAILURES {
                        shared.has_stopped.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        written.map_err(Asked::Unmade)
    }

    fn is_refused(&self) -> bool {
        let admission = self.breaker.admit(Instant::now());
        matches!(admission, Admission::Wait(super::Cause::Refused, _))
    }

    /// Whether another call as long as the longest would not end in time (BR-062).
    fn is_late(&self, shared: &Shared) -> bool {
        let longest = Duration::from_millis(shared.longest.load(Ordering::Relaxed));
        let needed = longest.saturating_add(longest / 4);
        self.writer.cx.remaining() < needed.saturating_add(ANSWER_TIME)
    }
}

/// Why a model gave no summary.
enum Asked {
    Unmade(Unmade),
    Skipped,
}

fn progress(at: usize, count: usize, work: &Work) -> Progress {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a fraction for people; a round has at most thousands of pieces"
    )]
    let fraction = at as f64 / count.max(1) as f64;
    Progress {
        phase: "compact".to_owned(),
        fraction: Some(fraction),
        text: Some(format!(
            "summarising messages {} at depth {}, {} of {count}",
            work.span,
            work.depth(),
            at + 1
        )),
    }
}
