//! One list of one call on its way out (R3.4 to R3.6): a state machine that neither waits nor sends.

use std::collections::VecDeque;
use std::sync::Arc;

use contextwire_engine::{SessionId, Site, Transcript, TranscriptState};
use contextwire_proto::frame::NeedTranscript;
use contextwire_proto::limits;
use contextwire_proto::sync::{
    List, Part, PartLimits, TranscriptUpdate, UpdateBody, diff, newest_known, parts,
};

use super::book::{Book, Start};
use crate::error::CallError;

/// An upload: which parts are still to go, and how to answer a request for more.
#[derive(Debug)]
pub(crate) struct Upload {
    book: Arc<Book>,
    session: SessionId,
    list: List,
    site: Site,
    transcript: Transcript,
    limits: PartLimits,
    asked: u32,
    pending: VecDeque<TranscriptUpdate>,
}

impl Upload {
    /// An upload of `transcript`, and the update that goes with the call's first frame.
    pub(crate) fn begin(
        book: Arc<Book>,
        session: SessionId,
        (site, full): (Site, bool),
        transcript: Transcript,
        limits: PartLimits,
    ) -> (Self, TranscriptUpdate) {
        let list = List::View;
        let start = if full {
            Start::Full
        } else {
            book.start(&session, list, site)
        };
        let mut upload = Self {
            book,
            session,
            list,
            site,
            transcript,
            limits,
            asked: 0,
            pending: VecDeque::new(),
        };
        let first = match start {
            Start::Unknown => upload.named(),
            Start::From(base) => upload.queue(1, &base),
            Start::Full => upload.queue(1, &Transcript::new()),
        };
        (upload, first)
    }

    /// The next part that the engine has not got yet.
    pub(crate) fn next_part(&mut self) -> Option<TranscriptUpdate> {
        self.pending.pop_front()
    }

    /// Whether parts are still to go.
    pub(crate) fn owes_parts(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nobody waits for the list any more.
    pub(crate) fn abandon_parts(&mut self) {
        self.pending.clear();
    }

    /// Takes the engine's request and queues its answer.
    pub(crate) fn answer(&mut self, need: &NeedTranscript) -> Result<(), CallError> {
        let NeedTranscript { seq, list, have } = need;
        if *list != self.list {
            let body = UpdateBody::Unavailable;
            self.pending.push_back(TranscriptUpdate {
                seq: *seq,
                list: *list,
                body,
            });
            return Ok(());
        }
        self.asked += 1;
        if self.asked > limits::NEED_TRANSCRIPTS || *seq != self.asked + 1 {
            return Err(CallError::ContractViolation(format!(
                "need_transcript number {seq} is request {} for the {list:?}",
                self.asked
            )));
        }
        let own = newest_known(have, &self.transcript);
        let base = self.base(own, have);
        let first = self.queue(*seq, &base);
        self.pending.push_front(first);
        Ok(())
    }

    /// The engine answered the call: it has the list (R3.8).
    pub(crate) fn acknowledge(self) {
        self.book
            .acknowledge(&self.session, self.list, self.site, self.transcript);
    }

    /// The engine could not follow (R3.7).
    pub(crate) fn mismatch(self) {
        self.book.mismatch(&self.session, self.list);
    }

    /// The list that the engine's highest state describes: a past of this one, or an acknowledged.
    fn base(&self, own: TranscriptState, have: &[TranscriptState]) -> Transcript {
        let own_len = usize::try_from(own.count).unwrap_or_default();
        match self.book.known(&self.session, self.list, have) {
            Some(known) if known.len() > own_len => known,
            Some(_) | None => self.transcript.prefix(own_len),
        }
    }

    /// The head alone, for an engine that may have everything (R3.6).
    fn named(&self) -> TranscriptUpdate {
        let head = self.transcript.state();
        let part = Part {
            base: head,
            segments: Vec::new(),
            head,
            more: false,
        };
        TranscriptUpdate {
            seq: 1,
            list: self.list,
            body: UpdateBody::Part(part),
        }
    }

    /// Cuts the difference to `base` into parts; the first is returned, the others wait.
    fn queue(&mut self, seq: u32, base: &Transcript) -> TranscriptUpdate {
        self.pending.clear();
        let segments = diff(base, &self.transcript);
        let cut = parts(
            (seq, self.list),
            base.state(),
            &self.transcript,
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
mod tests {
    use contextwire_engine::{Message, Segment};

    use super::*;

    const LIMITS: PartLimits = PartLimits {
        first: 4096,
        rest: 4096,
    };

    fn session() -> SessionId {
        SessionId::new("s").unwrap()
    }

    fn list(count: usize) -> Transcript {
        (0..count)
            .map(|n| Message::from_payload(format!(r#"{{"content":"{n:0900}"}}"#)))
            .collect()
    }

    fn begin(book: &Arc<Book>, transcript: Transcript) -> (Upload, TranscriptUpdate) {
        Upload::begin(
            Arc::clone(book),
            session(),
            (Site::BeforePrompt, false),
            transcript,
            LIMITS,
        )
    }

    fn part(update: &TranscriptUpdate) -> &Part {
        match &update.body {
            UpdateBody::Part(part) => part,
            UpdateBody::Unavailable => panic!("a part"),
        }
    }

    fn need(seq: u32, have: Vec<TranscriptState>) -> NeedTranscript {
        NeedTranscript {
            seq,
            list: List::View,
            have,
        }
    }

    #[test]
    fn a_host_that_just_started_names_its_head_and_sends_nothing() {
        let (mut upload, first) = begin(&Arc::new(Book::new()), list(3));
        assert_eq!(
            (part(&first).base, part(&first).head),
            (list(3).state(), list(3).state())
        );
        assert!(part(&first).segments.is_empty());
        assert_eq!(upload.next_part(), None);
    }

    #[test]
    fn an_acknowledged_list_costs_one_range_and_what_is_new() {
        let book = Arc::new(Book::new());
        begin(&book, list(3)).0.acknowledge();
        let (_, first) = begin(&book, list(4));
        assert_eq!(part(&first).segments.len(), 2);
        assert_eq!(part(&first).segments[0], Segment::Keep(0..3));
    }

    #[test]
    fn a_request_is_answered_from_the_highest_state_that_the_host_knows() {
        let (mut upload, _) = begin(&Arc::new(Book::new()), list(9));
        upload
            .answer(&need(
                2,
                vec![list(12).state(), list(5).state(), list(2).state()],
            ))
            .unwrap();
        let answer = upload.next_part().unwrap();
        assert_eq!((answer.seq, part(&answer).base), (2, list(5).state()));
    }

    #[test]
    fn a_long_list_goes_in_parts_whose_heads_grow() {
        let (mut upload, _) = begin(&Arc::new(Book::new()), list(9));
        upload.answer(&need(2, Vec::new())).unwrap();
        let sent: Vec<_> = std::iter::from_fn(|| upload.next_part()).collect();
        assert!(sent.len() > 1);
        assert!(
            sent.iter()
                .all(|update| part(update).base == TranscriptState::EMPTY)
        );
        let heads: Vec<_> = sent.iter().map(|update| part(update).head.count).collect();
        assert!(heads.is_sorted() && heads.last() == Some(&9), "{heads:?}");
        assert_eq!(
            sent.iter().filter(|update| part(update).more).count(),
            sent.len() - 1
        );
    }

    #[test]
    fn a_third_request_or_a_wrong_number_breaks_the_contract() {
        let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
        assert!(upload.answer(&need(3, Vec::new())).is_err());
        let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
        assert!(upload.answer(&need(2, Vec::new())).is_ok());
        assert!(upload.answer(&need(3, Vec::new())).is_ok());
        assert!(upload.answer(&need(4, Vec::new())).is_err());
    }

    #[test]
    fn a_list_that_this_hook_does_not_carry_is_unavailable() {
        let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
        let log = NeedTranscript {
            seq: 1,
            list: List::Log,
            have: Vec::new(),
        };
        upload.answer(&log).unwrap();
        assert_eq!(upload.next_part().unwrap().body, UpdateBody::Unavailable);
    }
}
