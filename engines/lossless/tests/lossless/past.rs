//! Looking back: what was sent at a turn comes out of the store byte for byte.

use std::sync::Arc;

use contextwire_engine::{Compact, ContextEngine, Message, TokenBudget, Transcript};
use contextwire_lossless::{LosslessEngine, LosslessOptions, PastSession, open_file};
use contextwire_windowed::Window;

use super::stub::Stub;
use super::support::*;

#[tokio::test]
async fn what_was_sent_at_each_turn_comes_back_after_later_compactions() {
    let place = Place::new();
    let options = LosslessOptions {
        summarizer: Arc::new(Stub::default()),
        ..LosslessOptions::default()
    };
    let engine = LosslessEngine::open(&place.path(), options).unwrap();
    let entries = long(240, 90);
    let mut sent = Vec::new();
    for before in (0..240).step_by(2) {
        let log: Transcript = entries[..before].iter().cloned().collect();
        after_turn(&engine, &call(), log.clone()).await;
        if before % 60 == 40 {
            let request = Compact {
                token_budget: TokenBudget::new(6_000),
                force: true,
                ..Compact::default()
            };
            assert!(engine.compact(&call(), request).await.unwrap().compacted);
        }
        let reply = assemble(&engine, &call(), &log, Some(6_000)).await;
        sent.push(payloads(&reply, &log));
    }
    after_turn(&engine, &call(), entries.into_iter().collect()).await;
    let file = open_file(&place.path()).unwrap();
    let past = PastSession::read(file.rows(), &name("s")).unwrap().unwrap();
    assert_eq!((past.entries(), past.turns()), (240, 120));
    let window = Window {
        budget: TokenBudget::new(6_000),
        ..Window::default()
    };
    for (turn, payloads) in (1..).zip(&sent) {
        let fitted = past
            .assemble_at(file.rows(), turn, window)
            .unwrap()
            .unwrap();
        let shown = super::support::payloads(&fitted.reply(), &Transcript::new());
        assert_eq!(shown, *payloads, "turn {turn}");
    }
    assert!(
        past.assemble_at(file.rows(), 121, window)
            .unwrap()
            .is_some()
    );
    assert!(
        past.assemble_at(file.rows(), 122, window)
            .unwrap()
            .is_none()
    );
    assert!(past.assemble_at(file.rows(), 0, window).unwrap().is_none());
    assert_eq!(past.faults(file.rows()).unwrap(), []);
    let standing = past.standing();
    assert!(standing[0].summary.is_some() && standing.last().unwrap().summary.is_none());
    let shown: u64 = standing.iter().map(|item| item.span.len()).sum();
    assert_eq!(shown, 240);
    let text = past
        .message(0)
        .as_ref()
        .map(Message::role)
        .map(str::to_owned);
    assert_eq!(text.as_deref(), Some("user"));
}
