//! Identifiers: which session, which entry, which call.

use std::fmt;
use std::sync::Arc;

/// An identifier that was empty, or longer than 1 024 bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} must hold 1 to 1024 bytes, it holds {len}")]
pub struct InvalidId {
    /// Which identifier.
    pub what: &'static str,
    /// Its length in bytes.
    pub len: usize,
}

/// Identity of one session; opaque, never a path (PROTOCOL 11).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Longest accepted id in bytes.
    pub const MAX_BYTES: usize = 1024;

    /// # Errors
    /// [`InvalidId`] when the text is empty or too long. Any characters are allowed.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, InvalidId> {
        let text = text.into();
        match text.len() {
            1..=Self::MAX_BYTES => Ok(Self(text)),
            len => Err(InvalidId {
                what: "session_id",
                len,
            }),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lineage id of a transcript entry (R2.3); empty where a host has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the host gave no id.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<Arc<str>>> From<T> for EntryId {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// One logical invocation of a hook, equal in all its attempts: a `UUIDv7` minted by the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(uuid::Uuid);

impl HookId {
    /// A new id, ordered after all that this process minted before.
    pub fn mint() -> Self {
        Self(uuid::Uuid::now_v7())
    }

    /// The id as a number.
    pub fn to_u128(self) -> u128 {
        self.0.as_u128()
    }

    /// # Errors
    /// [`InvalidId`] when the text is not a UUID.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        uuid::Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| InvalidId {
                what: "hook_id",
                len: text.len(),
            })
    }

    /// Whether the host minted this id before the other one, by what the two say themselves: false
    /// where one of them is of a kind without a time.
    pub fn was_minted_before(self, other: Self) -> bool {
        let timed = |id: Self| id.0.get_version_num() == 7;
        timed(self) && timed(other) && self < other
    }
}

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Typed identity of a session at its host (HOST-SEMANTICS 1.3). All parts are optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionTarget {
    /// The agent that owns the session.
    pub agent_id: Option<String>,
    /// The session's volatile id.
    pub session_id: Option<String>,
    /// The session's stable key.
    pub session_key: Option<String>,
    /// Where the host stores it; opaque, never opened.
    pub store_path: Option<String>,
    /// The backend's thread.
    pub thread_id: Option<String>,
}

/// Which session a call is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Volatile identity; changes when a session is recycled.
    pub id: SessionId,
    /// The predecessor, when this session succeeded another.
    pub previous_id: Option<SessionId>,
    /// Stable key that groups a family of sessions.
    pub key: Option<String>,
    /// The agent that owns it.
    pub agent_id: Option<String>,
    /// Typed identity at the host.
    pub target: Option<SessionTarget>,
    /// The deprecated `sessionFile`: opaque, never opened (BR-042).
    pub locator: Option<String>,
}

impl Session {
    /// A session known by its id alone.
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            previous_id: None,
            key: None,
            agent_id: None,
            target: None,
            locator: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_never_empty_and_otherwise_opaque() {
        assert!(SessionId::new("").is_err());
        assert!(SessionId::new("x".repeat(1025)).is_err());
        assert_eq!(
            SessionId::new("../a\u{0}\n").map(|id| id.as_str().len()),
            Ok(6)
        );
    }

    #[test]
    fn hook_ids_are_ordered_as_minted() {
        let (a, b) = (HookId::mint(), HookId::mint());
        assert!(a < b);
        assert_eq!(HookId::parse(&a.to_string()), Ok(a));
        assert!(HookId::parse("not-a-uuid").is_err());
    }
}
