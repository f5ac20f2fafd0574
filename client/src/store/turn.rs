//! A closed turn between two entries, by ancestry (HOST-SEMANTICS 9.2).

use std::fmt;

use contextwire_engine::{EntryAnchor, EntryId, Message};

use super::tree::{Node, Tree};

/// How anchors of this store number its entries; others are not judged by their number.
const GENERATION: &str = "contextwire-1";

/// What a turn may have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeLimits {
    /// Entries after the admission, messages or not.
    pub events: usize,
    /// Bytes of all payloads.
    pub bytes: usize,
}

impl Default for RangeLimits {
    /// 20 000 events and 8 MiB.
    fn default() -> Self {
        Self {
            events: 20_000,
            bytes: 8 << 20,
        }
    }
}

/// Why the messages of a turn can never be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableTurn {
    /// More events or bytes than a turn may have.
    TooLarge,
    /// The transcript has another entry in the place of the admission.
    Stale,
    /// The anchors are not of one session, or not of the turn's.
    SessionRebound,
    /// The last entry does not descend from the first one.
    NonDescendant,
}

impl fmt::Display for UnreadableTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "too-large",
            Self::Stale => "stale",
            Self::SessionRebound => "session-rebound",
            Self::NonDescendant => "non-descendant",
        })
    }
}

/// What reading a turn came to.
#[derive(Clone, Debug)]
pub enum TurnRange {
    /// The messages from the admission through the terminal entry, with the ids and the bytes that the
    /// log has (R2.3).
    Messages(Vec<Message>),
    /// Nothing can be read now; it is tried again.
    Unavailable(String),
    /// It can never be read.
    Never(UnreadableTurn),
}

impl Tree {
    /// The anchor of an entry. Its number stays the same when the entry is rewritten.
    pub(super) fn anchor(&self, entry: &EntryId) -> Option<EntryAnchor> {
        let first = self.first_of_lineage(entry)?;
        let node = self.node_of_lineage(entry)?;
        let parent = node.parent.and_then(|parent| self.entry(parent));
        let place = node.place.unwrap_or_default();
        Some(EntryAnchor {
            entry_id: entry.as_str().to_owned(),
            generation: GENERATION.to_owned(),
            raw_seq: number(first),
            effective_parent_id: parent.map(|parent| parent.entry_id().as_str().to_owned()),
            active_message_position: number(self.messages_before(place)),
            ..EntryAnchor::default()
        })
    }

    fn messages_before(&self, place: usize) -> usize {
        let spoken = self.spoken_from(0);
        let is_before = |entry: &&super::entry::Entry| {
            let found = self.place(entry.id());
            found.is_some_and(|found| found < place)
        };
        spoken.take_while(is_before).count()
    }

    /// The messages between two anchors.
    pub(super) fn turn(
        &self,
        admission: &EntryAnchor,
        terminal: &EntryAnchor,
        limits: RangeLimits,
    ) -> TurnRange {
        let (first, last) = (id(admission), id(terminal));
        if !self.is_where_it_was(admission, &first) {
            return TurnRange::Never(UnreadableTurn::Stale);
        }
        let Some(mut node) = self.node_of_lineage(&last) else {
            return TurnRange::Never(UnreadableTurn::Stale);
        };
        let mut messages = Vec::new();
        let (mut events, mut bytes) = (0, 0);
        loop {
            if let Some(message) = self.message_of(node) {
                bytes += message.payload().len();
                messages.push(message);
            }
            let is_admission = *node.entry.entry_id() == first;
            events += usize::from(!is_admission);
            if events > limits.events || bytes > limits.bytes {
                return TurnRange::Never(UnreadableTurn::TooLarge);
            }
            if is_admission {
                messages.reverse();
                return TurnRange::Messages(messages);
            }
            let parent = node.parent.and_then(|parent| self.node(parent));
            let Some(parent) = parent else {
                return TurnRange::Never(UnreadableTurn::NonDescendant);
            };
            node = parent;
        }
    }

    fn is_where_it_was(&self, anchor: &EntryAnchor, entry: &EntryId) -> bool {
        let Some(place) = self.first_of_lineage(entry) else {
            return false;
        };
        anchor.generation != GENERATION || anchor.raw_seq == number(place)
    }

    fn message_of(&self, node: &Node) -> Option<Message> {
        let made = || self.make_message(node);
        node.message.clone().or_else(made)
    }
}

fn id(anchor: &EntryAnchor) -> EntryId {
    EntryId::from(anchor.entry_id.as_str())
}

fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use contextwire_engine::RewriteEntries;

    use crate::store::{
        EntryBody, MemoryStore, NativeId, NewEntry, RewriteTerms, TranscriptStore as _,
    };

    use super::*;

    fn said(id: &str, role: &str) -> NewEntry {
        let payload = format!(r#"{{"role":"{role}","content":"{id}"}}"#);
        NewEntry::message(payload, 0).with_id(NativeId::new(id).unwrap())
    }

    fn noted(id: &str) -> NewEntry {
        let body = EntryBody::Custom {
            custom_type: "cache-ttl".to_owned(),
            data: None,
        };
        NewEntry::new(body, 0).with_id(NativeId::new(id).unwrap())
    }

    async fn store(entries: impl IntoIterator<Item = NewEntry>) -> MemoryStore {
        let store = MemoryStore::with_entry_ids();
        store.append(entries.into_iter().collect()).await.unwrap();
        store
    }

    /// The ids of the turn's messages, or why there are none.
    async fn read(store: &MemoryStore, [first, last]: [&str; 2], events: usize) -> String {
        let ends = [first, last].map(|id| store.anchor(id.into()));
        let [first, last] = ends;
        let ends = (first.await.unwrap(), last.await.unwrap());
        let anchors = (ends.0.unwrap_or_default(), ends.1.unwrap_or_default());
        shown(store, anchors, events).await
    }

    async fn shown(
        store: &MemoryStore,
        (first, last): (EntryAnchor, EntryAnchor),
        events: usize,
    ) -> String {
        let limits = RangeLimits {
            events,
            ..RangeLimits::default()
        };
        match store.turn(first, last, limits).await.unwrap() {
            TurnRange::Messages(messages) => {
                let ids = messages.iter().map(|message| message.entry_id().as_str());
                ids.collect::<Vec<_>>().join(" ")
            }
            TurnRange::Unavailable(why) => why,
            TurnRange::Never(why) => why.to_string(),
        }
    }

    #[tokio::test]
    async fn c176_a_turn_is_the_messages_from_its_admission_through_its_last_entry() {
        let entries = [
            said("u0", "user"),
            said("u1", "user"),
            noted("n"),
            said("a1", "assistant"),
            said("u2", "user"),
        ];
        let store = store(entries).await;
        assert_eq!(read(&store, ["u1", "a1"], 9).await, "u1 a1");
        assert_eq!(read(&store, ["u1", "u1"], 9).await, "u1");
        let anchor = store.anchor("a1".into()).await.unwrap().unwrap();
        assert_eq!((anchor.raw_seq, anchor.active_message_position), (3, 2));
        assert_eq!(anchor.effective_parent_id.as_deref(), Some("n"));
    }

    #[tokio::test]
    async fn c187_an_admission_whose_number_is_anothers_is_stale() {
        let store = store([said("u1", "user"), said("a1", "assistant")]).await;
        let first = store.anchor("u1".into()).await.unwrap().unwrap();
        let last = store.anchor("a1".into()).await.unwrap().unwrap();
        let moved = EntryAnchor {
            raw_seq: 1,
            ..first.clone()
        };
        assert_eq!(shown(&store, (moved, last.clone()), 9).await, "stale");
        let gone = EntryAnchor {
            entry_id: "gone".to_owned(),
            ..first.clone()
        };
        assert_eq!(shown(&store, (gone, last.clone()), 9).await, "stale");
        // The numbers of another numbering say nothing here.
        let foreign = EntryAnchor {
            generation: "7".to_owned(),
            raw_seq: 400,
            ..first
        };
        assert_eq!(shown(&store, (foreign, last), 9).await, "u1 a1");
    }

    #[tokio::test]
    async fn c188_a_last_entry_on_a_sibling_branch_does_not_descend() {
        let store = store([
            said("u0", "user"),
            said("u1", "user"),
            said("a1", "assistant"),
        ])
        .await;
        let fork = NativeId::new("u0").unwrap();
        store.branch(Some(fork), 0).await.unwrap();
        store.append(vec![said("b1", "assistant")]).await.unwrap();
        assert_eq!(read(&store, ["u1", "b1"], 9).await, "non-descendant");
        // Ancestry counts, not the active branch.
        assert_eq!(read(&store, ["u1", "a1"], 9).await, "u1 a1");
    }

    #[tokio::test]
    async fn c189_the_limit_counts_what_is_no_message_too() {
        let rows = (0..64).map(|n| noted(&format!("n{n}")));
        let entries = std::iter::once(said("u1", "user"))
            .chain(rows)
            .chain([said("a1", "assistant")]);
        let store = store(entries).await;
        assert_eq!(read(&store, ["u1", "a1"], 65).await, "u1 a1");
        assert_eq!(read(&store, ["u1", "a1"], 64).await, "too-large");
        let limits = RangeLimits {
            bytes: 10,
            ..RangeLimits::default()
        };
        let ends = ["u1", "a1"].map(|id| EntryAnchor {
            entry_id: id.to_owned(),
            ..EntryAnchor::default()
        });
        let [first, last] = ends;
        let read = store.turn(first, last, limits).await.unwrap();
        assert!(matches!(read, TurnRange::Never(UnreadableTurn::TooLarge)));
    }

    #[tokio::test]
    async fn c190_broken_ancestry_is_found_only_within_the_limit() {
        let store = store([said("u1", "user"), said("a1", "assistant")]).await;
        store.branch(None, 0).await.unwrap();
        let sibling = ["x1", "x2", "x3"].map(|id| said(id, "assistant"));
        store.append(sibling.into()).await.unwrap();
        assert_eq!(read(&store, ["u1", "x3"], 3).await, "non-descendant");
        assert_eq!(read(&store, ["u1", "x3"], 2).await, "too-large");
    }

    #[tokio::test]
    async fn br_109_a_turn_whose_entries_were_rewritten_meanwhile_is_still_that_turn() {
        let store = store([
            said("u0", "user"),
            said("u1", "user"),
            said("a1", "assistant"),
        ])
        .await;
        let before = (
            store.anchor("u1".into()).await.unwrap().unwrap(),
            store.anchor("a1".into()).await.unwrap().unwrap(),
        );
        let short = Message::from_payload(r#"{"role":"user","content":"-"}"#);
        let request = RewriteEntries {
            replacements: vec![("u0".into(), short)],
            ..RewriteEntries::default()
        };
        let done = store.rewrite(request, RewriteTerms::at(0)).await.unwrap();
        assert!(done.changed);
        assert_eq!(shown(&store, before, 9).await, "u1 a1");
    }
}
