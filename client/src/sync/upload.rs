//! The lists of one call on their way out (R3.4 to R3.6): a state machine that neither waits nor
//! sends.

use std::collections::VecDeque;
use std::sync::Arc;

use contextwire_engine::{SessionId, Site, Transcript, TranscriptState};
use contextwire_proto::frame::NeedTranscript;
use contextwire_proto::limits;
use contextwire_proto::sync::{
    List, Part, PartLimits, TranscriptUpdate, UpdateBody, diff, newest_known, parts,
};

use super::Debt;
use super::book::{Book, Start};
use crate::error::CallError;

/// Where the lists of a call go.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) book: Arc<Book>,
    pub(crate) session: SessionId,
    /// The engine keeps no mirrors.
    pub(crate) full: bool,
    /// Sizes of frames; the first one is the call's start.
    pub(crate) limits: PartLimits,
    pub(crate) debt: Debt,
}

/// The lists of a call: the one that it carries, and those that the engine may ask for.
#[derive(Debug)]
pub(crate) struct Upload {
    /// The list that the call carries: its result refers to it and comes after it.
    carried: Option<List>,
    view: Outgoing,
    log: Outgoing,
    debt: Debt,
}

impl Upload {
    /// A call that carries a view; the log is given where the host has it. The update goes with
    /// the call's first frame.
    pub(crate) fn of_view(
        peer: &Peer,
        site: Site,
        view: Transcript,
        log: Option<Transcript>,
    ) -> (Self, TranscriptUpdate) {
        let mut upload = Self {
            carried: Some(List::View),
            view: Outgoing::new(peer, (List::View, site), Some(view)),
            log: Outgoing::log(peer, log),
            debt: peer.debt.clone(),
        };
        let first = upload.view.begin(peer.full);
        upload.note_debt();
        (upload, first)
    }

    /// A call that carries the log.
    pub(crate) fn of_log(peer: &Peer, log: Transcript) -> (Self, TranscriptUpdate) {
        let mut upload = Self {
            carried: Some(List::Log),
            ..Self::on_demand(peer, Some(log))
        };
        let first = upload.log.begin(peer.full);
        upload.note_debt();
        (upload, first)
    }

    /// A call that carries no list; the log is given where the host has it.
    pub(crate) fn on_demand(peer: &Peer, log: Option<Transcript>) -> Self {
        Self {
            carried: None,
            view: Outgoing::new(peer, (List::View, Site::default()), None),
            log: Outgoing::log(peer, log),
            debt: peer.debt.clone(),
        }
    }

    /// The next part that the engine has not got yet.
    pub(crate) fn next_part(&mut self) -> Option<TranscriptUpdate> {
        let pending = self.view.pending.pop_front();
        let part = pending.or_else(|| self.log.pending.pop_front());
        self.note_debt();
        part
    }

    /// Whether parts are still to go.
    pub(crate) fn owes_parts(&self) -> bool {
        !self.view.pending.is_empty() || !self.log.pending.is_empty()
    }

    /// Whether parts of the list that the call carries are still to go: a result would come too
    /// early.
    pub(crate) fn owes_its_list(&self) -> bool {
        match self.carried {
            Some(List::View) => !self.view.pending.is_empty(),
            Some(List::Log) => !self.log.pending.is_empty(),
            None => false,
        }
    }

    /// Nobody waits for the lists any more. What the call owed until then stays noted: whoever judges
    /// its end may look later.
    pub(crate) fn abandon_parts(&mut self) {
        self.view.pending.clear();
        self.log.pending.clear();
    }

    /// Takes the engine's request and queues its answer.
    pub(crate) fn answer(&mut self, need: &NeedTranscript) -> Result<(), CallError> {
        let answered = match need.list {
            List::View => self.view.answer(need),
            List::Log => self.log.answer(need),
        };
        self.note_debt();
        answered
    }

    fn note_debt(&self) {
        self.debt.set(self.owes_parts());
    }

    /// The engine holds this state of a list now (R3.8): a later call goes on from there, whatever
    /// becomes of this one.
    pub(crate) fn applied(&self, list: List, state: &TranscriptState) {
        match list {
            List::View => self.view.applied(state),
            List::Log => self.log.applied(state),
        }
    }

    /// The engine answered the call: it has what was sent in whole (R3.8).
    pub(crate) fn acknowledge(self) {
        self.view.acknowledge();
        self.log.acknowledge();
    }

    /// The engine could not follow (R3.7). It takes the carried list in first, so a log that it
    /// asked for meanwhile is the one.
    pub(crate) fn mismatch(self) {
        let log_was_asked_for = self.carried != Some(List::Log) && self.log.last_seq > 0;
        match self.carried {
            Some(List::View) if !log_was_asked_for => self.view.mismatch(),
            Some(_) | None => self.log.mismatch(),
        }
    }
}

/// One list on its way out.
#[derive(Debug)]
struct Outgoing {
    book: Arc<Book>,
    session: SessionId,
    list: List,
    site: Site,
    /// Absent where the host cannot serve the list.
    transcript: Option<Transcript>,
    limits: PartLimits,
    /// The number that was last used; zero while nothing was sent.
    last_seq: u32,
    asked: u32,
    pending: VecDeque<TranscriptUpdate>,
}

impl Outgoing {
    fn new(peer: &Peer, (list, site): (List, Site), transcript: Option<Transcript>) -> Self {
        Self {
            book: Arc::clone(&peer.book),
            session: peer.session.clone(),
            list,
            site,
            transcript,
            limits: peer.limits,
            last_seq: 0,
            asked: 0,
            pending: VecDeque::new(),
        }
    }

    /// The log is the same at every site.
    fn log(peer: &Peer, log: Option<Transcript>) -> Self {
        Self::new(peer, (List::Log, Site::default()), log)
    }

    /// The update that goes with the call's first frame.
    fn begin(&mut self, full: bool) -> TranscriptUpdate {
        if let Some(transcript) = &self.transcript {
            self.book
                .sends(&self.session, self.list, transcript.state());
        }
        self.last_seq = 1;
        let start = if full {
            Start::Full
        } else {
            self.book.start(&self.session, self.list, self.site)
        };
        match start {
            Start::Unknown => self.named(),
            Start::From(base) => self.queue(&base),
            Start::Full => self.queue(&Transcript::new()),
        }
    }

    fn answer(&mut self, need: &NeedTranscript) -> Result<(), CallError> {
        let NeedTranscript { seq, list, have } = need;
        self.asked += 1;
        if self.asked > limits::NEED_TRANSCRIPTS || *seq != self.last_seq + 1 {
            return Err(CallError::ContractViolation(format!(
                "need_transcript number {seq} is request {} for the {list:?}",
                self.asked
            )));
        }
        self.last_seq = *seq;
        // A request that was answered is answered anew: its rest would be ignored.
        self.pending.clear();
        let first = match self.base(have) {
            Some(base) => {
                self.limits.first = self.limits.rest;
                self.queue(&base)
            }
            None => TranscriptUpdate {
                seq: *seq,
                list: *list,
                body: UpdateBody::Unavailable,
            },
        };
        self.pending.push_front(first);
        Ok(())
    }

    fn applied(&self, state: &TranscriptState) {
        // A state that is none of this list would be the engine's mistake: nothing starts from it.
        let held = self
            .transcript
            .as_ref()
            .filter(|list| list.starts_with(state));
        let count = usize::try_from(state.count).unwrap_or(usize::MAX);
        if let Some(list) = held.filter(|_| self.last_seq > 0) {
            self.book
                .acknowledge(&self.session, self.list, self.site, list.prefix(count));
        }
    }

    fn acknowledge(self) {
        let arrived = self.last_seq > 0 && self.pending.is_empty();
        if let Some(transcript) = self.transcript.filter(|_| arrived) {
            self.book
                .acknowledge(&self.session, self.list, self.site, transcript);
        }
    }

    fn mismatch(self) {
        self.book.mismatch(&self.session, self.list);
    }

    /// The list that the engine's highest state describes: a past of this one, or an acknowledged;
    /// `None` where there is no list.
    fn base(&self, have: &[TranscriptState]) -> Option<Transcript> {
        let transcript = self.transcript.as_ref()?;
        let own = newest_known(have, transcript);
        let own_len = usize::try_from(own.count).unwrap_or_default();
        let known = self.book.known(&self.session, self.list, have);
        let longer = known.filter(|known| known.len() > own_len);
        Some(longer.unwrap_or_else(|| transcript.prefix(own_len)))
    }

    /// The head alone, for an engine that may have everything (R3.6).
    fn named(&self) -> TranscriptUpdate {
        let head = self.transcript.as_ref().map(Transcript::state);
        let head = head.unwrap_or_default();
        let part = Part {
            base: head,
            segments: Vec::new(),
            head,
            more: false,
        };
        TranscriptUpdate {
            seq: self.last_seq,
            list: self.list,
            body: UpdateBody::Part(part),
        }
    }

    /// Cuts the difference to `base` into parts; the first is returned, the others wait.
    fn queue(&mut self, base: &Transcript) -> TranscriptUpdate {
        let Some(transcript) = &self.transcript else {
            return self.named();
        };
        let segments = diff(base, transcript);
        let cut = parts(
            (self.last_seq, self.list),
            base.state(),
            transcript,
            segments,
            self.limits,
        );
        if !cut.stubbed.is_empty() {
            tracing::warn!(
                messages = cut.stubbed.len(),
                "bodies over the size limit travel as stubs"
            );
        }
        self.pending.extend(cut.updates);
        self.pending.pop_front().unwrap_or_else(|| self.named())
    }
}

#[cfg(test)]
mod tests;
