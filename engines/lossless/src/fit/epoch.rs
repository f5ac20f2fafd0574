//! Identity of what is injected into a persistent thread (R10.1).

use contextwire_engine::Digest;

use super::element::Element;
use super::item::Item;
use crate::identity::Identity;
use crate::node::NodeId;

/// The summaries and pins that are shown, in order. Entries that are appended never change it, nor
/// does anything that a store numbers by itself (E03).
pub(crate) struct Epoch(Identity);

impl Default for Epoch {
    fn default() -> Self {
        Self(Identity::of("epoch"))
    }
}

impl Epoch {
    pub(crate) fn show(&mut self, element: &Element) {
        if let Some(id) = element.summary_id() {
            self.add("summary", id.0);
        }
        for pin in &element.pins {
            self.add("pin", *pin);
        }
    }

    /// A line of a note about a summary.
    pub(crate) fn brief(&mut self, id: Option<NodeId>) {
        if let Some(id) = id {
            self.add("brief", id.0);
        }
    }

    fn add(&mut self, kind: &str, digest: Digest) {
        self.0 = self.0.clone().text(kind).digest(digest);
    }

    pub(crate) fn finish(self) -> String {
        self.0.finish().to_string()
    }
}

/// The epoch and the corrections to what is shown verbatim.
pub(crate) fn fingerprint(epoch: &str, items: &[Item], corrections: &[(u64, Digest)]) -> String {
    let is_shown = |place: u64| {
        let mut verbatim = items
            .iter()
            .filter(|item| !matches!(item.why, super::Why::Summary(..) | super::Why::StandIn));
        verbatim.any(|item| item.places.is_some_and(|span| span.contains(place)))
    };
    corrections
        .iter()
        .filter(|(place, _)| is_shown(*place))
        .fold(
            Identity::of("fingerprint").text(epoch),
            |identity, (place, digest)| identity.number(*place).digest(*digest),
        )
        .finish()
        .to_string()
}
