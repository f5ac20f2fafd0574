//! Answers as they are recorded under a key, so that a repeated call gets the same one (R7.10).

use bytes::Bytes;

use super::fields::{FieldReader, FieldWriter};
use crate::bootstrap::Bootstrapped;
use crate::commit_turn::TurnCommitted;
use crate::compact::{CompactResult, Compacted};
use crate::ids::{EntryId, SessionId, SessionTarget};
use crate::ingest::{Ingested, IngestedBatch};
use crate::maintain::Maintained;
use crate::subagent::SpawnPrepared;

/// An answer that can be recorded and given again.
pub trait Answer: Sized {
    /// The answer as bytes for the ledger.
    fn to_record(&self) -> Vec<u8>;

    /// The answer of a record; `None` where it is none of this kind.
    fn from_record(record: &[u8]) -> Option<Self>;

    /// The answer as a repeated call gets it.
    #[must_use]
    fn again(self) -> Self {
        self
    }
}

impl Answer for () {
    fn to_record(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_record(_: &[u8]) -> Option<Self> {
        Some(())
    }
}

impl Answer for TurnCommitted {
    fn to_record(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Only a stored turn is ever recorded.
    fn from_record(_: &[u8]) -> Option<Self> {
        Some(Self::Committed)
    }

    fn again(self) -> Self {
        Self::Duplicate
    }
}

impl Answer for Ingested {
    fn to_record(&self) -> Vec<u8> {
        let Self { ingested } = self;
        FieldWriter::default().flag(*ingested).finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let ingested = FieldReader::new(record).flag()?;
        Some(Self { ingested })
    }
}

impl Answer for IngestedBatch {
    fn to_record(&self) -> Vec<u8> {
        let Self { ingested_count } = self;
        FieldWriter::default().number(*ingested_count).finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let ingested_count = FieldReader::new(record).number()?;
        Some(Self { ingested_count })
    }
}

impl Answer for Bootstrapped {
    fn to_record(&self) -> Vec<u8> {
        let Self {
            bootstrapped,
            imported_messages,
            reason,
        } = self;
        FieldWriter::default()
            .flag(*bootstrapped)
            .optional(*imported_messages, FieldWriter::number)
            .optional(reason.as_deref(), FieldWriter::text)
            .finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let mut fields = FieldReader::new(record);
        Some(Self {
            bootstrapped: fields.flag()?,
            imported_messages: fields.optional(FieldReader::number)?,
            reason: fields.optional(FieldReader::text)?,
        })
    }
}

impl Answer for Maintained {
    fn to_record(&self) -> Vec<u8> {
        let Self {
            changed,
            bytes_freed,
            rewritten_entries,
            reason,
        } = self;
        FieldWriter::default()
            .flag(*changed)
            .number(*bytes_freed)
            .number(*rewritten_entries)
            .optional(reason.as_deref(), FieldWriter::text)
            .finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let mut fields = FieldReader::new(record);
        Some(Self {
            changed: fields.flag()?,
            bytes_freed: fields.number()?,
            rewritten_entries: fields.number()?,
            reason: fields.optional(FieldReader::text)?,
        })
    }
}

impl Answer for SpawnPrepared {
    fn to_record(&self) -> Vec<u8> {
        let Self {
            prepared,
            system_prompt_addition,
        } = self;
        FieldWriter::default()
            .flag(*prepared)
            .optional(system_prompt_addition.as_deref(), FieldWriter::text)
            .finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let mut fields = FieldReader::new(record);
        Some(Self {
            prepared: fields.flag()?,
            system_prompt_addition: fields.optional(FieldReader::text)?,
        })
    }
}

impl Answer for Compacted {
    fn to_record(&self) -> Vec<u8> {
        let Self {
            ok,
            compacted,
            reason,
            result,
        } = self;
        FieldWriter::default()
            .flag(*ok)
            .flag(*compacted)
            .optional(reason.as_deref(), FieldWriter::text)
            .optional(result.as_ref(), write_result)
            .finish()
    }

    fn from_record(record: &[u8]) -> Option<Self> {
        let mut fields = FieldReader::new(record);
        Some(Self {
            ok: fields.flag()?,
            compacted: fields.flag()?,
            reason: fields.optional(FieldReader::text)?,
            result: fields.optional(read_result)?,
        })
    }
}

fn write_result(fields: FieldWriter, result: &CompactResult) -> FieldWriter {
    let CompactResult {
        summary,
        first_kept_entry_id,
        tokens_before,
        tokens_after,
        details,
        session_id,
        session_target,
    } = result;
    fields
        .optional(summary.as_deref(), FieldWriter::text)
        .optional(
            first_kept_entry_id.as_ref().map(EntryId::as_str),
            FieldWriter::text,
        )
        .number(*tokens_before)
        .optional(*tokens_after, FieldWriter::number)
        .optional(details.as_deref(), FieldWriter::bytes)
        .optional(
            session_id.as_ref().map(SessionId::as_str),
            FieldWriter::text,
        )
        .optional(session_target.as_ref(), write_target)
}

fn read_result(fields: &mut FieldReader<'_>) -> Option<CompactResult> {
    Some(CompactResult {
        summary: fields.optional(FieldReader::text)?,
        first_kept_entry_id: fields.optional(FieldReader::text)?.map(EntryId::from),
        tokens_before: fields.number()?,
        tokens_after: fields.optional(FieldReader::number)?,
        details: fields
            .optional(FieldReader::bytes)?
            .map(Bytes::copy_from_slice),
        session_id: fields.optional(|fields| SessionId::new(fields.text()?).ok())?,
        session_target: fields.optional(read_target)?,
    })
}

fn write_target(fields: FieldWriter, target: &SessionTarget) -> FieldWriter {
    let SessionTarget {
        agent_id,
        session_id,
        session_key,
        store_path,
        thread_id,
    } = target;
    [agent_id, session_id, session_key, store_path, thread_id]
        .into_iter()
        .fold(fields, |fields, part| {
            fields.optional(part.as_deref(), FieldWriter::text)
        })
}

fn read_target(fields: &mut FieldReader<'_>) -> Option<SessionTarget> {
    Some(SessionTarget {
        agent_id: fields.optional(FieldReader::text)?,
        session_id: fields.optional(FieldReader::text)?,
        session_key: fields.optional(FieldReader::text)?,
        store_path: fields.optional(FieldReader::text)?,
        thread_id: fields.optional(FieldReader::text)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<A: Answer + PartialEq + std::fmt::Debug>(answer: &A) {
        let record = answer.to_record();
        assert_eq!(A::from_record(&record).as_ref(), Some(answer));
        for end in 0..record.len() {
            // A cut record is refused or reads as one of an older release; it never panics.
            let _cut = A::from_record(&record[..end]).is_none();
        }
    }

    #[test]
    fn every_answer_comes_back_as_it_was() {
        comes_back(&());
        comes_back(&Ingested { ingested: true });
        comes_back(&IngestedBatch { ingested_count: 7 });
        comes_back(&Bootstrapped {
            bootstrapped: true,
            imported_messages: Some(3),
            reason: Some("why".into()),
        });
        comes_back(&Maintained {
            changed: true,
            bytes_freed: 9,
            rewritten_entries: 2,
            reason: None,
        });
        comes_back(&SpawnPrepared {
            prepared: true,
            system_prompt_addition: Some(String::new()),
        });
        comes_back(&Compacted::declined("no model"));
        comes_back(&Compacted {
            ok: true,
            compacted: true,
            reason: None,
            result: Some(CompactResult {
                summary: Some("short".into()),
                first_kept_entry_id: Some("e9".into()),
                tokens_before: 10,
                tokens_after: Some(0),
                details: Some(Bytes::from_static(b"{\"a\":\xff}")),
                session_id: SessionId::new("next").ok(),
                session_target: Some(SessionTarget {
                    agent_id: Some("main".into()),
                    thread_id: Some(String::new()),
                    ..SessionTarget::default()
                }),
            }),
        });
    }

    #[test]
    fn a_repeated_commit_is_a_duplicate_and_everything_else_is_itself() {
        assert_eq!(TurnCommitted::Committed.again(), TurnCommitted::Duplicate);
        assert_eq!(
            Ingested { ingested: true }.again(),
            Ingested { ingested: true }
        );
    }
}
