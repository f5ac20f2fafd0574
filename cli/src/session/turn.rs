//! User turns, and the context that a host would hand to an engine at each of them.

use std::ops::Range;
use std::sync::Arc;

use super::branch::{Boundary, Branch, Item, Mark};
use super::message::ContextMessage;

/// Which history an engine is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryView {
    /// Everything since the last reset. Recorded compactions are ignored, because an engine that
    /// owns the window must see what it decides about.
    #[default]
    Full,
    /// What the host handed over at the time: the newest summary so far, or what else its
    /// compaction put in the place of the past, what the compaction kept, and everything after.
    Recorded,
}

/// One user turn: a user message of the active branch, at the moment before it is answered.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Counted from 1.
    pub number: usize,
    /// The user message.
    pub user: Arc<ContextMessage>,
    /// Whether an assistant message follows before the next turn.
    pub answered: bool,
    /// The context, the user message included as its last message.
    pub view: View,
}

/// The messages that a model sees at one moment, oldest first. Cheap to clone: all views of a
/// session share its messages.
#[derive(Clone)]
pub struct View {
    items: Arc<[Item]>,
    window: Window,
    end: usize,
}

/// Which part of a branch is in sight.
#[derive(Clone, Default)]
struct Window {
    /// What stands before the recorded messages: the summary of a compaction.
    head: Arc<[Arc<ContextMessage>]>,
    start: usize,
    /// Items that a reset kept on purpose, excluded ones as well.
    retained: Range<usize>,
}

impl Window {
    fn after(boundary: &Boundary) -> Self {
        let Boundary { head, kept, at } = boundary;
        let retained = if head.is_some() { 0..0 } else { *kept..*at };
        Self {
            head: head.clone().unwrap_or_default(),
            start: *kept,
            retained,
        }
    }
}

impl View {
    /// The messages, oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Arc<ContextMessage>> {
        self.window
            .head
            .iter()
            .chain(self.recorded(self.window.start))
    }

    /// The messages that this view has after all of those of `earlier`; `None` when it does not
    /// start with them, as after a compaction or a reset.
    pub fn added_since<'a>(
        &'a self,
        earlier: &View,
    ) -> Option<impl Iterator<Item = &'a Arc<ContextMessage>>> {
        let (head, its_head) = (&self.window.head, &earlier.window.head);
        let same_head = Arc::ptr_eq(head, its_head) || (head.is_empty() && its_head.is_empty());
        let extends = Arc::ptr_eq(&self.items, &earlier.items)
            && same_head
            && self.window.start == earlier.window.start
            && self.window.retained == earlier.window.retained
            && earlier.end <= self.end;
        extends.then(|| self.recorded(earlier.end))
    }

    /// The messages that were recorded after this view and up to the end of a later one of the same
    /// session, whatever was compacted or reset in between.
    pub fn recorded_until<'a>(
        &self,
        later: &'a View,
    ) -> impl Iterator<Item = &'a Arc<ContextMessage>> {
        let items = later.items.iter().take(later.end).skip(self.end);
        items
            .filter(|item| !item.excluded)
            .map(|item| &item.message)
    }

    /// The messages of the branch from this item on.
    fn recorded(&self, start: usize) -> impl Iterator<Item = &Arc<ContextMessage>> {
        let items = self.items.iter().enumerate().take(self.end).skip(start);
        items
            .filter(|(index, item)| !item.excluded || self.window.retained.contains(index))
            .map(|(_, item)| &item.message)
    }
}

impl std::fmt::Debug for View {
    /// Never shows a payload.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("messages", &self.messages().count())
            .field("has_summary", &!self.window.head.is_empty())
            .finish_non_exhaustive()
    }
}

impl Branch {
    /// Walks the branch as it happened: a turn sees only what stands before it.
    pub(super) fn turns(&self, history: HistoryView) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut window = Window::default();
        for mark in &self.marks {
            match mark {
                Mark::Boundary(boundary) => {
                    if counts(boundary, history) {
                        window = Window::after(boundary);
                    }
                }
                Mark::Turn { user, end } => turns.push(Turn {
                    number: turns.len() + 1,
                    user: Arc::clone(user),
                    answered: false,
                    view: self.view(window.clone(), *end),
                }),
                Mark::Answer => {
                    if let Some(turn) = turns.last_mut() {
                        turn.answered = true;
                    }
                }
            }
        }
        turns
    }

    /// What the host would hand over for the next turn.
    pub(super) fn newest_view(&self, history: HistoryView) -> View {
        let boundaries = self.marks.iter().rev().filter_map(|mark| match mark {
            Mark::Boundary(boundary) => Some(boundary),
            Mark::Turn { .. } | Mark::Answer => None,
        });
        let last = boundaries
            .into_iter()
            .find(|boundary| counts(boundary, history));
        self.view(
            last.map(Window::after).unwrap_or_default(),
            self.items.len(),
        )
    }

    fn view(&self, window: Window, end: usize) -> View {
        View {
            items: Arc::clone(&self.items),
            window,
            end,
        }
    }
}

fn counts(boundary: &Boundary, history: HistoryView) -> bool {
    match history {
        HistoryView::Recorded => true,
        HistoryView::Full => boundary.head.is_none(),
    }
}

#[cfg(test)]
mod tests;
