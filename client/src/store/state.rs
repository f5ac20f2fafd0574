//! What every store does: plan against the tree, write, and only then let readers see it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use contextwire_engine::{
    EntryAnchor, EntryId, ReadTranscript, RewriteEntries, Rewritten, Transcript, TranscriptPage,
    TranscriptState,
};
use tokio::sync::watch;

use super::entry::{self, Entry, Parsed};
use super::error::StoreError;
use super::id::NativeId;
use super::new_entry::{self, NewEntry};
use super::page;
use super::rewrite::{self, RewriteTerms, Verdict};
use super::tree::Tree;
use super::turn::{RangeLimits, TurnRange};

/// The active branch after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreChange {
    /// The log.
    pub head: TranscriptState,
    /// Another number means that the log was not only appended to: rewritten, branched or reset.
    pub generation: u64,
}

/// Where lines go before readers see them. Whoever holds it is the only writer.
pub(super) trait Journal {
    /// Writes whole lines.
    ///
    /// # Errors
    /// [`StoreError::Io`], and none of them is there unless the sync failed, after which only a
    /// restart tells; [`StoreError::Broken`].
    fn write(&mut self, lines: &[Bytes], step: Step) -> Result<(), StoreError>;

    /// Readers see what was written. Until this is said the journal takes nothing more: what it
    /// holds and what readers see would part.
    fn settled(&mut self);
}

/// How much a write has to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// As much as the store promises for appends.
    Append,
    /// On disk before anybody hears of it.
    Durable,
}

/// The state of a store.
#[derive(Debug)]
pub(super) struct State {
    tree: RwLock<Tree>,
    changes: watch::Sender<StoreChange>,
}

impl State {
    pub(super) fn new(tree: Tree) -> Self {
        let (changes, _) = watch::channel(change(&tree));
        Self {
            tree: RwLock::new(tree),
            changes,
        }
    }

    pub(super) fn append(
        &self,
        journal: &mut impl Journal,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>, StoreError> {
        let lines = new_entry::lines(&self.tree(), entries)?;
        let (ids, lines): (Vec<NativeId>, Vec<Bytes>) = lines.into_iter().unzip();
        self.write(journal, &lines, Step::Append)?;
        Ok(ids.iter().map(NativeId::lineage).collect())
    }

    pub(super) fn branch(
        &self,
        journal: &mut impl Journal,
        after: Option<&NativeId>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        if let Some(id) = after
            && !self.tree().contains(id)
        {
            let id = id.as_str().to_owned();
            return Err(StoreError::UnknownEntry { id });
        }
        if self.tree().leaf().map(Entry::id) == after {
            return Ok(());
        }
        let line = rewrite::leaf_line(after, now_ms);
        self.write(journal, &[line], Step::Durable)
    }

    pub(super) fn rewrite(
        &self,
        journal: &mut impl Journal,
        request: &RewriteEntries,
        terms: &RewriteTerms,
    ) -> Result<Rewritten, StoreError> {
        let verdict = rewrite::plan(&self.tree(), request, terms)?;
        let plan = match verdict {
            Verdict::Unchanged(reason) => {
                return Ok(Rewritten {
                    reason: Some(reason.to_owned()),
                    head: self.log().state(),
                    ..Rewritten::default()
                });
            }
            Verdict::Changed(plan) => plan,
        };
        terms.check_owner()?;
        // The leaf's line commits the rewrite, so everything that it names has to be on disk first.
        self.write(journal, &plan.beside, Step::Durable)?;
        self.write(journal, &[plan.leaf], Step::Durable)?;
        Ok(Rewritten {
            changed: true,
            bytes_freed: plan.bytes_freed,
            rewritten_entries: plan.rewritten_entries,
            reason: None,
            head: self.log().state(),
        })
    }

    pub(super) fn log(&self) -> Transcript {
        self.tree().branch.log().clone()
    }

    pub(super) fn log_ids(&self) -> Vec<EntryId> {
        let tree = self.tree();
        let ids = tree.logged().map(|entry| entry.entry_id().clone());
        ids.collect()
    }

    pub(super) fn context(&self) -> Transcript {
        self.tree().context().clone()
    }

    pub(super) fn read(&self, request: &ReadTranscript) -> Result<TranscriptPage, StoreError> {
        page::read(&self.tree(), request)
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.tree().entries_from(0).cloned().collect()
    }

    pub(super) fn anchor(&self, entry: &EntryId) -> Option<EntryAnchor> {
        self.tree().anchor(entry)
    }

    pub(super) fn turn(
        &self,
        admission: &EntryAnchor,
        terminal: &EntryAnchor,
        limits: RangeLimits,
    ) -> TurnRange {
        self.tree().turn(admission, terminal, limits)
    }

    pub(super) fn changes(&self) -> watch::Receiver<StoreChange> {
        self.changes.subscribe()
    }

    fn write(
        &self,
        journal: &mut impl Journal,
        lines: &[Bytes],
        step: Step,
    ) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        journal.write(lines, step)?;
        let mut tree = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        insert(&mut tree, lines)?;
        tree.settle();
        let now = change(&tree);
        drop(tree);
        self.changes.send_if_modified(|known| {
            let before = std::mem::replace(known, now);
            before != now
        });
        journal.settled();
        Ok(())
    }

    fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes lines in as a restart would read them, so that the two cannot differ.
fn insert(tree: &mut Tree, lines: &[Bytes]) -> Result<(), StoreError> {
    for line in lines {
        if let Ok(Parsed::Entry(entry)) = entry::parse(line)
            && tree.insert(entry).is_ok()
        {
            continue;
        }
        // A line of this store's own making: only a defect gets here, and a restart finds it.
        return Err(StoreError::Broken);
    }
    Ok(())
}

fn change(tree: &Tree) -> StoreChange {
    StoreChange {
        head: tree.branch.log().state(),
        generation: tree.generation(),
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;
    use crate::store::tree::EntryIds;

    /// Notes what it was asked to write, and refuses one of the writes.
    #[derive(Default)]
    struct Noted {
        writes: Vec<(usize, Step)>,
        refuses: Option<usize>,
    }

    impl Journal for Noted {
        fn write(&mut self, lines: &[Bytes], step: Step) -> Result<(), StoreError> {
            if self.refuses == Some(self.writes.len()) {
                return Err(StoreError::Broken);
            }
            self.writes.push((lines.len(), step));
            Ok(())
        }

        fn settled(&mut self) {}
    }

    fn two_messages(journal: &mut Noted) -> State {
        let state = State::new(Tree::new(EntryIds::Sent));
        let row = |id| NewEntry::message("{}", 0).with_id(NativeId::new(id).unwrap());
        state.append(journal, &[row("a"), row("b")]).unwrap();
        state
    }

    fn rewrite_a(state: &State, journal: &mut Noted) -> Result<Rewritten, StoreError> {
        let request = RewriteEntries {
            replacements: vec![("a".into(), Message::from_payload("{\"a\":1}"))],
            ..RewriteEntries::default()
        };
        state.rewrite(journal, &request, &RewriteTerms::at(0))
    }

    #[test]
    fn a_rewrite_is_on_disk_before_the_line_that_commits_it_and_that_before_the_answer() {
        let mut journal = Noted::default();
        let state = two_messages(&mut journal);
        assert!(rewrite_a(&state, &mut journal).unwrap().changed);
        state.branch(&mut journal, None, 0).unwrap();
        let expected = [
            (2, Step::Append),
            (2, Step::Durable),
            (1, Step::Durable),
            (1, Step::Durable),
        ];
        assert_eq!(journal.writes, expected);
    }

    #[test]
    fn a_rewrite_that_could_not_be_committed_did_not_happen() {
        for refuses in [1, 2] {
            let mut journal = Noted::default();
            let state = two_messages(&mut journal);
            let before = (state.log(), *state.changes().borrow());
            journal.refuses = Some(refuses);
            assert!(rewrite_a(&state, &mut journal).is_err());
            assert_eq!((state.log(), *state.changes().borrow()), before);
            journal.refuses = None;
            assert!(rewrite_a(&state, &mut journal).unwrap().changed);
            assert_eq!(state.log().len(), 2);
        }
    }
}
