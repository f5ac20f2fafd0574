//! A summary: a text that stands for a run of the log.
//!
//! A leaf stands for entries, a condensed one for summaries. Its id is a hash of its text and its
//! sources, so that the same conversation and the same answers of a model give the same ids on every
//! machine. What a node says never changes; only its [`NodeState`] does.

mod message;

use std::fmt;
use std::sync::OnceLock;

use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{Digest, Message};

use crate::identity::Identity;
use crate::span::Span;

/// Identity of a node: the hash of its text, its sources and their place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub Digest);

impl NodeId {
    /// What the model is shown as a handle: `sum:` and twelve hexadecimal digits.
    pub fn handle(self) -> String {
        let hex = self.0.to_string();
        format!("sum:{}", hex.get(..12).unwrap_or_default())
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.handle())
    }
}

/// What a node was made of, in the order of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sources {
    /// A leaf: digest of each entry of the span.
    Entries(Vec<Digest>),
    /// A condensed node: the nodes whose spans make up the span.
    Nodes(Vec<NodeId>),
}

/// Who wrote a node's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// A model.
    Model {
        /// Who was asked: `host`, `openai`.
        summarizer: String,
        /// Which model answered, where that is known.
        model: Option<String>,
        /// Version of the prompt of compaction.
        prompt_version: u32,
        /// The user's own words for the compaction that wrote it.
        instructions: Option<String>,
    },
    /// No model is configured: quotes, and the text says so.
    Extract,
    /// A model failed when room had to be made: quotes, to be replaced by a summary later.
    Provisional,
}

impl Provenance {
    /// What stands for it in ids and records: `model`, `extract`, `provisional`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Model { .. } => "model",
            Self::Extract => "extract",
            Self::Provisional => "provisional",
        }
    }
}

/// What may be done with a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeState {
    /// It may stand in a plan.
    #[default]
    Sound,
    /// It may stand in a plan, and a better text is wanted.
    Repair,
    /// A newer node took its place; kept for plans of before.
    Replaced,
    /// Something that it was made of was erased: it may not be shown again.
    Erased,
}

impl NodeState {
    /// What records call it: `sound`, `repair`, `replaced`, `erased`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Repair => "repair",
            Self::Replaced => "replaced",
            Self::Erased => "erased",
        }
    }
}

/// What a node is made of; a store keeps these columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeParts {
    /// 0 for a leaf; for a condensed node one more than the deepest of its sources.
    pub depth: u32,
    /// What it stands for.
    pub span: Span,
    /// What it was made of.
    pub sources: Sources,
    /// The summary.
    pub text: String,
    /// Estimated tokens of the entries that it stands for, however deep it is.
    pub source_tokens: u64,
    /// Time of the first and the last of them, in milliseconds since the Unix epoch, where known.
    pub times: Option<(i64, i64)>,
    /// Who wrote it.
    pub provenance: Provenance,
}

/// Leaf or condensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Over entries.
    Leaf,
    /// Over summaries.
    Condensed,
}

/// A summary with its identity. Equal ids, equal nodes.
#[derive(Clone)]
pub struct SummaryNode {
    id: NodeId,
    parts: NodeParts,
    state: NodeState,
    message: OnceLock<Message>,
}

impl SummaryNode {
    /// A new node, under the id that its parts give. One with a provisional text is in
    /// [`NodeState::Repair`] from the start.
    pub fn new(parts: NodeParts) -> Self {
        let state = match parts.provenance {
            Provenance::Provisional => NodeState::Repair,
            Provenance::Model { .. } | Provenance::Extract => NodeState::Sound,
        };
        Self::stored(id_of(&parts), parts, state)
    }

    /// A node as it was stored. [`SummaryNode::is_genuine`] says whether the id is that of the parts.
    pub fn stored(id: NodeId, parts: NodeParts, state: NodeState) -> Self {
        Self {
            id,
            parts,
            state,
            message: OnceLock::new(),
        }
    }

    /// The same node in another state.
    #[must_use]
    pub fn in_state(self, state: NodeState) -> Self {
        Self { state, ..self }
    }

    /// Its identity.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// What it is made of.
    pub fn parts(&self) -> &NodeParts {
        &self.parts
    }

    /// What may be done with it.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// Leaf or condensed.
    pub fn kind(&self) -> NodeKind {
        match self.parts.sources {
            Sources::Entries(_) => NodeKind::Leaf,
            Sources::Nodes(_) => NodeKind::Condensed,
        }
    }

    /// 0 for a leaf.
    pub fn depth(&self) -> u32 {
        self.parts.depth
    }

    /// What it stands for.
    pub fn span(&self) -> Span {
        self.parts.span
    }

    /// The summary.
    pub fn text(&self) -> &str {
        &self.parts.text
    }

    /// Whether a model still has to write it.
    pub fn is_provisional(&self) -> bool {
        self.parts.provenance == Provenance::Provisional
    }

    /// Whether the id is that of the parts; false says that a store damaged them.
    pub fn is_genuine(&self) -> bool {
        self.id == id_of(&self.parts)
    }

    /// What the model is shown of it: a message in the host's schema, the same bytes every time.
    pub fn message(&self) -> &Message {
        self.message.get_or_init(|| message::of(self))
    }

    /// Estimated tokens of [`SummaryNode::message`].
    pub fn tokens(&self, family: ModelFamily) -> u32 {
        estimate_message(family, self.message())
    }

    /// Identity of the work, whatever its outcome: what the node was to stand for, of which sources
    /// and under which instructions. A store finds a finished node of an interrupted compaction by it.
    pub fn source_key(&self) -> Digest {
        let instructions = match &self.parts.provenance {
            Provenance::Model { instructions, .. } => instructions.as_deref(),
            Provenance::Extract | Provenance::Provisional => None,
        };
        source_key(self.parts.span, &self.parts.sources, instructions)
    }
}

impl PartialEq for SummaryNode {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.parts == other.parts && self.state == other.state
    }
}

impl Eq for SummaryNode {}

impl fmt::Debug for SummaryNode {
    /// Never shows the text: it is content of the conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryNode")
            .field("id", &self.id)
            .field("depth", &self.parts.depth)
            .field("span", &self.parts.span)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The key under which [`SummaryNode::source_key`] finds a node, of the work alone.
pub fn source_key(span: Span, sources: &Sources, instructions: Option<&str>) -> Digest {
    with_sources(Identity::of("work"), span, sources)
        .text(instructions.unwrap_or_default())
        .finish()
}

fn id_of(parts: &NodeParts) -> NodeId {
    let identity = Identity::of("summary")
        .number(u64::from(parts.depth))
        .text(parts.provenance.name())
        .text(&parts.text);
    NodeId(with_sources(identity, parts.span, &parts.sources).finish())
}

fn with_sources(identity: Identity, span: Span, sources: &Sources) -> Identity {
    let identity = identity.number(span.start).number(span.end);
    match sources {
        Sources::Entries(digests) => digests
            .iter()
            .fold(identity.text("entries"), |identity, digest| {
                identity.digest(*digest)
            }),
        Sources::Nodes(ids) => ids
            .iter()
            .fold(identity.text("nodes"), |identity, id| identity.digest(id.0)),
    }
}

#[cfg(test)]
mod tests;
