//! How much an engine stores, and what is pinned.

use contextwire_engine::StoreStatus;
use serde::Serialize;

use super::figure::grouped;
use super::table::{Column, Form, Surface, Tone, draw};

/// What a store holds, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// What keeps it.
    pub kind: String,
    /// Sessions.
    pub sessions: u64,
    /// Entries of their logs.
    pub entries: u64,
    /// Bodies that were replaced or left a log, and are kept.
    pub retired: u64,
    /// Estimated tokens of all entries.
    pub tokens: u64,
    /// Summaries, in a plan in force or not.
    pub summaries: u64,
    /// Plans, all versions.
    pub plans: u64,
    /// Pinned entries.
    pub pins: u64,
    /// Sessions with work left for Compact or Maintain.
    pub debts: u64,
    /// Entries that are not in the index of texts yet.
    pub behind_in_index: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes among them that are free to be used again.
    pub free_bytes: u64,
}

impl From<StoreStatus> for StoreStats {
    fn from(status: StoreStatus) -> Self {
        let StoreStatus {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        } = status;
        Self {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        }
    }
}

impl StoreStats {
    /// The table, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let column = |title, form| Column {
            title,
            form,
            spare: 0,
        };
        let columns = [
            column("what", Form::Prose),
            column("how many", Form::Number),
        ];
        let rows = [
            ("sessions", self.sessions),
            ("entries", self.entries),
            ("bodies that left a log", self.retired),
            ("tokens of all entries", self.tokens),
            ("summaries", self.summaries),
            ("plans, all versions", self.plans),
            ("pinned entries", self.pins),
            ("sessions with work left", self.debts),
            ("entries that the index lacks", self.behind_in_index),
            ("bytes", self.bytes),
            ("bytes that are free", self.free_bytes),
        ];
        let rows = rows.map(|(what, number)| (Tone::Plain, vec![what.to_owned(), grouped(number)]));
        let table = draw(&columns, rows.into(), on);
        format!("{table}\n\nkept in {}\n", self.kind)
    }
}

/// What is pinned of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pins {
    /// The session's id.
    pub session: String,
    /// Ids of the pinned entries, in the order of the log.
    pub pins: Vec<String>,
}

impl Pins {
    /// A line for people.
    pub fn to_text(&self) -> String {
        match self.pins.len() {
            0 => format!("nothing of session {} is pinned", self.session),
            _ => format!(
                "pinned of session {}: {}",
                self.session,
                self.pins.join(", ")
            ),
        }
    }
}
