//! What an operator sees of a stored log; the rest of what operators ask is in the files below.

mod change;
mod explain;
mod look;

use bytes::Bytes;
use contextwire_engine::{Digest, EntryId, SessionId, StoredEntry, StoredLog, TranscriptState};

pub use self::explain::{ExplainReader, explained};
pub use self::look::{PlanReader, listed, planned};

use super::call::session_id;
use super::message::digest;
use super::{At, ConvertError, each, optional};
use crate::v1;

/// Entries in one message.
const ENTRIES: usize = 1000;

/// A log in as many messages as it takes; `None` is not stored.
pub fn inspected(log: Option<StoredLog>) -> Vec<v1::InspectSessionResponse> {
    let Some(StoredLog {
        entries,
        placed,
        total,
    }) = log
    else {
        return vec![v1::InspectSessionResponse::default()];
    };
    let mut entries = entries.into_iter().map(Into::into).peekable();
    let mut messages = vec![v1::InspectSessionResponse {
        placed: Some(placed.into()),
        total: Some(total.into()),
        entries: entries.by_ref().take(ENTRIES).collect(),
    }];
    while entries.peek().is_some() {
        messages.push(v1::InspectSessionResponse {
            entries: entries.by_ref().take(ENTRIES).collect(),
            ..v1::InspectSessionResponse::default()
        });
    }
    messages
}

/// A log while its messages come in.
#[derive(Debug, Default)]
pub struct Inspection {
    log: Option<StoredLog>,
    begun: bool,
}

impl Inspection {
    /// Takes the next message.
    ///
    /// # Errors
    /// When it means nothing.
    pub fn read(&mut self, message: v1::InspectSessionResponse) -> Result<(), ConvertError> {
        let v1::InspectSessionResponse {
            placed,
            total,
            entries,
        } = message;
        if !self.begun {
            self.begun = true;
            let total: Option<TranscriptState> = optional(total, "total")?;
            let placed = optional(placed, "placed")?.unwrap_or(TranscriptState::EMPTY);
            self.log = total.map(|total| StoredLog {
                entries: Vec::new(),
                placed,
                total,
            });
        }
        let entries: Vec<StoredEntry> = each(entries, "entries")?;
        if let Some(log) = &mut self.log {
            log.entries.extend(entries);
        }
        Ok(())
    }

    /// The whole; `None` is not stored.
    pub fn finish(self) -> Option<StoredLog> {
        self.log
    }
}

/// A list in pieces of at most so many elements, the first one however short.
fn pieces<T>(all: Vec<T>, most: usize) -> Vec<Vec<T>> {
    let mut all = all.into_iter().peekable();
    let mut pieces = vec![all.by_ref().take(most).collect()];
    while all.peek().is_some() {
        pieces.push(all.by_ref().take(most).collect());
    }
    pieces
}

/// Which session an operator means.
///
/// # Errors
/// When it cannot be the id of one.
pub fn session(id: String) -> Result<SessionId, ConvertError> {
    session_id(id).at("session_id")
}

/// An optional text where the wire has an empty one.
fn text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl From<StoredEntry> for v1::StoredEntry {
    fn from(entry: StoredEntry) -> Self {
        let StoredEntry {
            entry_id,
            digest,
            turn,
            erased,
        } = entry;
        Self {
            entry_id: entry_id.as_str().to_owned(),
            digest: Bytes::copy_from_slice(&digest.0),
            turn: turn.unwrap_or_default(),
            erased,
        }
    }
}

impl TryFrom<v1::StoredEntry> for StoredEntry {
    type Error = ConvertError;

    fn try_from(wire: v1::StoredEntry) -> Result<Self, ConvertError> {
        let v1::StoredEntry {
            entry_id,
            digest: bytes,
            turn,
            erased,
        } = wire;
        Ok(Self {
            entry_id: EntryId::from(entry_id),
            digest: Digest(digest(&bytes).at("digest")?),
            turn: Some(turn).filter(|turn| !turn.is_empty()),
            erased,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use prost::Message as _;

    use super::*;

    fn entry() -> impl Strategy<Value = StoredEntry> {
        let turn = proptest::option::of("[a-z]{1,3}");
        let fields = ("[a-z]{0,3}", any::<[u8; 32]>(), turn, any::<bool>());
        fields.prop_map(|(id, digest, turn, erased)| StoredEntry {
            entry_id: EntryId::from(id),
            digest: Digest(digest),
            turn,
            erased,
        })
    }

    fn log() -> impl Strategy<Value = StoredLog> {
        // Around the most that a message holds.
        (vec(entry(), 0..3), 0..3_usize).prop_map(|(start, thousands)| {
            let mut entries = start;
            entries.resize_with(entries.len() + thousands * ENTRIES, || StoredEntry {
                entry_id: EntryId::from("same".to_owned()),
                digest: Digest([0; 32]),
                turn: None,
                erased: false,
            });
            StoredLog {
                entries,
                ..StoredLog::default()
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_log_comes_back_whole_and_in_order(log in proptest::option::of(log())) {
            let mut inspection = Inspection::default();
            for message in inspected(log.clone()) {
                prop_assert!(message.entries.len() <= ENTRIES);
                let bytes = message.encode_to_vec();
                inspection.read(v1::InspectSessionResponse::decode(&*bytes).unwrap()).unwrap();
            }
            prop_assert_eq!(inspection.finish(), log);
        }
    }

    #[test]
    fn an_entry_without_a_digest_means_nothing() {
        let mut message = inspected(Some(StoredLog::default()));
        message[0].entries.push(v1::StoredEntry::default());
        let error = Inspection::default().read(message.remove(0)).unwrap_err();
        assert_eq!(error.field(), "entries[0].digest");
    }
}
