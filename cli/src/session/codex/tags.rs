//! The types of entries, each of them in memory once.

use std::sync::Arc;

/// Types that are remembered: there are fewer than that, and a file with more is no rollout's.
const MOST: usize = 64;

/// Types that came so far.
#[derive(Debug, Default)]
pub(super) struct Tags(Vec<Tag>);

#[derive(Debug)]
struct Tag {
    record: Box<str>,
    inner: Option<Box<str>>,
    whole: Arc<str>,
}

impl Tags {
    /// The type of a record that holds something of another type: `event_msg/token_count`.
    pub(super) fn of(&mut self, record: &str, inner: Option<&str>) -> Arc<str> {
        let is_it = |tag: &&Tag| &*tag.record == record && tag.inner.as_deref() == inner;
        if let Some(tag) = self.0.iter().find(is_it) {
            return Arc::clone(&tag.whole);
        }
        let whole: Arc<str> = match inner {
            Some(inner) => format!("{record}/{inner}").into(),
            None => record.into(),
        };
        if self.0.len() < MOST {
            self.0.push(Tag {
                record: record.into(),
                inner: inner.map(Box::from),
                whole: Arc::clone(&whole),
            });
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_told_by_both_of_its_parts_and_kept_once() {
        let mut tags = Tags::default();
        let first = tags.of("event_msg", Some("token_count"));
        assert_eq!(&*first, "event_msg/token_count");
        assert!(Arc::ptr_eq(
            &first,
            &tags.of("event_msg", Some("token_count"))
        ));
        assert_eq!(&*tags.of("event_msg", None), "event_msg");
        for number in 0..1_000 {
            tags.of("event_msg", Some(&number.to_string()));
        }
        assert_eq!(tags.0.len(), MOST);
    }
}
