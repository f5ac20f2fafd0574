//! Lists, their states, and the frames that carry them.

use bytes::Bytes;
use contextwire_engine::TranscriptState;

use super::message::digest;
use super::{At, ConvertError, Problem, each, known, optional};
use crate::frame::NeedTranscript;
use crate::limits::HAVE_STATES;
use crate::sync::{List, Part, TranscriptUpdate, UpdateBody};
use crate::v1;

impl From<TranscriptState> for v1::TranscriptState {
    fn from(TranscriptState { count, chain }: TranscriptState) -> Self {
        Self {
            count,
            chain: Bytes::copy_from_slice(&chain),
        }
    }
}

impl TryFrom<v1::TranscriptState> for TranscriptState {
    type Error = ConvertError;

    fn try_from(
        v1::TranscriptState { count, chain }: v1::TranscriptState,
    ) -> Result<Self, ConvertError> {
        if count == 0 && chain.is_empty() {
            return Ok(Self::EMPTY);
        }
        let chain = digest(&chain).at("chain")?;
        if count == 0 && chain != Self::EMPTY.chain {
            return Err(ConvertError::new("chain", Problem::NotAllowed));
        }
        Ok(Self { count, chain })
    }
}

/// A state that is left out when it is the empty list's.
pub(super) fn or_absent(state: TranscriptState) -> Option<v1::TranscriptState> {
    (state != TranscriptState::EMPTY).then(|| state.into())
}

impl From<List> for v1::TranscriptList {
    fn from(list: List) -> Self {
        match list {
            List::Log => Self::Log,
            List::View => Self::View,
        }
    }
}

pub(super) fn list(wire: i32) -> Result<List, ConvertError> {
    match known(wire) {
        Some(v1::TranscriptList::Log) => Ok(List::Log),
        Some(v1::TranscriptList::View) => Ok(List::View),
        Some(v1::TranscriptList::Unspecified) | None => {
            Err(ConvertError::new("list", Problem::UnknownNumber(wire)))
        }
    }
}

impl From<TranscriptUpdate> for v1::TranscriptUpdate {
    fn from(TranscriptUpdate { seq, list, body }: TranscriptUpdate) -> Self {
        let (part, unavailable) = match body {
            UpdateBody::Part(part) => (part, false),
            UpdateBody::Unavailable => (Part::default(), true),
        };
        let Part {
            base,
            segments,
            head,
            more,
        } = part;
        Self {
            seq,
            list: v1::TranscriptList::from(list).into(),
            base: or_absent(base),
            segments: segments.into_iter().map(Into::into).collect(),
            head: or_absent(head),
            more,
            unavailable,
        }
    }
}

impl TryFrom<v1::TranscriptUpdate> for TranscriptUpdate {
    type Error = ConvertError;

    fn try_from(wire: v1::TranscriptUpdate) -> Result<Self, ConvertError> {
        let v1::TranscriptUpdate {
            seq,
            list: which,
            base,
            segments,
            head,
            more,
            unavailable,
        } = wire;
        let list = list(which)?;
        if seq == 0 {
            return Err(ConvertError::new("seq", Problem::OutOfRange));
        }
        if unavailable {
            if base.is_some() || head.is_some() || more || !segments.is_empty() {
                return Err(ConvertError::new("unavailable", Problem::NotAllowed));
            }
            return Ok(Self {
                seq,
                list,
                body: UpdateBody::Unavailable,
            });
        }
        let part = Part {
            base: optional(base, "base")?.unwrap_or_default(),
            segments: each(segments, "segments")?,
            head: optional(head, "head")?.unwrap_or_default(),
            more,
        };
        Ok(Self {
            seq,
            list,
            body: UpdateBody::Part(part),
        })
    }
}

impl From<NeedTranscript> for v1::NeedTranscript {
    fn from(NeedTranscript { seq, list, have }: NeedTranscript) -> Self {
        Self {
            seq,
            list: v1::TranscriptList::from(list).into(),
            have: have.into_iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<v1::NeedTranscript> for NeedTranscript {
    type Error = ConvertError;

    fn try_from(
        v1::NeedTranscript {
            seq,
            list: which,
            have,
        }: v1::NeedTranscript,
    ) -> Result<Self, ConvertError> {
        if have.len() > HAVE_STATES {
            let problem = Problem::TooMany {
                count: have.len(),
                limit: HAVE_STATES,
            };
            return Err(ConvertError::new("have", problem));
        }
        Ok(Self {
            seq,
            list: list(which)?,
            have: each(have, "have")?,
        })
    }
}

/// A state of a list that an engine holds.
pub(super) fn applied(wire: v1::AppliedState) -> Result<(List, TranscriptState), ConvertError> {
    let v1::AppliedState { list: which, state } = wire;
    Ok((list(which)?, optional(state, "state")?.unwrap_or_default()))
}

/// The same for the wire.
pub(super) fn applied_to_wire((list, state): (List, TranscriptState)) -> v1::AppliedState {
    v1::AppliedState {
        list: v1::TranscriptList::from(list).into(),
        state: or_absent(state),
    }
}
