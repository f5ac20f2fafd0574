//! One transcript entry as a host hands it over: opaque payload bytes beside a typed header.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::digest::{self, Digest};
use crate::header;
use crate::ids::EntryId;
use crate::tokens::ModelFamily;

/// What an engine needs of a payload without parsing it (R2.2).
///
/// Derived once, where the message enters, by [`header::derive`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The payload's `role`, an open string; empty where the payload names none.
    pub role: String,
    /// Milliseconds since the Unix epoch, where the payload carries a readable timestamp.
    pub timestamp_ms: Option<i64>,
    /// Ids of the tool calls that this message makes, in order.
    pub tool_call_ids: Vec<String>,
    /// Id of the tool call that this message answers.
    pub tool_result_for: Option<String>,
}

/// The body that did not travel because it exceeds the message size limit (R2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Size of the original payload in bytes.
    pub bytes: u64,
    /// SHA-256 of the original payload; the message's digest is computed from it.
    pub sha256: [u8; 32],
}

/// A message: cheap to clone, never changed.
///
/// The payload is the host's own JSON object, byte for byte; nothing here re-serialises it (R2.1).
#[derive(Clone)]
pub struct Message(Arc<Body>);

#[derive(Clone)]
struct Body {
    payload: Bytes,
    header: Header,
    entry_id: EntryId,
    log_entry_id: Option<EntryId>,
    estimated_tokens: Option<u64>,
    synthetic: bool,
    omitted: Option<Omitted>,
    digest: OnceLock<Digest>,
    tokens: OnceLock<(ModelFamily, u32)>,
}

impl Message {
    /// A message whose header is derived from the payload. Any bytes are accepted.
    pub fn from_payload(payload: impl Into<Bytes>) -> Self {
        let payload = payload.into();
        let header = header::derive(&payload);
        Self::with_header(payload, header)
    }

    /// A message with a header that somebody derived already, as one that came over the wire.
    pub fn with_header(payload: Bytes, header: Header) -> Self {
        Self(Arc::new(Body {
            payload,
            header,
            entry_id: EntryId::default(),
            log_entry_id: None,
            estimated_tokens: None,
            synthetic: false,
            omitted: None,
            digest: OnceLock::new(),
            tokens: OnceLock::new(),
        }))
    }

    /// The same message under a lineage id (R2.3). An empty id means that the host has none.
    #[must_use]
    pub fn with_entry_id(self, id: impl Into<EntryId>) -> Self {
        self.edit(|body| {
            body.entry_id = id.into();
            body.digest = OnceLock::new();
        })
    }

    /// The same message with the id of the log entry that a view item shows (R3.1).
    #[must_use]
    pub fn with_log_entry_id(self, id: Option<EntryId>) -> Self {
        self.edit(|body| body.log_entry_id = id)
    }

    /// The same message marked as invented by an engine, not said by anybody (R2.4).
    #[must_use]
    pub fn with_synthetic(self, synthetic: bool) -> Self {
        self.edit(|body| body.synthetic = synthetic)
    }

    /// The same message with the sender's own token estimate.
    #[must_use]
    pub fn with_estimated_tokens(self, tokens: Option<u64>) -> Self {
        self.edit(|body| body.estimated_tokens = tokens)
    }

    /// The same message whose payload is a stub for a body that did not travel (R2.5).
    #[must_use]
    pub fn with_omitted(self, omitted: Option<Omitted>) -> Self {
        self.edit(|body| {
            body.omitted = omitted;
            body.digest = OnceLock::new();
        })
    }

    fn edit(self, change: impl FnOnce(&mut Body)) -> Self {
        let mut body = Arc::try_unwrap(self.0).unwrap_or_else(|shared| (*shared).clone());
        change(&mut body);
        Self(Arc::new(body))
    }

    /// The host's JSON object as it stands in the transcript.
    pub fn payload(&self) -> &Bytes {
        &self.0.payload
    }

    /// The typed header.
    pub fn header(&self) -> &Header {
        &self.0.header
    }

    /// The payload's role; empty where it names none.
    pub fn role(&self) -> &str {
        &self.0.header.role
    }

    /// Milliseconds since the Unix epoch, where known.
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.0.header.timestamp_ms
    }

    /// Ids of the tool calls that this message makes, in order.
    pub fn tool_call_ids(&self) -> &[String] {
        &self.0.header.tool_call_ids
    }

    /// Id of the tool call that this message answers.
    pub fn tool_result_for(&self) -> Option<&str> {
        self.0.header.tool_result_for.as_deref()
    }

    /// Lineage id; empty where the host has none.
    pub fn entry_id(&self) -> &EntryId {
        &self.0.entry_id
    }

    /// Id of the log entry that this view item shows, where the host knows it.
    pub fn log_entry_id(&self) -> Option<&EntryId> {
        self.0.log_entry_id.as_ref()
    }

    /// The sender's own estimate, where it gave one.
    pub fn estimated_tokens(&self) -> Option<u64> {
        self.0.estimated_tokens
    }

    /// Whether an engine invented this message.
    pub fn is_synthetic(&self) -> bool {
        self.0.synthetic
    }

    /// Size and hash of the body, where only a stub of it is here.
    pub fn omitted(&self) -> Option<&Omitted> {
        self.0.omitted.as_ref()
    }

    /// Identity of this message in a transcript (PROTOCOL 3), computed once.
    pub fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| {
            let body = match &self.0.omitted {
                Some(omitted) => omitted.sha256,
                None => digest::sha256(&self.0.payload),
            };
            digest::message(self.0.entry_id.as_str(), &self.0.header.role, &body)
        })
    }

    /// The same message with the estimate of [`Self::cached_tokens`] that was computed before, as
    /// one that comes from a store.
    #[must_use]
    pub fn with_cached_tokens(self, family: ModelFamily, tokens: u32) -> Self {
        self.edit(|body| body.tokens = OnceLock::from((family, tokens)))
    }

    /// The token estimate of this message, computed at most once for the first family asked for.
    /// Families with one encoding have one estimate.
    pub fn cached_tokens(&self, family: ModelFamily, compute: impl FnOnce() -> u32) -> u32 {
        match self.0.tokens.get() {
            Some(&(known, tokens)) if known.encoding_name() == family.encoding_name() => tokens,
            Some(_) => compute(),
            None => {
                let tokens = compute();
                // A racing thread counted the same message: both have the same number.
                self.0.tokens.get_or_init(|| (family, tokens));
                tokens
            }
        }
    }

    /// Whether both are one object in memory, which is quicker than comparing digests.
    pub fn is_same_object(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_object(other)
            || (self.0.payload == other.0.payload
                && self.0.header == other.0.header
                && self.0.entry_id == other.0.entry_id
                && self.0.log_entry_id == other.0.log_entry_id
                && self.0.estimated_tokens == other.0.estimated_tokens
                && self.0.synthetic == other.0.synthetic
                && self.0.omitted == other.0.omitted)
    }
}

impl Eq for Message {}

impl std::fmt::Debug for Message {
    /// Never shows the payload: transcripts do not belong in logs (PROTOCOL 11).
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Message")
            .field("role", &self.role())
            .field("entry_id", &self.0.entry_id.as_str())
            .field("payload_bytes", &self.0.payload.len())
            .field("synthetic", &self.0.synthetic)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_id_is_part_of_the_identity_and_a_log_entry_id_is_not() {
        let bare = Message::from_payload(r#"{"role":"user","content":"hi"}"#);
        let named = bare.clone().with_entry_id("e1");
        assert_ne!(bare.digest(), named.digest());
        assert_eq!(
            named.digest(),
            named.clone().with_log_entry_id(Some("l1".into())).digest()
        );
    }

    #[test]
    fn a_stub_keeps_the_digest_of_the_body_it_stands_for() {
        let whole = Message::from_payload(r#"{"role":"user","content":"long"}"#);
        let stub = Message::from_payload(r#"{"role":"user"}"#).with_omitted(Some(Omitted {
            bytes: 32,
            sha256: digest::sha256(whole.payload()),
        }));
        assert_eq!(whole.digest(), stub.digest());
    }

    #[test]
    fn debug_output_never_holds_content() {
        let message = Message::from_payload(r#"{"role":"user","content":"secret-canary"}"#);
        assert!(!format!("{message:?}").contains("secret-canary"));
    }

    #[test]
    fn tokens_are_counted_once_a_family() {
        let message = Message::from_payload(r#"{"role":"user","content":"hi"}"#);
        assert_eq!(message.cached_tokens(ModelFamily::O200k, || 7), 7);
        assert_eq!(message.cached_tokens(ModelFamily::O200k, || 8), 7);
        assert_eq!(message.cached_tokens(ModelFamily::Other, || 8), 7);
        assert_eq!(message.cached_tokens(ModelFamily::Cl100k, || 9), 9);
        let stored = message.with_cached_tokens(ModelFamily::Other, 5);
        assert_eq!(stored.cached_tokens(ModelFamily::O200k, || 8), 5);
    }
}
