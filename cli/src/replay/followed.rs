//! A transcript that follows the views of a session.

use contextwire_engine::{Message, Transcript};

use crate::session::View;

/// The messages of the view that was shown last; one that goes on costs what is new.
#[derive(Debug, Default)]
pub(super) struct Followed {
    list: Transcript,
    shown: Option<View>,
}

impl Followed {
    /// Makes the transcript what the view shows.
    pub(super) fn follow(&mut self, view: &View) -> Transcript {
        let added: Option<Vec<Message>> = self.shown.as_ref().and_then(|shown| {
            let added = view.added_since(shown)?;
            Some(added.map(|message| message.message().clone()).collect())
        });
        match added {
            Some(new) => self.list.extend(new),
            None => self.list = view.messages().map(|m| m.message().clone()).collect(),
        }
        self.shown = Some(view.clone());
        self.list.clone()
    }
}
