//! One message as it stands in a session, and the messages that a host builds from other entries.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use contextwire_engine::Message;
use serde_json::value::RawValue;

/// A message that a model can see: its bytes and where they come from.
#[derive(Debug)]
pub struct ContextMessage {
    line: u64,
    entry_id: Option<Arc<str>>,
    timestamp_ms: Option<i64>,
    role: String,
    payload: Bytes,
    message: OnceLock<Message>,
}

/// Where a message comes from.
pub(super) struct Origin {
    pub(super) line: u64,
    pub(super) entry_id: Option<Arc<str>>,
    pub(super) timestamp_ms: Option<i64>,
}

impl ContextMessage {
    pub(super) fn new(origin: Origin, role: String, payload: Bytes) -> Arc<Self> {
        let Origin {
            line,
            entry_id,
            timestamp_ms,
        } = origin;
        let message = OnceLock::new();
        Arc::new(Self {
            line,
            entry_id,
            timestamp_ms,
            role,
            payload,
            message,
        })
    }

    /// Line of the entry in the file, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
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

/// Writes the payload of a message that a host derives from an entry; values are copied as they
/// stand in the file, absent ones are left out.
pub(super) struct Payload(String);

impl Payload {
    pub(super) fn new(role: &str) -> Self {
        Self(format!("{{\"role\":\"{role}\""))
    }

    pub(super) fn with(mut self, key: &str, value: Option<&RawValue>) -> Self {
        if let Some(value) = value {
            self.push(key, value.get());
        }
        self
    }

    /// An unreadable time is 0, as hosts write it.
    pub(super) fn with_timestamp(mut self, timestamp_ms: Option<i64>) -> Self {
        self.push("timestamp", &timestamp_ms.unwrap_or(0).to_string());
        self
    }

    fn push(&mut self, key: &str, value: &str) {
        for part in [",\"", key, "\":", value] {
            self.0.push_str(part);
        }
    }

    pub(super) fn finish(mut self) -> Bytes {
        self.0.push('}');
        Bytes::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_sees_the_same_object_every_time() {
        let origin = Origin {
            line: 1,
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
            entry_id: None,
            timestamp_ms: None,
        };
        let message = ContextMessage::new(origin, "user".into(), Bytes::from_static(b"{}"));
        assert!(message.message().entry_id().is_empty());
    }
}
