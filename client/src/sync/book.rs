//! What each engine acknowledged of each session's lists (R3.8, R3.9).

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use contextwire_engine::{Session, SessionId, Site, Transcript, TranscriptState};
use contextwire_proto::limits;
use contextwire_proto::sync::List;
use lru::LruCache;

/// Sessions whose acknowledged states are remembered; a forgotten one costs one request for what
/// the engine still has.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Full sends that may fail in a row before the engine always gets full lists (R3.7).
const MISMATCHES: u32 = 3;

/// What to start an upload from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Start {
    /// Nothing is known of the engine's mirror: name the head and let it ask.
    Unknown,
    /// The engine acknowledged this list.
    From(Transcript),
    /// The engine keeps no mirror, or could not follow: everything.
    Full,
}

/// What is known of one list.
#[derive(Clone, Debug)]
pub(crate) struct KnownList {
    pub(crate) session: SessionId,
    pub(crate) list: List,
    pub(crate) base: Option<TranscriptState>,
    pub(crate) head: Option<TranscriptState>,
}

/// Acknowledged states of one engine.
#[derive(Debug)]
pub(crate) struct Book {
    lists: Mutex<LruCache<(SessionId, List), Acknowledged>>,
    /// The engine failed to follow too often: it gets full lists for the life of this process.
    always_full: AtomicBool,
}

#[derive(Debug, Default)]
struct Acknowledged {
    /// Newest first, with the site that sent each.
    states: VecDeque<(Site, Transcript)>,
    /// The list as it was sent last, acknowledged or not.
    head: Option<TranscriptState>,
    /// Full sends that did not arrive as announced, in a row.
    mismatches: u32,
}

impl Book {
    pub(crate) fn new() -> Self {
        Self {
            lists: Mutex::new(LruCache::new(SESSIONS)),
            always_full: AtomicBool::new(false),
        }
    }

    /// A session goes on from the lists of the one that it succeeded.
    pub(crate) fn follow(&self, session: &Session) {
        let Some(previous) = &session.previous_id else {
            return;
        };
        let mut lists = self.lock();
        for list in [List::Log, List::View] {
            let own = (session.id.clone(), list);
            if !lists.contains(&own)
                && let Some(known) = lists.pop(&(previous.clone(), list))
            {
                lists.put(own, known);
            }
        }
    }

    /// Where the next upload of a list starts: the same site's last state, else the newest.
    pub(crate) fn start(&self, session: &SessionId, list: List, site: Site) -> Start {
        if self.always_full.load(Ordering::Relaxed) {
            return Start::Full;
        }
        let mut lists = self.lock();
        let Some(known) = lists.get(&(session.clone(), list)) else {
            return Start::Unknown;
        };
        if known.mismatches > 0 {
            return Start::Full;
        }
        let of_site = known.states.iter().find(|(from, _)| *from == site);
        match of_site.or_else(|| known.states.front()) {
            Some((_, transcript)) => Start::From(transcript.clone()),
            None => Start::Unknown,
        }
    }

    /// Payload bytes of the list that an upload from this site starts from; 0 where it starts anew.
    pub(crate) fn known_bytes(&self, session: &SessionId, (list, site): (List, Site)) -> u64 {
        match self.start(session, list, site) {
            Start::From(known) => known.payload_bytes(),
            Start::Unknown | Start::Full => 0,
        }
    }

    /// A list goes out.
    pub(crate) fn sends(&self, session: &SessionId, list: List, head: TranscriptState) {
        let mut lists = self.lock();
        let known = lists.get_or_insert_mut((session.clone(), list), Acknowledged::default);
        known.head = Some(head);
    }

    /// What the engine acknowledged last of each list, and what it was sent last; the lists that
    /// were used last come first.
    pub(crate) fn known_lists(&self) -> Vec<KnownList> {
        let lists = self.lock();
        let known_list =
            |((session, list), known): (&(SessionId, List), &Acknowledged)| KnownList {
                session: session.clone(),
                list: *list,
                base: known.states.front().map(|(_, held)| held.state()),
                head: known.head,
            };
        lists.iter().map(known_list).collect()
    }

    /// The acknowledged list in exactly one of the offered states; the longest of them.
    pub(crate) fn known(
        &self,
        session: &SessionId,
        list: List,
        offered: &[TranscriptState],
    ) -> Option<Transcript> {
        let mut lists = self.lock();
        let known = lists.get(&(session.clone(), list))?;
        let states = known.states.iter().map(|(_, transcript)| transcript);
        let held = states.flat_map(|transcript| {
            offered
                .iter()
                .filter(|state| transcript.starts_with(state))
                .map(move |state| {
                    let count = usize::try_from(state.count).unwrap_or(usize::MAX);
                    transcript.prefix(count)
                })
        });
        held.max_by_key(Transcript::len)
    }

    /// The engine has this list now. A site whose own list it continues goes on from it as well.
    pub(crate) fn acknowledge(
        &self,
        session: &SessionId,
        list: List,
        site: Site,
        head: Transcript,
    ) {
        let mut lists = self.lock();
        let known = lists.get_or_insert_mut((session.clone(), list), Acknowledged::default);
        known.mismatches = 0;
        known.states.retain(|(from, _)| *from != site);
        for (_, held) in &mut known.states {
            if head.starts_with(&held.state()) {
                *held = head.clone();
            }
        }
        known.states.push_front((site, head));
        known.states.truncate(limits::MIRROR_STATES);
    }

    /// The engine could not follow: full sends until one is acknowledged (R3.7).
    pub(crate) fn mismatch(&self, session: &SessionId, list: List) {
        let mut lists = self.lock();
        let known = lists.get_or_insert_mut((session.clone(), list), Acknowledged::default);
        known.mismatches += 1;
        known.states.clear();
        if known.mismatches == MISMATCHES && !self.always_full.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "lists do not arrive as announced: this engine gets full lists from now on"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<(SessionId, List), Acknowledged>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;

    fn session() -> SessionId {
        SessionId::new("s").unwrap()
    }

    fn list(texts: &[&str]) -> Transcript {
        texts
            .iter()
            .map(|text| Message::from_payload(format!(r#"{{"content":"{text}"}}"#)))
            .collect()
    }

    #[test]
    fn an_upload_starts_from_its_own_sites_state_else_from_the_newest() {
        let book = Book::new();
        let start = |site| book.start(&session(), List::View, site);
        assert_eq!(start(Site::BeforePrompt), Start::Unknown);
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        book.acknowledge(&session(), List::View, Site::ToolLoop, list(&["x"]));
        assert_eq!(start(Site::BeforePrompt), Start::From(list(&["a"])));
        assert_eq!(start(Site::ToolLoop), Start::From(list(&["x"])));
        assert_eq!(start(Site::Sync), Start::From(list(&["x"])));
        assert_eq!(
            book.start(&session(), List::Log, Site::Sync),
            Start::Unknown
        );
    }

    #[test]
    fn a_site_whose_list_another_one_continued_starts_there_and_not_from_a_third_ones() {
        let book = Book::new();
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        book.acknowledge(&session(), List::View, Site::Sync, list(&["a", "b"]));
        book.acknowledge(&session(), List::View, Site::ToolLoop, list(&["x"]));
        let start = book.start(&session(), List::View, Site::BeforePrompt);
        assert_eq!(start, Start::From(list(&["a", "b"])));
    }

    #[test]
    fn a_successor_starts_from_its_predecessors_lists() {
        let book = Book::new();
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        let next = Session {
            previous_id: Some(session()),
            ..Session::new(SessionId::new("next").unwrap())
        };
        book.follow(&next);
        let start = |id: &SessionId| book.start(id, List::View, Site::BeforePrompt);
        assert_eq!(start(&next.id), Start::From(list(&["a"])));
        assert_eq!(start(&session()), Start::Unknown);
        // A late call of the predecessor takes nothing from it.
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["z"]));
        book.follow(&next);
        assert_eq!(start(&next.id), Start::From(list(&["a"])));
    }

    #[test]
    fn after_a_mismatch_everything_is_sent_until_it_is_acknowledged() {
        let book = Book::new();
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        book.mismatch(&session(), List::View);
        assert_eq!(
            book.start(&session(), List::View, Site::BeforePrompt),
            Start::Full
        );
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        let start = book.start(&session(), List::View, Site::BeforePrompt);
        assert_eq!(start, Start::From(list(&["a"])));
        (0..3).for_each(|_| book.mismatch(&session(), List::View));
        book.acknowledge(&session(), List::View, Site::BeforePrompt, list(&["a"]));
        assert_eq!(
            book.start(&session(), List::View, Site::BeforePrompt),
            Start::Full
        );
    }

    #[test]
    fn the_longest_offered_state_that_was_acknowledged_is_known() {
        let book = Book::new();
        let old = list(&["a", "b", "c"]);
        book.acknowledge(&session(), List::View, Site::BeforePrompt, old.clone());
        let offered = [
            old.prefix(1).state(),
            old.prefix(2).state(),
            list(&["z"]).state(),
        ];
        assert_eq!(
            book.known(&session(), List::View, &offered),
            Some(old.prefix(2))
        );
        assert_eq!(book.known(&session(), List::View, &[]), None);
    }
}
