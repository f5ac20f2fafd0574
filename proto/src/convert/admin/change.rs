//! What operators change: pins, and erasures with what they did.

use contextwire_engine::{EntryId, EraseSession, ErasedRows, Erasure, ErasureProof, PinEntry};

use super::super::{At, ConvertError, Problem};
use super::session;
use crate::v1;

fn entry(id: String, field: &str) -> Result<EntryId, ConvertError> {
    if id.is_empty() {
        return Err(ConvertError::new(field, Problem::Empty));
    }
    Ok(EntryId::from(id))
}

impl From<PinEntry> for v1::PinEntryRequest {
    fn from(pin: PinEntry) -> Self {
        let PinEntry {
            session,
            entry_id,
            pinned,
        } = pin;
        Self {
            session_id: session.as_str().to_owned(),
            entry_id: entry_id.as_str().to_owned(),
            pinned,
        }
    }
}

impl TryFrom<v1::PinEntryRequest> for PinEntry {
    type Error = ConvertError;

    fn try_from(wire: v1::PinEntryRequest) -> Result<Self, ConvertError> {
        let v1::PinEntryRequest {
            session_id,
            entry_id,
            pinned,
        } = wire;
        Ok(Self {
            session: session(session_id)?,
            entry_id: entry(entry_id, "entry_id")?,
            pinned,
        })
    }
}

impl From<EraseSession> for v1::EraseSessionRequest {
    fn from(erase: EraseSession) -> Self {
        let EraseSession { session, entry_ids } = erase;
        Self {
            session_id: session.as_str().to_owned(),
            entry_ids: entry_ids.iter().map(|id| id.as_str().to_owned()).collect(),
        }
    }
}

impl TryFrom<v1::EraseSessionRequest> for EraseSession {
    type Error = ConvertError;

    fn try_from(wire: v1::EraseSessionRequest) -> Result<Self, ConvertError> {
        let v1::EraseSessionRequest {
            session_id,
            entry_ids,
        } = wire;
        let session = session(session_id)?;
        // An empty id among them must not turn into "everything".
        let ids = entry_ids.into_iter().map(|id| entry(id, "entry_ids"));
        Ok(Self {
            session,
            entry_ids: ids.collect::<Result<_, _>>()?,
        })
    }
}

impl From<Erasure> for v1::EraseSessionResponse {
    fn from(erasure: Erasure) -> Self {
        let Erasure {
            found,
            erased,
            proof,
        } = erasure;
        Self {
            found,
            erased: erased.into_iter().map(Into::into).collect(),
            proof: Some(proof.into()),
        }
    }
}

impl TryFrom<v1::EraseSessionResponse> for Erasure {
    type Error = ConvertError;

    fn try_from(wire: v1::EraseSessionResponse) -> Result<Self, ConvertError> {
        let v1::EraseSessionResponse {
            found,
            erased,
            proof,
        } = wire;
        Ok(Self {
            found,
            erased: erased.into_iter().map(Into::into).collect(),
            proof: proof.ok_or(Problem::Missing).at("proof")?.into(),
        })
    }
}

impl From<ErasedRows> for v1::ErasedRows {
    fn from(rows: ErasedRows) -> Self {
        let ErasedRows {
            what,
            removed,
            rederived,
        } = rows;
        Self {
            what,
            removed,
            rederived,
        }
    }
}

impl From<v1::ErasedRows> for ErasedRows {
    fn from(wire: v1::ErasedRows) -> Self {
        let v1::ErasedRows {
            what,
            removed,
            rederived,
        } = wire;
        Self {
            what,
            removed,
            rederived,
        }
    }
}

impl From<ErasureProof> for v1::ErasureProof {
    fn from(proof: ErasureProof) -> Self {
        let clean = proof.is_clean();
        let ErasureProof {
            pieces,
            searched_bytes,
            shared,
            remains,
        } = proof;
        Self {
            clean,
            pieces,
            searched_bytes,
            shared,
            remains,
        }
    }
}

impl From<v1::ErasureProof> for ErasureProof {
    fn from(wire: v1::ErasureProof) -> Self {
        let v1::ErasureProof {
            clean,
            pieces,
            searched_bytes,
            shared,
            mut remains,
        } = wire;
        // An engine that says neither where nor that all is well has not proved it.
        if !clean && remains.is_empty() {
            remains.push("somewhere, the engine does not say where".to_owned());
        }
        Self {
            pieces,
            searched_bytes,
            shared,
            remains,
        }
    }
}
