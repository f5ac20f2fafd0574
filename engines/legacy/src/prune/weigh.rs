//! Sizes in characters, as the pruning counts them (HOST-SEMANTICS 13).

use crate::body::{Body, Part};
use crate::item::Role;

const IMAGE: u64 = 8_000;
/// A message whose content is not looked at.
const OTHER: u64 = 256;

/// Characters of a message in a prompt.
pub(super) fn message(body: &Body, role: Role) -> u64 {
    match role {
        Role::User | Role::Assistant | Role::Result => body.parts.iter().map(part).sum(),
        Role::Shell
        | Role::Custom
        | Role::BranchSummary
        | Role::CompactionSummary
        | Role::Aside => OTHER,
    }
}

pub(super) fn text(text: &str) -> u64 {
    text.chars().count() as u64
}

fn part(part: &Part) -> u64 {
    match part {
        Part::Text(inner) | Part::Thinking(inner) | Part::Other(inner) => text(inner),
        Part::Call(call) => text(&call.name) + text(&call.arguments),
        Part::Image(_) => IMAGE,
    }
}
