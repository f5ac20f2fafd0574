//! One message as it stands in a session or as a host derives it from an entry.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use contextwire_engine::Message;

/// A message that a model can see: its bytes and where they come from.
#[derive(Debug)]
pub struct ContextMessage {
    line: u64,
    key: u64,
    entry_id: Option<Arc<str>>,
    timestamp_ms: Option<i64>,
    role: String,
    payload: Bytes,
    message: OnceLock<Message>,
}

/// Where a message comes from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) line: u64,
    /// Unique within the session.
    pub(super) key: u64,
    pub(super) entry_id: Option<Arc<str>>,
    pub(super) timestamp_ms: Option<i64>,
}

impl ContextMessage {
    pub(super) fn new(origin: Origin, role: String, payload: Bytes) -> Arc<Self> {
        let Origin {
            line,
            key,
            entry_id,
            timestamp_ms,
        } = origin;
        let message = OnceLock::new();
        Arc::new(Self {
            line,
            key,
            entry_id,
            timestamp_ms,
            role,
            payload,
            message,
        })
    }

    /// Line of the entry in its file, counted from 1; in a database, the number of its row. A
    /// fork's messages may lie in two files, and one line may hold several of them.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Tells this message from every other one of its session.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The entry's own id; `None` in sessions without ids. Never minted.
    pub fn entry_id(&self) -> Option<&str> {
        self.entry_id.as_deref()
    }

    /// When the entry was written, in milliseconds since the Unix epoch.
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.timestamp_ms
    }

    /// The payload's `role`; empty where it names none.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The message as JSON. A recorded message has the file's own bytes.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// The same as an engine sees it, made once and shared by all views.
    pub fn message(&self) -> &Message {
        self.message.get_or_init(|| {
            let message = Message::from_payload(self.payload.clone());
            match &self.entry_id {
                Some(id) => message.with_entry_id(Arc::clone(id)),
                None => message,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_sees_the_same_object_every_time() {
        let origin = Origin {
            line: 1,
            key: 1,
            entry_id: Some("e1".into()),
            timestamp_ms: None,
        };
        let payload = Bytes::from_static(br#"{"role":"user","content":"hi"}"#);
        let message = ContextMessage::new(origin, "user".into(), payload.clone());
        assert!(message.message().is_same_object(message.message()));
        assert_eq!(message.message().payload(), &payload);
        assert_eq!(message.message().entry_id().as_str(), "e1");
        assert_eq!(message.message().role(), "user");
    }

    #[test]
    fn a_session_without_ids_sends_empty_ones() {
        let origin = Origin {
            line: 1,
            key: 1,
            entry_id: None,
            timestamp_ms: None,
        };
        let message = ContextMessage::new(origin, "user".into(), Bytes::from_static(b"{}"));
        assert!(message.message().entry_id().is_empty());
    }
}
