//! One list of one hook on its way in: parts, bases, requests for more (R3.4 to R3.7).
//!
//! A state machine over updates; it neither waits nor sends.

use contextwire_engine::{Transcript, TranscriptState};
use contextwire_proto::frame::NeedTranscript;
use contextwire_proto::limits;
use contextwire_proto::sync::{Applier, ApplyError, List, Part, TranscriptUpdate, UpdateBody};
use contextwire_proto::{Reason, Refusal};
use tonic::Status;

use crate::mirror::{MirrorKey, Mirrors};
use crate::refuse;

/// What an update means for the hook.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// The list is here.
    Complete(Transcript),
    /// The part belonged to a superseded number.
    Wait,
    /// A part is here and kept in this state; more parts follow.
    Kept(TranscriptState),
    /// The host has to be asked.
    Ask(NeedTranscript),
    /// The host cannot send the list.
    Unavailable,
}

/// The intake of one list.
#[derive(Debug)]
pub(crate) struct Intake {
    key: MirrorKey,
    seq: u32,
    asked: u32,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    base: TranscriptState,
    applier: Applier,
}

impl Intake {
    /// An intake that expects the host's first number.
    pub(crate) fn new(key: MirrorKey) -> Self {
        Self {
            key,
            seq: 1,
            asked: 0,
            open: None,
        }
    }

    /// An intake of a list that the host did not send by itself, and the request for it.
    pub(crate) fn asking(key: MirrorKey, mirrors: &Mirrors) -> (Self, NeedTranscript) {
        let need = NeedTranscript {
            seq: 1,
            list: key.list,
            have: mirrors.have(&key),
        };
        let intake = Self {
            asked: 1,
            ..Self::new(key)
        };
        (intake, need)
    }

    /// Takes the next update of this list.
    pub(crate) fn offer(
        &mut self,
        update: TranscriptUpdate,
        mirrors: &Mirrors,
    ) -> Result<Step, Status> {
        let TranscriptUpdate { seq, list, body } = update;
        if list != self.key.list {
            let text = format!("this hook carries the {:?} only", self.key.list);
            let refusal = Refusal::new(Reason::ContractViolation, text);
            return Err(refusal.with("list", &format!("{:?}", self.key.list)).into());
        }
        if seq > self.seq {
            let text = format!("part number {seq} was not asked for");
            let refusal = Refusal::new(Reason::ContractViolation, text);
            return Err(refusal.with("seq", &seq).into());
        }
        if seq < self.seq {
            return Ok(Step::Wait);
        }
        match body {
            UpdateBody::Part(part) => self.part(part, mirrors),
            UpdateBody::Unavailable => Ok(Step::Unavailable),
        }
    }

    fn part(&mut self, part: Part, mirrors: &Mirrors) -> Result<Step, Status> {
        let Part {
            base,
            segments,
            head,
            more,
        } = part;
        let mut open = match self.open.take() {
            Some(open) if open.base == base => open,
            Some(_) => {
                return Err(refuse::violation(
                    "the parts of one list differ in their base",
                ));
            }
            None => match mirrors.find(&self.key, &base) {
                Some(list) if segments.is_empty() && base == head && !more => {
                    return Ok(self.complete(list, mirrors));
                }
                Some(list) => Open {
                    base,
                    applier: Applier::new(list),
                },
                None => return self.ask(mirrors.have(&self.key)),
            },
        };
        match open.applier.part(segments, &head) {
            Ok(()) if more => {
                mirrors.keep(&self.key, open.applier.list().clone());
                self.open = Some(open);
                Ok(Step::Kept(head))
            }
            Ok(()) => Ok(self.complete(open.applier.into_list(), mirrors)),
            Err(ApplyError::Head { .. }) if base == TranscriptState::EMPTY => Err(mismatch()),
            Err(ApplyError::Head { .. }) => self.ask(Vec::new()),
            Err(ApplyError::Segment(error)) => Err(refuse::update(&error)),
        }
    }

    fn complete(&self, list: Transcript, mirrors: &Mirrors) -> Step {
        mirrors.keep(&self.key, list.clone());
        Step::Complete(list)
    }

    fn ask(&mut self, have: Vec<TranscriptState>) -> Result<Step, Status> {
        if self.asked == limits::NEED_TRANSCRIPTS {
            return Err(mismatch());
        }
        self.asked += 1;
        self.seq += 1;
        Ok(Step::Ask(NeedTranscript {
            seq: self.seq,
            list: self.key.list,
            have,
        }))
    }
}

/// The engine lacks the list and the host cannot send it.
pub(crate) fn unavailable(list: List) -> Status {
    Refusal::new(
        Reason::TranscriptUnavailable,
        format!("the {list:?} is not here, and the host cannot send it"),
    )
    .with("list", &format!("{list:?}"))
    .into_status()
}

fn mismatch() -> Status {
    Refusal::new(
        Reason::TranscriptDigestMismatch,
        "the list does not have the announced state: send it in full",
    )
    .into_status()
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{Message, Segment, SessionId};
    use contextwire_proto::reason_of;
    use contextwire_proto::sync::diff;

    use super::*;

    fn key() -> MirrorKey {
        MirrorKey {
            session: SessionId::new("s").unwrap(),
            list: List::View,
        }
    }

    fn list(texts: &[&str]) -> Transcript {
        texts
            .iter()
            .map(|text| Message::from_payload(format!(r#"{{"content":"{text}"}}"#)))
            .collect()
    }

    fn update(seq: u32, base: &Transcript, new: &Transcript) -> TranscriptUpdate {
        let part = Part {
            base: base.state(),
            segments: diff(base, new),
            head: new.state(),
            more: false,
        };
        TranscriptUpdate {
            seq,
            list: List::View,
            body: UpdateBody::Part(part),
        }
    }

    fn with(update: TranscriptUpdate, change: impl FnOnce(&mut Part)) -> TranscriptUpdate {
        let UpdateBody::Part(mut part) = update.body else {
            panic!("a part")
        };
        change(&mut part);
        TranscriptUpdate {
            body: UpdateBody::Part(part),
            ..update
        }
    }

    #[test]
    fn e_syn_01_an_equal_base_is_continued() {
        let (mirrors, old, new) = (Mirrors::new(1 << 20), list(&["a"]), list(&["a", "b"]));
        mirrors.keep(&key(), old.clone());
        let step = Intake::new(key()).offer(update(1, &old, &new), &mirrors);
        assert_eq!(step.unwrap(), Step::Complete(new.clone()));
        assert_eq!(mirrors.find(&key(), &new.state()), Some(new));
    }

    #[test]
    fn e_syn_02_a_base_behind_the_mirror_doubles_nothing() {
        let mirrors = Mirrors::new(1 << 20);
        let (old, new) = (list(&["a"]), list(&["a", "b"]));
        mirrors.keep(&key(), new.clone());
        let step = Intake::new(key())
            .offer(update(1, &old, &new), &mirrors)
            .unwrap();
        assert!(matches!(step, Step::Complete(list) if list.len() == 2));
    }

    #[test]
    fn e_syn_05_nothing_in_common_asks_for_the_list_and_offers_what_is_here() {
        let mirrors = Mirrors::new(1 << 20);
        let (mine, theirs) = (list(&["a"]), list(&["x", "y"]));
        mirrors.keep(&key(), mine.clone());
        let mut intake = Intake::new(key());
        let resumed = with(update(1, &theirs, &theirs), |part| part.segments.clear());
        let Step::Ask(need) = intake.offer(resumed, &mirrors).unwrap() else {
            panic!("a request")
        };
        assert_eq!((need.seq, need.have), (2, vec![mine.state()]));
        // A part of the number before the request is ignored, the answer completes the list.
        let late = intake
            .offer(update(1, &Transcript::new(), &theirs), &mirrors)
            .unwrap();
        assert_eq!(late, Step::Wait);
        let step = intake
            .offer(update(2, &Transcript::new(), &theirs), &mirrors)
            .unwrap();
        assert_eq!(step, Step::Complete(theirs));
    }

    #[test]
    fn e_syn_07_a_wrong_head_appends_nothing() {
        let (mirrors, new) = (Mirrors::new(1 << 20), list(&["a"]));
        let wrong = with(update(1, &Transcript::new(), &new), |part| {
            part.head = list(&["z"]).state();
        });
        let status = Intake::new(key()).offer(wrong, &mirrors).unwrap_err();
        assert_eq!(reason_of(&status), Some(Reason::TranscriptDigestMismatch));
        assert!(mirrors.have(&key()).is_empty());
    }

    #[test]
    fn a_wrong_head_over_a_known_base_asks_for_everything_once_and_again() {
        let (mirrors, old, new) = (Mirrors::new(1 << 20), list(&["a"]), list(&["a", "b"]));
        mirrors.keep(&key(), old.clone());
        let mut intake = Intake::new(key());
        for seq in 1..=2 {
            let wrong = with(update(seq, &old, &new), |part| {
                part.head = list(&["z"]).state();
            });
            let step = intake.offer(wrong, &mirrors).unwrap();
            assert!(matches!(step, Step::Ask(need) if need.seq == seq + 1 && need.have.is_empty()));
        }
        let wrong = with(update(3, &old, &new), |part| {
            part.head = list(&["z"]).state();
        });
        assert!(intake.offer(wrong, &mirrors).is_err());
    }

    #[test]
    fn r3_6_a_list_that_was_not_sent_is_asked_for_by_number_1_and_once_more() {
        let mirrors = Mirrors::new(1 << 20);
        let (mine, theirs) = (list(&["a"]), list(&["a", "b"]));
        mirrors.keep(&key(), mine.clone());
        let (mut intake, need) = Intake::asking(key(), &mirrors);
        assert_eq!((need.seq, need.have), (1, vec![mine.state()]));
        let unknown = update(1, &list(&["z"]), &theirs);
        let step = intake.offer(unknown.clone(), &mirrors).unwrap();
        assert!(matches!(step, Step::Ask(need) if need.seq == 2));
        let step = intake.offer(update(2, &mine, &theirs), &mirrors).unwrap();
        assert_eq!(step, Step::Complete(theirs));

        let (mut intake, _) = Intake::asking(key(), &mirrors);
        let unavailable = TranscriptUpdate {
            body: UpdateBody::Unavailable,
            ..unknown
        };
        assert_eq!(
            intake.offer(unavailable, &mirrors).unwrap(),
            Step::Unavailable
        );
    }

    #[test]
    fn a_part_that_arrived_is_kept_when_the_rest_does_not() {
        let (mirrors, new) = (Mirrors::new(1 << 20), list(&["a", "b"]));
        let first = new.prefix(1);
        let part = with(update(1, &Transcript::new(), &first), |part| {
            part.more = true;
        });
        assert_eq!(
            Intake::new(key()).offer(part, &mirrors).unwrap(),
            Step::Kept(first.state())
        );
        assert_eq!(mirrors.have(&key()), [first.state()]);
    }

    #[test]
    fn ranges_that_make_no_list_are_refused_by_name() {
        let (mirrors, old) = (Mirrors::new(1 << 20), list(&["a", "b"]));
        mirrors.keep(&key(), old.clone());
        for segments in [
            vec![Segment::Keep(0..3)],
            vec![Segment::Keep(0..2), Segment::Keep(1..2)],
            vec![Segment::Keep(1..2), Segment::Keep(0..1)],
        ] {
            let wrong = with(update(1, &old, &old), |part| part.segments = segments);
            let status = Intake::new(key()).offer(wrong, &mirrors).unwrap_err();
            assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
        }
    }
}
