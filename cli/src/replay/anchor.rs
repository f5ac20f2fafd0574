//! Where the entries of a recorded session stand: what a host's store would say of them.

use std::collections::HashMap;

use contextwire_engine::{CommitTurn, EntryAnchor, Message, RuntimeContext, TurnAdmission};

use crate::session::{ContextMessage, Session as Recording};

/// A recording has no agent, no store and one generation; these stand in.
const AGENT: &str = "replay";
const STORE: &str = "recording";
const GENERATION: &str = "1";

/// The places of a session's messages, by their keys.
#[derive(Debug)]
pub(super) struct Anchors {
    session_id: String,
    places: HashMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    parent: Option<String>,
    position: i64,
}

impl Anchors {
    /// Of the recording's active branch.
    pub(super) fn of(recording: &Recording, session_id: &str) -> Self {
        let mut places = HashMap::new();
        let mut parent = None;
        let mut position = 0;
        for entry in recording.active_branch() {
            // A compaction's message stands at the head of a context, not in the entry's place.
            let in_place = entry
                .message()
                .filter(|message| message.role() != "compactionSummary");
            if let Some(message) = in_place {
                let place = Place {
                    parent: parent.clone(),
                    position,
                };
                places.insert(message.key(), place);
                position += 1;
            }
            parent = entry.id().map(str::to_owned);
        }
        Self {
            session_id: session_id.to_owned(),
            places,
        }
    }

    fn anchor(&self, message: &ContextMessage) -> EntryAnchor {
        let place = self.places.get(&message.key());
        EntryAnchor {
            agent_id: AGENT.to_owned(),
            session_id: self.session_id.clone(),
            session_key: self.session_id.clone(),
            store_path: STORE.to_owned(),
            generation: GENERATION.to_owned(),
            entry_id: message.entry_id().unwrap_or_default().to_owned(),
            raw_seq: i64::try_from(message.line()).unwrap_or(i64::MAX),
            effective_parent_id: place.and_then(|place| place.parent.clone()),
            active_message_position: place.map_or(0, |place| place.position),
            idempotency_key: None,
        }
    }

    /// The commit of a closed turn: its user message, and everything up to the next one.
    pub(super) fn commit(
        &self,
        number: usize,
        messages: &[&ContextMessage],
        context: RuntimeContext,
    ) -> Option<CommitTurn> {
        let (first, last) = (messages.first()?, messages.last()?);
        let id = first
            .entry_id()
            .map_or_else(|| format!("turn-{number}"), str::to_owned);
        let messages: Vec<Message> = messages
            .iter()
            .map(|message| message.message().clone())
            .collect();
        Some(CommitTurn {
            runtime_settings: None,
            runtime_context: Some(context),
            advancement_key: id.clone(),
            admission: TurnAdmission {
                anchor: self.anchor(first),
                logical_turn_id: id,
                role: "user".to_owned(),
            },
            terminal: self.anchor(last),
            messages,
            is_heartbeat: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{HistoryView, Strictness, read_from};

    fn recording(lines: &[&str]) -> Recording {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let text = std::iter::once(&header)
            .chain(lines)
            .copied()
            .collect::<Vec<_>>()
            .join("\n");
        read_from(text.as_bytes(), Strictness::Strict).unwrap()
    }

    fn first_commit(recording: &Recording) -> CommitTurn {
        let end = recording.view(HistoryView::Full);
        let messages: Vec<_> = end.messages().map(AsRef::as_ref).collect();
        Anchors::of(recording, "s")
            .commit(1, &messages, RuntimeContext::default())
            .unwrap()
    }

    #[test]
    fn c176_a_commit_names_its_turn_by_the_user_entry_and_both_ends_by_their_places() {
        let commit = first_commit(&recording(&[
            r#"{"type":"model_change","id":"m1","parentId":null,"provider":"p","modelId":"m"}"#,
            r#"{"type":"message","id":"u1","parentId":"m1","message":{"role":"user"}}"#,
            r#"{"type":"label","id":"l1","parentId":"u1","targetId":"u1","label":"x"}"#,
            r#"{"type":"message","id":"a1","parentId":"l1","message":{"role":"assistant"}}"#,
        ]));
        assert_eq!(commit.advancement_key, "u1");
        assert_eq!(commit.admission.logical_turn_id, "u1");
        assert_eq!(commit.admission.role, "user");
        let admission = &commit.admission.anchor;
        assert_eq!(
            (
                admission.entry_id.as_str(),
                admission.raw_seq,
                admission.active_message_position
            ),
            ("u1", 3, 0)
        );
        assert_eq!(admission.effective_parent_id.as_deref(), Some("m1"));
        let terminal = &commit.terminal;
        assert_eq!(
            (
                terminal.entry_id.as_str(),
                terminal.raw_seq,
                terminal.active_message_position
            ),
            ("a1", 5, 1)
        );
        assert_eq!(terminal.effective_parent_id.as_deref(), Some("l1"));
        assert_eq!(commit.messages.len(), 2);
    }

    #[test]
    fn a_session_without_ids_names_its_turns_by_number() {
        let commit = first_commit(&recording(&[
            r#"{"type":"message","message":{"role":"user"}}"#,
        ]));
        assert_eq!(commit.advancement_key, "turn-1");
        assert_eq!(commit.admission.anchor.entry_id, "");
        assert_eq!(commit.admission.anchor.effective_parent_id, None);
    }
}
