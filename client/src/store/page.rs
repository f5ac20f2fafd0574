//! Pages of the log and the cursor between them.

use contextwire_engine::{ReadTranscript, Transcript, TranscriptPage};

use super::error::StoreError;
use super::tree::Tree;

/// # Errors
/// [`StoreError::CursorLost`].
pub(super) fn read(tree: &Tree, request: &ReadTranscript) -> Result<TranscriptPage, StoreError> {
    let log = tree.branch.log();
    let start = match &request.cursor {
        None => 0,
        Some(cursor) => position(cursor, log, tree.generation())?,
    };
    let mut messages = Vec::new();
    let mut bytes = 0u64;
    for message in log.range(start..log.len()) {
        bytes = bytes.saturating_add(message.payload().len() as u64);
        if bytes > request.max_bytes && !messages.is_empty() {
            break;
        }
        messages.push(message.clone());
    }
    let end = start + messages.len();
    let next_cursor = (end < log.len()).then(|| cursor(end, log, tree.generation()));
    Ok(TranscriptPage {
        messages,
        next_cursor: next_cursor.flatten(),
        head: log.state(),
    })
}

fn position(cursor: &str, log: &Transcript, generation: u64) -> Result<usize, StoreError> {
    let named = cursor.split('.').nth(1).and_then(|text| text.parse().ok());
    let position: usize = named.ok_or(StoreError::CursorLost)?;
    let expected = self::cursor(position, log, generation);
    if expected.as_deref() == Some(cursor) {
        Ok(position)
    } else {
        Err(StoreError::CursorLost)
    }
}

/// `generation.position.chain`, the chain cut to what tells another log apart; `None` beyond the
/// log.
fn cursor(position: usize, log: &Transcript, generation: u64) -> Option<String> {
    let state = log.state_at(position)?;
    let chain = u64::from_be_bytes(*state.chain.first_chunk()?);
    Some(format!("{generation}.{position}.{chain:016x}"))
}
