//! Where a conversation is cut: what stands before is summarised, what follows stays verbatim
//! (HOST-SEMANTICS 14).

use std::ops::Range;

use contextwire_engine::pairing::Pairing;

use crate::item::{Item, Role};

/// The places between messages at which a conversation may be parted: before a message that may
/// come first, and between no tool call and its result, however late that came.
#[derive(Debug)]
pub(crate) struct Places(Vec<bool>);

impl Places {
    pub(crate) fn of(items: &[Item]) -> Self {
        let pairing = Pairing::of(items.iter().map(|item| &item.message));
        // How many pairs begin (and end) before each message, to count those that are open there.
        let mut begun = vec![0usize; items.len() + 1];
        let mut ended = begun.clone();
        let count = |list: &mut Vec<usize>, at: usize| {
            if let Some(slot) = list.get_mut(at) {
                *slot += 1;
            }
        };
        for call in pairing.calls() {
            if let Some(result) = call.result {
                count(&mut begun, call.message.min(result) + 1);
                count(&mut ended, call.message.max(result) + 1);
            }
        }
        let mut open = 0usize;
        let places = items
            .iter()
            .zip(begun.iter().zip(&ended))
            .map(|(item, (begun, ended))| {
                open = (open + begun).saturating_sub(*ended);
                open == 0 && item.role.may_be_first()
            });
        Self(places.collect())
    }

    /// The places from a message on, counted from it.
    pub(crate) fn from(&self, start: usize) -> Self {
        Self(self.0.get(start..).unwrap_or_default().to_vec())
    }

    /// Whether the conversation may be parted before this message.
    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// The last place up to `at`; the beginning where there is none.
    fn back_from(&self, at: usize) -> usize {
        (0..=at).rev().find(|at| self.contains(*at)).unwrap_or(0)
    }
}

/// What is summarised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Whole turns.
    pub(crate) history: Range<usize>,
    /// The beginning of the turn whose rest stays; empty where no turn is split.
    pub(crate) prefix: Range<usize>,
}

impl Plan {
    /// The plan that keeps about `keep_recent` tokens of the newest messages; none where everything
    /// stays.
    pub(crate) fn of(
        items: &[Item],
        places: &Places,
        keep_recent: u64,
        protect_pending: bool,
    ) -> Option<Self> {
        let mut cut = places.back_from(last_passed(items, keep_recent)?);
        if let Some(pending) = pending_user(items).filter(|at| protect_pending && *at < cut) {
            cut = places.back_from(pending);
        }
        (cut > 0).then(|| Self::at(items, cut))
    }

    /// The plan that summarises everything before `cut`.
    fn at(items: &[Item], cut: usize) -> Self {
        let is_inside = items
            .get(cut)
            .is_some_and(|item| item.role == Role::Assistant);
        let before = items.get(..cut).unwrap_or_default();
        let start = before.iter().rposition(|item| item.role.begins_turn());
        let start = start.filter(|_| is_inside).unwrap_or(cut);
        Self {
            history: 0..start,
            prefix: start..cut,
        }
    }

    /// Index of the first message that stays.
    pub(crate) fn cut(&self) -> usize {
        self.prefix.end
    }
}

/// Walks back from the end until the messages passed weigh enough; the last one passed that may be
/// first. Where none was passed, the tail alone is too heavy, and the newest one that may be first
/// is it. None where no message may be first.
fn last_passed(items: &[Item], keep_recent: u64) -> Option<usize> {
    let mut weight = 0u64;
    let mut passed = None;
    for (index, item) in items.iter().enumerate().rev() {
        weight = weight.saturating_add(item.tokens);
        if item.role.may_be_first() {
            passed = Some(index);
        }
        if weight >= keep_recent && passed.is_some() {
            break;
        }
    }
    // Less than enough in all: everything stays.
    if weight < keep_recent {
        return passed.map(|_| 0);
    }
    passed
}

/// The newest user message, where no model has answered since.
pub(crate) fn pending_user(items: &[Item]) -> Option<usize> {
    let newest = items
        .iter()
        .rposition(|item| matches!(item.role, Role::User | Role::Assistant))?;
    items
        .get(newest)
        .is_some_and(|item| item.role == Role::User)
        .then_some(newest)
}

#[cfg(test)]
mod tests;
