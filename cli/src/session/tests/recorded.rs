//! Files that real hosts wrote; they lie beside the repository on development machines and are not
//! part of it.

use std::path::PathBuf;

use bytes::Bytes;

use crate::session::{HistoryView, Session, Strictness, Target, read, read_from};

fn recorded(path: &str, strictness: Strictness) -> Option<Session> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared")
        .join(path);
    if !path.exists() {
        println!("skipped: {} is not on this machine", path.display());
        return None;
    }
    Some(read(&path, strictness).unwrap())
}

#[test]
fn a_version_1_session_of_pi_reads_without_a_problem() {
    let path = "transcripts/coding-session-990.jsonl";
    let Some(session) = recorded(path, Strictness::Strict) else {
        return;
    };
    assert_eq!(session.header().version, 1);
    assert_eq!(session.entries().count(), 1002);
    let turns = session.turns(HistoryView::Full);
    assert_eq!(turns.len(), 55);
    assert_eq!(session.view(HistoryView::Full).messages().count(), 990);
    // Both compactions were made to keep from a user message on.
    let recorded = session.turns(HistoryView::Recorded);
    let mut heads: Vec<Vec<(u64, &str)>> = recorded
        .iter()
        .map(|turn| {
            turn.view
                .messages()
                .take(2)
                .map(|m| (m.line(), m.role()))
                .collect()
        })
        .collect();
    heads.dedup_by_key(|head| head[0]);
    assert_eq!(
        heads,
        [
            vec![(2, "user")],
            vec![(360, "compactionSummary"), (294, "user")],
            vec![(629, "compactionSummary"), (552, "user")],
        ]
    );
}

#[test]
fn rows_of_an_openclaw_store_read_as_the_first_of_their_sessions() {
    let path = "samples/openclaw-transcript-events.jsonl";
    let Some(session) = recorded(path, Strictness::Lenient) else {
        return;
    };
    assert_eq!(session.header().version, 4);
    assert_eq!(
        session.header().id.as_deref(),
        Some("ee03845c-c3d0-4c19-b2f5-25f9aa9759bd")
    );
    // The six rows of the child session.
    assert_eq!(session.problems().len(), 6);
    let sizes: Vec<_> = session
        .turns(HistoryView::Full)
        .iter()
        .map(|turn| turn.view.messages().count())
        .collect();
    assert_eq!(sizes, [1, 3, 7, 9, 14]);
    assert_eq!(
        session.model().map(|model| model.id).as_deref(),
        Some("mock-1")
    );
}

#[test]
fn a_rollout_of_codex_reads_without_a_problem() {
    let Some(session) = recorded("samples/codex-rollout.jsonl", Strictness::Strict) else {
        return;
    };
    let turns = session.turns(HistoryView::Full);
    let answered: Vec<_> = turns.iter().map(|turn| turn.answered).collect();
    // The second is a text that a host put into the history; the last one's model failed.
    assert_eq!(answered, [true, false, true, true, true, true, false]);
    let roles = |history| -> Vec<String> {
        let view = session.view(history);
        view.messages()
            .map(|message| message.role().to_owned())
            .collect()
    };
    assert_eq!(
        roles(HistoryView::Recorded),
        [
            "user",
            "user",
            "user",
            "user",
            "custom",
            "custom",
            "user",
            "custom",
            "user",
            "assistant",
            "toolResult",
            "assistant",
            "user"
        ]
    );
    assert_eq!(
        session.model().map(|model| model.id).as_deref(),
        Some("mock-1")
    );
}

#[test]
fn a_fork_of_codex_reads_with_the_part_of_its_parent() {
    let Some(fork) = recorded("samples/codex-rollout-fork.jsonl", Strictness::Strict) else {
        return;
    };
    let turns = fork.turns(HistoryView::Full);
    assert_eq!(turns.len(), 6);
    let last: serde_json::Value = serde_json::from_slice(turns[5].user.payload()).unwrap();
    assert_eq!(last["content"][0]["text"], "turn in the fork");
}

#[test]
fn pages_of_openclaws_reader_read_without_a_problem() {
    for (page, messages) in [(0, 2), (2, 4), (4, 1), (6, 4)] {
        let path = format!("samples/openclaw-delta-page-{page}.json");
        let Some(session) = recorded(&path, Strictness::Strict) else {
            return;
        };
        assert_eq!(session.view(HistoryView::Full).messages().count(), messages);
    }
}

#[test]
fn what_hosts_wrote_is_the_same_conversation_in_openclaws_form() {
    for path in [
        "transcripts/coding-session-990.jsonl",
        "samples/openclaw-transcript-events.jsonl",
        "samples/codex-rollout.jsonl",
        "samples/codex-rollout-fork.jsonl",
    ] {
        let Some(session) = recorded(path, Strictness::Lenient) else {
            return;
        };
        let mut written = Vec::new();
        session.export(Target::OpenClaw, &mut written).unwrap();
        let tree = read_from(&written[..], Strictness::Strict).unwrap();
        let payloads = |session: &Session| -> Vec<Bytes> {
            let view = session.view(HistoryView::Full);
            view.messages().map(|m| m.payload().clone()).collect()
        };
        assert_eq!(payloads(&tree), payloads(&session), "{path}");
    }
}
