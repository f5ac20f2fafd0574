//! The ids that entries have in a tree: their own, and made up ones where a list has none.

use std::collections::HashSet;

use contextwire_engine::json::quote;

use super::super::entry::Entry;

/// The ids of a session's entries. Made up ones are eight hexadecimal digits as hosts make them,
/// here counted on, so that a file becomes the same every time.
pub(super) struct Ids<'a> {
    own: Vec<Option<&'a str>>,
    taken: HashSet<&'a str>,
}

impl<'a> Ids<'a> {
    pub(super) fn of(entries: &'a [Entry]) -> Self {
        let own: Vec<_> = entries.iter().map(Entry::id).collect();
        let taken = own.iter().copied().flatten().collect();
        Self { own, taken }
    }

    /// The id of an entry as JSON. Behind the last entry there is an id for one more.
    pub(super) fn quoted(&self, index: usize) -> String {
        if let Some(id) = self.own.get(index).copied().flatten() {
            return quote(id);
        }
        let mut id = format!("{index:08x}");
        while self.taken.contains(id.as_str()) {
            id.push('x');
        }
        quote(&id)
    }
}
