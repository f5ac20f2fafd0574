//! Messages and their segments.

use bytes::Bytes;
use contextwire_engine::{EntryId, Header, Message, Omitted, Segment};

use super::{At, ConvertError, Problem, optional, within};
use crate::v1;

impl From<Message> for v1::Message {
    fn from(message: Message) -> Self {
        let Header {
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
        } = message.header().clone();
        Self {
            payload: message.payload().clone(),
            entry_id: message.entry_id().as_str().to_owned(),
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
            estimated_tokens: message.estimated_tokens(),
            log_entry_id: message.log_entry_id().map(|id| id.as_str().to_owned()),
            synthetic: message.is_synthetic(),
            omitted: message.omitted().cloned().map(Into::into),
        }
    }
}

impl TryFrom<v1::Message> for Message {
    type Error = ConvertError;

    fn try_from(wire: v1::Message) -> Result<Self, ConvertError> {
        let v1::Message {
            payload,
            entry_id,
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
            estimated_tokens,
            log_entry_id,
            synthetic,
            omitted,
        } = wire;
        let header = Header {
            role,
            timestamp_ms,
            tool_call_ids,
            tool_result_for,
        };
        Ok(Self::with_header(payload, header)
            .with_entry_id(entry_id)
            .with_log_entry_id(log_entry_id.map(EntryId::from))
            .with_estimated_tokens(estimated_tokens)
            .with_synthetic(synthetic)
            .with_omitted(optional(omitted, "omitted")?))
    }
}

impl From<Omitted> for v1::OmittedPayload {
    fn from(Omitted { bytes, sha256 }: Omitted) -> Self {
        Self {
            bytes,
            sha256: Bytes::copy_from_slice(&sha256),
        }
    }
}

impl TryFrom<v1::OmittedPayload> for Omitted {
    type Error = ConvertError;

    fn try_from(
        v1::OmittedPayload { bytes, sha256 }: v1::OmittedPayload,
    ) -> Result<Self, ConvertError> {
        Ok(Self {
            bytes,
            sha256: digest(&sha256).at("sha256")?,
        })
    }
}

impl From<Segment> for v1::Segment {
    fn from(segment: Segment) -> Self {
        let kind = match segment {
            Segment::Keep(range) => v1::segment::Kind::Keep(v1::Keep {
                start: range.start as u64,
                count: range.len() as u64,
            }),
            Segment::Insert(message) => v1::segment::Kind::Insert(message.into()),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<v1::Segment> for Segment {
    type Error = ConvertError;

    fn try_from(v1::Segment { kind }: v1::Segment) -> Result<Self, ConvertError> {
        match kind {
            Some(v1::segment::Kind::Keep(v1::Keep { start, count })) => {
                if count == 0 {
                    return Err(ConvertError::new("keep.count", Problem::Empty));
                }
                let index = |number| usize::try_from(number).map_err(|_| Problem::OutOfRange);
                let start = index(start).at("keep.start")?;
                let end = index(count).ok().and_then(|count| start.checked_add(count));
                Ok(Self::Keep(
                    start..end.ok_or(Problem::OutOfRange).at("keep.count")?,
                ))
            }
            Some(v1::segment::Kind::Insert(message)) => {
                Ok(Self::Insert(within(message, "insert")?))
            }
            None => Err(ConvertError::new("kind", Problem::Missing)),
        }
    }
}

/// 32 bytes.
pub(super) fn digest(wire: &[u8]) -> Result<[u8; 32], Problem> {
    wire.try_into()
        .map_err(|_| Problem::NotADigest { bytes: wire.len() })
}
