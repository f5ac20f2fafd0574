//! A real recorded session through the windowed engine over a socket: every user turn at several
//! budgets, and the same with the engine killed on the way.

use std::path::{Path, PathBuf};

use contextwire::session::{HistoryView, SAMPLE, Strictness, Turn, read, read_from};
use contextwire_client::{Context, EngineClient, Served, ServedBy};
use contextwire_engine::{
    Assemble, AssembleOutcome, CurrentTurn, PromptAuthority, Segment, TokenBudget, Transcript,
};
use contextwire_windowed::WindowedEngine;

use crate::harness::{Place, session};

const BUDGETS: [u64; 4] = [2_000, 8_000, 60_000, 200_000];

/// The recorded session, or a word on why the test is skipped.
fn recorded() -> Option<Vec<Turn>> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/transcripts/coding-session-990.jsonl");
    if !path.exists() {
        println!("skipped: {} is not here", path.display());
        return None;
    }
    Some(
        read(&path, Strictness::Strict)
            .unwrap()
            .turns(HistoryView::Full),
    )
}

/// The session that the repository ships.
fn shipped() -> Vec<Turn> {
    read_from(SAMPLE.as_bytes(), Strictness::Strict)
        .unwrap()
        .turns(HistoryView::Full)
}

/// The list of a turn, grown from the list of the turn before.
fn grow(list: &mut Transcript, before: Option<&Turn>, turn: &Turn) {
    let added = before.and_then(|before| turn.view.added_since(&before.view));
    match added {
        Some(added) => list.extend(added.map(|message| message.message().clone())),
        None => {
            *list = turn
                .view
                .messages()
                .map(|message| message.message().clone())
                .collect();
        }
    }
}

async fn assemble(client: &EngineClient, list: &Transcript, budget: u64) -> Served<Context> {
    let request = Assemble {
        transcript: list.clone(),
        current_turn: CurrentTurn::Included,
        token_budget: TokenBudget::new(budget),
        ..Assemble::default()
    };
    client
        .assemble(&session("recorded"), request)
        .await
        .unwrap()
}

/// Within the budget or flagged; kept messages are the caller's own objects; the newest is there.
fn is_sound(context: &Context, list: &Transcript, budget: u64) {
    let AssembleOutcome::Messages(reply) = &context.outcome else {
        panic!("messages")
    };
    let flagged = reply.prompt_authority == Some(PromptAuthority::PreassemblyMayOverflow);
    assert!(
        reply.estimated_tokens <= budget || flagged,
        "{} of {budget}",
        reply.estimated_tokens
    );
    let messages: Vec<_> = context.messages().collect();
    assert!(!messages.is_empty());
    let mut at = 0;
    for segment in reply.messages.segments() {
        match segment {
            Segment::Keep(range) => {
                for own in range.clone() {
                    assert!(
                        messages[at].is_same_object(list.get(own).unwrap()),
                        "index {own}"
                    );
                    at += 1;
                }
            }
            Segment::Insert(message) => {
                assert_eq!(messages[at], message);
                at += 1;
            }
        }
    }
    assert_eq!(at, messages.len());
    let newest = list.last().unwrap();
    assert!(
        messages
            .iter()
            .any(|message| message.payload() == newest.payload())
    );
}

/// Every turn at this budget, all served by the engine; the bytes of each turn.
async fn every_turn(turns: &[Turn], place: &Place, budget: u64) -> Vec<u64> {
    let running = place.serve(WindowedEngine::new()).await;
    let client = place.client();
    let (mut list, mut before, mut sent) = (Transcript::new(), None, Vec::new());
    for turn in turns {
        grow(&mut list, before, turn);
        let served = assemble(&client, &list, budget).await;
        assert_eq!(
            served.by,
            ServedBy::Engine("windowed".to_owned()),
            "turn {}: {:?}",
            turn.number,
            served.reason
        );
        is_sound(&served.result, &list, budget);
        sent.push(served.traffic.bytes_sent());
        before = Some(turn);
    }
    running.stop().await.unwrap();
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_of_a_recorded_session_is_served_by_the_engine_at_every_budget() {
    let Some(turns) = recorded() else { return };
    let payload: u64 = turns
        .last()
        .unwrap()
        .view
        .messages()
        .map(|m| m.payload().len() as u64)
        .sum();
    let mut runs: Vec<_> = BUDGETS
        .into_iter()
        .map(|budget| (Place::new(), budget))
        .collect();
    runs.push((Place::tcp(), BUDGETS[1]));
    for (place, budget) in runs {
        let sent: u64 = every_turn(&turns, &place, budget).await.iter().sum();
        assert!(
            sent < payload * 3 / 2,
            "{sent} bytes in all turns, the session has {payload}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_of_the_shipped_session_is_served_by_the_engine_at_every_budget() {
    let turns = shipped();
    for budget in BUDGETS {
        every_turn(&turns, &Place::new(), budget).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_killed_on_the_way_is_replaced_and_takes_over_again() {
    let turns = recorded().unwrap_or_else(shipped);
    let (killed, back) = (turns.len() / 3, turns.len() * 2 / 3);
    let place = Place::new();
    let mut running = Some(place.serve(WindowedEngine::new()).await);
    let client = place.direct();
    let (mut list, mut before, mut origins) = (Transcript::new(), None, Vec::new());
    for (at, turn) in turns.iter().enumerate() {
        if at == killed {
            running.take().unwrap().kill().await;
        }
        if at == back {
            running = Some(place.serve(WindowedEngine::new()).await);
        }
        grow(&mut list, before, turn);
        let served = assemble(&client, &list, 60_000).await;
        is_sound(&served.result, &list, 60_000);
        origins.push((served.by, served.reason.map(|reason| reason.code())));
        before = Some(turn);
    }
    let engine = (ServedBy::Engine("windowed".to_owned()), None);
    let substitute = (ServedBy::InProcess, Some("UNREACHABLE"));
    assert!(
        origins[..killed].iter().all(|origin| *origin == engine),
        "{origins:?}"
    );
    assert!(
        origins[killed..back]
            .iter()
            .all(|origin| *origin == substitute),
        "{origins:?}"
    );
    assert!(
        origins[back..].iter().all(|origin| *origin == engine),
        "{origins:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_turn_of_a_session_of_every_format_is_served_by_the_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/sessions");
    for name in [
        "codex-rollout.jsonl",
        "codex-fork-of-fork.jsonl",
        "codex-old.jsonl",
        "codex-bare.jsonl",
        "pi-v1.jsonl",
        "tree-v4.jsonl",
        "pages.json",
    ] {
        let session = read(&folder.join(name), Strictness::Strict).unwrap();
        for history in [HistoryView::Full, HistoryView::Recorded] {
            let turns = session.turns(history);
            assert!(!turns.is_empty(), "{name}");
            every_turn(&turns, &Place::new(), 8_000).await;
        }
    }
}
