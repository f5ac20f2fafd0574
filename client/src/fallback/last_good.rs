//! What the engine said last of each session, for the time when it says nothing (R7.13).

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::{
    Assemble, AssembleOutcome, Assembled, Segment, Session, SessionId, Site, Transcript,
};
use lru::LruCache;

/// Everything that is kept, in bytes of payloads and texts.
const MOST_BYTES: u64 = 64 << 20;
/// Sessions that are kept at most.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// The last good result of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastGood {
    /// The context, with the list that it is over; only of engines that own compaction.
    pub(crate) context: Option<(Transcript, Assembled)>,
    /// The text that it added to the system prompt.
    pub(crate) system_prompt_addition: Option<String>,
}

impl LastGood {
    fn bytes(&self) -> u64 {
        let addition = self.system_prompt_addition.as_ref().map_or(0, String::len);
        let context = self.context.as_ref().map_or(0, |(view, messages)| {
            let inserted = messages.segments().iter().map(|segment| match segment {
                Segment::Insert(message) => message.payload().len() as u64,
                Segment::Keep(_) => 0,
            });
            // The list's messages are the host's own objects; who else holds them is not known.
            view.payload_bytes() + inserted.sum::<u64>()
        });
        addition as u64 + context
    }
}

/// The newest result of each session, in memory only. Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct LastGoods(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    sessions: LruCache<SessionId, (LastGood, u64)>,
    bytes: u64,
}

impl LastGoods {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Kept {
            sessions: LruCache::new(SESSIONS),
            bytes: 0,
        })))
    }

    /// What is known of a session.
    pub(crate) fn of(&self, session: &SessionId) -> LastGood {
        let mut kept = self.lock();
        let known = kept.sessions.get(session);
        known.map(|(good, _)| good.clone()).unwrap_or_default()
    }

    /// The engine answered; what it left unchanged is what it said before.
    pub(crate) fn remember(
        &self,
        session: &SessionId,
        asked: &Asked,
        outcome: &AssembleOutcome,
        owns_compaction: bool,
    ) {
        let good = match outcome {
            AssembleOutcome::Messages(reply) => LastGood {
                context: owns_compaction.then(|| (asked.view.clone(), reply.messages.clone())),
                system_prompt_addition: reply.system_prompt_addition.clone(),
            },
            AssembleOutcome::Unchanged(unchanged) => LastGood {
                context: self.of(session).context,
                system_prompt_addition: unchanged.system_prompt_addition.clone(),
            },
        };
        self.lock().put(session.clone(), good);
    }

    /// A session goes on from what was said of the one that it succeeded.
    pub(crate) fn follow(&self, session: &Session) {
        let Some(previous) = &session.previous_id else {
            return;
        };
        let mut kept = self.lock();
        if !kept.sessions.contains(&session.id)
            && let Some((good, _)) = kept.take(previous)
        {
            kept.put(session.id.clone(), good);
        }
    }

    /// The session was compacted or rewritten: what was said of it is no longer the context.
    pub(crate) fn outdate(&self, session: &SessionId) {
        let mut kept = self.lock();
        if let Some((good, _)) = kept.take(session) {
            let good = LastGood {
                context: None,
                ..good
            };
            kept.put(session.clone(), good);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn take(&mut self, session: &SessionId) -> Option<(LastGood, u64)> {
        let taken = self.sessions.pop(session);
        self.bytes -= taken.as_ref().map_or(0, |(_, bytes)| *bytes);
        taken
    }

    fn put(&mut self, session: SessionId, good: LastGood) {
        self.take(&session);
        let bytes = good.bytes();
        self.bytes += bytes;
        if let Some((_, (_, gone))) = self.sessions.push(session, (good, bytes)) {
            self.bytes -= gone;
        }
        while self.bytes > MOST_BYTES {
            let Some((_, (_, gone))) = self.sessions.pop_lru() else {
                break;
            };
            self.bytes -= gone;
        }
    }
}

/// What an engine was asked, as far as it is remembered.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    view: Transcript,
}

impl Asked {
    /// Nothing of a background upload: it assembles nothing.
    pub(crate) fn of(request: &Assemble) -> Option<Self> {
        (request.site != Site::Sync).then(|| Self {
            view: request.transcript.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{AssembleReply, Message, Unchanged};

    use super::*;

    fn id(n: usize) -> SessionId {
        SessionId::new(format!("s{n}").as_str()).unwrap()
    }

    fn asked(bytes: usize) -> Asked {
        let text = "x".repeat(bytes);
        Asked {
            view: [Message::from_payload(text)].into_iter().collect(),
        }
    }

    fn reply(addition: &str) -> AssembleOutcome {
        AssembleReply {
            messages: Assembled::keep(0..1),
            system_prompt_addition: Some(addition.to_owned()),
            ..AssembleReply::default()
        }
        .into()
    }

    #[test]
    fn r7_13_only_the_newest_result_is_kept_and_all_together_64_megabytes() {
        let goods = LastGoods::new();
        for _ in 0..10 {
            goods.remember(&id(0), &asked(20 << 20), &reply("a"), true);
        }
        assert_eq!(goods.lock().bytes, (20 << 20) + 1);
        for n in 1..5 {
            goods.remember(&id(n), &asked(20 << 20), &reply("a"), true);
        }
        let kept: Vec<_> = (0..5).map(|n| goods.of(&id(n)).context.is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true]);
        goods.remember(&id(9), &asked(65 << 20), &reply("a"), true);
        assert!(goods.of(&id(9)).context.is_none());
        assert_eq!(goods.lock().bytes, 0, "and it took the others with it");
    }

    #[test]
    fn of_an_engine_that_does_not_own_compaction_only_the_addition_is_kept() {
        let goods = LastGoods::new();
        goods.remember(&id(0), &asked(9), &reply("be brief"), false);
        let good = goods.of(&id(0));
        assert!(good.context.is_none());
        assert_eq!(good.system_prompt_addition.as_deref(), Some("be brief"));
    }

    #[test]
    fn unchanged_leaves_the_context_and_brings_its_own_addition() {
        let goods = LastGoods::new();
        goods.remember(&id(0), &asked(9), &reply("old"), true);
        let unchanged = AssembleOutcome::Unchanged(Unchanged::default());
        goods.remember(&id(0), &asked(5), &unchanged, true);
        let good = goods.of(&id(0));
        assert_eq!(good.context.unwrap().0, asked(9).view);
        assert_eq!(good.system_prompt_addition, None);
    }

    #[test]
    fn an_outdated_context_is_gone_and_its_bytes_with_it() {
        let goods = LastGoods::new();
        goods.remember(&id(0), &asked(900), &reply("note"), true);
        goods.outdate(&id(0));
        goods.outdate(&id(7));
        let good = goods.of(&id(0));
        assert!(good.context.is_none() && good.system_prompt_addition.is_some());
        assert_eq!(goods.lock().bytes, 4);
    }

    #[test]
    fn r7_13_a_successor_goes_on_from_what_its_predecessor_was_told() {
        let goods = LastGoods::new();
        goods.remember(&id(0), &asked(900), &reply("note"), true);
        let session = Session {
            previous_id: Some(id(0)),
            ..Session::new(id(1))
        };
        goods.follow(&session);
        assert!(goods.of(&id(1)).context.is_some() && goods.of(&id(0)).context.is_none());
        assert_eq!(goods.lock().bytes, 904);
        // What it was told itself stays.
        goods.remember(&id(0), &asked(9), &reply("late"), true);
        goods.follow(&session);
        let addition = goods.of(&id(1)).system_prompt_addition;
        assert_eq!(addition.as_deref(), Some("note"));
    }

    #[test]
    fn a_background_upload_is_not_remembered() {
        let sync = Assemble {
            site: Site::Sync,
            ..Assemble::default()
        };
        assert!(Asked::of(&sync).is_none());
        assert!(Asked::of(&Assemble::default()).is_some());
    }
}
