//! Where the engine gets the log from.

use contextwire_engine::{
    ContextEngine, HookContext, HostCall, HostCallError, HostReply, ReadTranscript, Transcript,
    TranscriptPage,
};

use crate::support::*;

/// Serves a log in pages of 50, and loses the cursor at these calls.
fn pages(log: &Transcript, lost: &'static [usize]) -> HookContext {
    let log = log.clone();
    let (_, cx) = ScriptedHost::new(move |number, call| {
        let HostCall::ReadTranscript(ReadTranscript { cursor, .. }) = call else {
            return Err(HostCallError::unavailable());
        };
        if lost.contains(&number) {
            return Err(HostCallError::new("CURSOR_LOST", "rewritten"));
        }
        let start: usize = cursor.as_deref().map_or(0, |at| at.parse().unwrap());
        let end = (start + 50).min(log.len());
        Ok(HostReply::Page(TranscriptPage {
            messages: log.range(start..end).cloned().collect(),
            next_cursor: (end < log.len()).then(|| end.to_string()),
            head: log.state(),
        }))
    });
    cx
}

#[tokio::test]
async fn a_log_that_comes_in_pages_is_read_to_its_end_and_again_after_a_rewrite() {
    for lost in [&[][..], &[1], &[1, 4]] {
        let cx = pages(&turns(60), lost);
        let answer = here(Script::default()).compact(&cx, force()).await.unwrap();
        let first_kept = answer.result.unwrap().first_kept_entry_id;
        assert_eq!(first_kept, Some("e80".into()), "{lost:?}");
    }
    let cx = pages(&turns(60), &[0, 1, 2]);
    let answer = here(Script::default()).compact(&cx, force()).await.unwrap();
    assert!(!answer.ok, "a log that never stands still is not read");
}

#[tokio::test]
async fn pages_that_do_not_end_are_no_log() {
    let (host, cx) = ScriptedHost::new(|_, call| match call {
        HostCall::ReadTranscript(_) => Ok(HostReply::Page(TranscriptPage {
            next_cursor: Some("same".to_owned()),
            ..TranscriptPage::default()
        })),
        HostCall::Complete(_) | HostCall::DelegateCompaction(_) | HostCall::Rewrite(_) => {
            Err(HostCallError::unavailable())
        }
    });
    let answer = here(Script::default()).compact(&cx, force()).await.unwrap();
    assert!(!answer.ok);
    assert_eq!(host.seen().len(), 3, "two pages, then a delegation");
}
