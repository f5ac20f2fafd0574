//! The host's log, by whichever way the host offers.

use contextwire_engine::{HookContext, HostCallError, ReadTranscript, Transcript};

/// Payload bytes of a page.
const PAGE_BYTES: u64 = 1024 * 1024;
/// A log that is rewritten so often while it is read is not read.
const MAX_STARTS: u32 = 3;

/// The log: as the hook's stream or a host in this process gives it, else page by page. None where
/// the host can do neither.
pub(super) async fn read(cx: &HookContext) -> Option<Transcript> {
    if let Some(log) = cx.log.fetch().await {
        return Some(log);
    }
    for _ in 0..MAX_STARTS {
        match read_pages(cx).await {
            Ok(log) => return Some(log),
            // Rewritten meanwhile: from the start.
            Err(error) if error.reason == "CURSOR_LOST" => {}
            Err(_) => return None,
        }
    }
    None
}

async fn read_pages(cx: &HookContext) -> Result<Transcript, HostCallError> {
    let mut log = Transcript::new();
    let mut cursor = None;
    loop {
        let request = ReadTranscript {
            cursor: cursor.clone(),
            max_bytes: PAGE_BYTES,
        };
        let page = cx.host.read_transcript(request).await?;
        let is_empty = page.messages.is_empty();
        log.extend(page.messages);
        if page.next_cursor.is_none() {
            return Ok(log);
        }
        // A page brings something or names another place, or reading would never end.
        if is_empty && page.next_cursor == cursor {
            return Err(HostCallError::new("FAILED", "the log's pages do not end"));
        }
        cursor = page.next_cursor;
    }
}
