//! Which containers a scan is inside of.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array,
}

impl Container {
    pub(super) fn close(self) -> (u8, &'static str) {
        match self {
            Self::Object => (b'}', "`,` or `}`"),
            Self::Array => (b']', "`,` or `]`"),
        }
    }
}

/// The open containers, one bit each, so that hostile nesting costs an eighth of its own size.
#[derive(Default)]
pub(super) struct Nesting {
    words: Vec<u64>,
    depth: usize,
}

impl Nesting {
    pub(super) fn enter(&mut self, container: Container) {
        let (word, bit) = (self.depth / 64, 1u64 << (self.depth % 64));
        if word == self.words.len() {
            self.words.push(0);
        }
        if let Some(word) = self.words.get_mut(word) {
            match container {
                Container::Object => *word |= bit,
                Container::Array => *word &= !bit,
            }
        }
        self.depth += 1;
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn innermost(&self) -> Option<Container> {
        let last = self.depth.checked_sub(1)?;
        let is_object = self.words.get(last / 64)? & (1 << (last % 64)) != 0;
        Some(if is_object {
            Container::Object
        } else {
            Container::Array
        })
    }
}
