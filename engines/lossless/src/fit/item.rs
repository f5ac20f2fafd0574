//! What an assembly shows, and why.

use std::fmt;

use contextwire_engine::Message;

use crate::node::NodeId;
use crate::span::Span;

/// One message of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The view's own, by index.
    Keep(usize),
    /// An entry that the view does not show, another form of one, or an invention.
    Insert(Message),
}

/// Why something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// An instruction at the head of the conversation.
    Lead,
    /// Part of the newest user message's turn.
    Newest,
    /// Pinned, or the other half of a pinned pair.
    Pinned,
    /// Among the newest entries.
    Tail,
    /// There is room for it.
    Room,
    /// A summary of the plan, of this depth.
    Summary(NodeId, u32),
    /// A note in place of what there is no room for.
    StandIn,
    /// A call has no result.
    NoResult,
    /// A list starts with a user message.
    Opening,
}

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Whole,
    /// Without what the reader must not see.
    Cleaned,
    /// Its head and tail, and a handle.
    Shortened,
    /// Nobody said it.
    Invented,
}

/// A message of the result with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The message.
    pub piece: Piece,
    /// Its estimated tokens.
    pub tokens: u32,
    /// Why it is there.
    pub why: Why,
    /// In which form.
    pub form: Form,
    /// The places of the log that it shows; none for what the log does not hold.
    pub places: Option<Span>,
    /// Messages that it stands for: 0 for an invention and for what a summary stands for as well.
    pub stands_for: u64,
}

impl fmt::Display for Item {
    /// The reason in words, as `in the newest turn, shortened`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::Lead => f.write_str("leading instructions")?,
            Why::Newest => f.write_str("in the newest turn")?,
            Why::Pinned => f.write_str("pinned")?,
            Why::Tail => f.write_str("in the fresh tail")?,
            Why::Room => f.write_str("fits the budget")?,
            Why::Summary(id, depth) => {
                write!(
                    f,
                    "{} of depth {depth}, {} messages",
                    id.handle(),
                    self.stands_for
                )?;
            }
            Why::StandIn => write!(f, "stands in for {} messages", self.stands_for)?,
            Why::NoResult => f.write_str("no result was recorded")?,
            Why::Opening => f.write_str("a list starts with a user message")?,
        }
        match self.form {
            Form::Cleaned => f.write_str(", cleaned for the provider"),
            Form::Shortened => f.write_str(", shortened"),
            Form::Whole | Form::Invented => Ok(()),
        }
    }
}

/// Why something is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It shows a model nothing.
    Blank,
    /// A poll of the host and the answer that nothing is due.
    Heartbeat,
    /// A result without its call.
    Orphan,
    /// The model is to answer, and this is an answer.
    Prefill,
    /// Not even a note about it fits.
    NoRoom,
    /// The newest turn alone is larger than the budget.
    NewestTooLarge,
    /// The store does not have it any more.
    Missing,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blank => "shows nothing",
            Self::Heartbeat => "a heartbeat without news",
            Self::Orphan => "a tool result without its call",
            Self::Prefill => "an answer where the model has to answer",
            Self::NoRoom => "not even a note about it fits the budget",
            Self::NewestTooLarge => "the newest turn is larger than the budget",
            Self::Missing => "not in the store any more",
        })
    }
}

/// Messages that are neither shown nor stood for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Their places, as far as the log holds them.
    pub places: Option<Span>,
    /// How many.
    pub messages: u64,
    /// Why.
    pub why: Left,
}
