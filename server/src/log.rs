//! The host's stored log for an engine that is behind: asked for on the stream of the hook (R3.3).

use contextwire_engine::{LogAnswer, LogSource, Transcript, TranscriptState};
use contextwire_proto::frame::NeedTranscript;
use contextwire_proto::sync::{List, TranscriptUpdate};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::intake::{Intake, Step};
use crate::mirror::{MirrorKey, Mirrors};

/// Requests of the engine that may wait to be read.
const REQUESTS: usize = 4;

/// Somebody in the engine who waits for the log.
pub(crate) type Waiter = oneshot::Sender<Option<Transcript>>;

/// The engine's end: asks whoever reads the stream.
#[derive(Debug)]
pub(crate) struct StreamLog(mpsc::Sender<Waiter>);

impl StreamLog {
    /// A log and the end that its requests come out of.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Waiter>) {
        let (sender, requests) = mpsc::channel(REQUESTS);
        (Self(sender), requests)
    }
}

impl LogSource for StreamLog {
    fn log(&self) -> LogAnswer<'_> {
        Box::pin(async {
            let (waiter, answer) = oneshot::channel();
            self.0.send(waiter).await.ok()?;
            // The hook ended meanwhile.
            answer.await.ok()?
        })
    }
}

/// The stream's end: what was asked, and what came of it. It neither waits nor sends.
#[derive(Debug)]
pub(crate) struct LogDesk {
    key: MirrorKey,
    /// What the host calls its log.
    head: Option<TranscriptState>,
    state: State,
}

#[derive(Debug)]
enum State {
    Unasked,
    Asked(Intake, Vec<Waiter>),
    /// The log, or that the host cannot give it.
    Known(Option<Transcript>),
}

impl LogDesk {
    pub(crate) fn new(key: MirrorKey, head: Option<TranscriptState>) -> Self {
        let key = MirrorKey {
            list: List::Log,
            ..key
        };
        Self {
            key,
            head,
            state: State::Unasked,
        }
    }

    /// Somebody asks; gives the request for the host where one has to go out.
    pub(crate) fn ask(
        &mut self,
        waiter: Waiter,
        host_is_open: bool,
        mirrors: &Mirrors,
    ) -> Option<NeedTranscript> {
        match &mut self.state {
            State::Asked(_, waiters) => {
                waiters.push(waiter);
                None
            }
            State::Known(log) => {
                answer(waiter, log.clone());
                None
            }
            State::Unasked => {
                let held = self.head.and_then(|head| mirrors.find(&self.key, &head));
                if held.is_some() || !host_is_open {
                    answer(waiter, held.clone());
                    self.state = State::Known(held);
                    return None;
                }
                let (intake, need) = Intake::asking(self.key.clone(), mirrors);
                self.state = State::Asked(intake, vec![waiter]);
                Some(need)
            }
        }
    }

    /// Takes an update in; gives the next request where one has to go out. Parts of a list that
    /// nobody waits for were in flight, and are dropped.
    pub(crate) fn offer(
        &mut self,
        update: TranscriptUpdate,
        mirrors: &Mirrors,
    ) -> Result<Option<NeedTranscript>, Status> {
        let State::Asked(intake, _) = &mut self.state else {
            return Ok(None);
        };
        if update.list != List::Log {
            return Ok(None);
        }
        match intake.offer(update, mirrors)? {
            Step::Complete(log) => self.settle(Some(log)),
            Step::Unavailable => self.settle(None),
            Step::Ask(need) => return Ok(Some(need)),
            Step::Kept(_) | Step::Wait => {}
        }
        Ok(None)
    }

    /// The host closed its side: what it has not sent will not come.
    pub(crate) fn close(&mut self) {
        if matches!(self.state, State::Asked(..)) {
            self.settle(None);
        }
    }

    fn settle(&mut self, log: Option<Transcript>) {
        if let State::Asked(_, waiters) = std::mem::replace(&mut self.state, State::Unasked) {
            for waiter in waiters {
                answer(waiter, log.clone());
            }
        }
        self.state = State::Known(log);
    }
}

/// Whoever asked may have gone on without an answer.
fn answer(waiter: Waiter, log: Option<Transcript>) {
    let _gone = waiter.send(log).is_err();
}
