//! The in-process answer to Assemble (R7.13): the host's own list, joined to what the engine made of
//! its past, and fitted to the budget.

use std::sync::Once;

use contextwire_engine::tokens::{self, ModelFamily};
use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, Message, PromptAuthority, Segment,
    Transcript,
};
use contextwire_windowed::{Window, fit};

use crate::fallback::{LastGood, join};
use crate::options::FallbackEngine;

/// Loads what the first answer would have to wait for, once a process.
pub(crate) fn warm_up() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        // Nobody waits for it; a call that needs it meanwhile loads it itself.
        drop(tokio::task::spawn_blocking(|| {
            tokens::count_text(ModelFamily::O200k, "warm")
        }));
    });
}

/// What the model sees when the engine does not say. Kept messages are the caller's own objects. The
/// authority never lets a host skip its overflow check, and there is no projection.
pub(crate) async fn assemble(
    request: Assemble,
    engine: FallbackEngine,
    last: LastGood,
) -> AssembleReply {
    let messages = request.transcript.len();
    let reply = contained(messages, move || match engine {
        FallbackEngine::LastGood => with_last_good(&request, last),
        FallbackEngine::Legacy => counted(&request, Assembled::keep(0..messages)),
    });
    AssembleReply {
        prompt_authority: Some(PromptAuthority::PreassemblyMayOverflow),
        ..reply.await
    }
}

/// An answer beside the host's executor, which counting a long list for the first time would hold
/// up. One that breaks is the whole list, so that the caller never loses a turn to it and sees the
/// engine's failure, not this one (HOST-SEMANTICS 3.4).
async fn contained(
    messages: usize,
    answer: impl FnOnce() -> AssembleReply + Send + 'static,
) -> AssembleReply {
    let answer = tokio::task::spawn_blocking(answer);
    answer.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the list is passed through without a count");
        AssembleReply {
            messages: Assembled::keep(0..messages),
            ..AssembleReply::default()
        }
    })
}

fn with_last_good(request: &Assemble, last: LastGood) -> AssembleReply {
    let list = &request.transcript;
    let context = last.context.as_ref();
    let joined = context.and_then(|(base, messages)| join(base, messages, list));
    let whole = || Assembled::keep(0..list.len());
    let answer = counted(request, joined.clone().unwrap_or_else(whole));
    let window = Window::of(request);
    let answer = match joined {
        _ if window.holds(answer.estimated_tokens) => answer,
        None => fit(list, &window),
        Some(joined) => fit_joined(list, &joined, &window),
    };
    AssembleReply {
        system_prompt_addition: last.system_prompt_addition,
        ..answer
    }
}

/// A context with its estimate.
fn counted(request: &Assemble, messages: Assembled) -> AssembleReply {
    match request.reply(messages.clone()) {
        AssembleOutcome::Messages(reply) => reply,
        AssembleOutcome::Unchanged(_) => AssembleReply {
            messages,
            ..AssembleReply::default()
        },
    }
}

/// The window of a joined context, as ranges of the host's list again.
fn fit_joined(list: &Transcript, joined: &Assembled, window: &Window<'_>) -> AssembleReply {
    let pieces = pieces(joined);
    let flat: Transcript = joined.messages(list).cloned().collect();
    let fitted = fit(&flat, window);
    let mut messages = Assembled::new();
    for segment in fitted.messages.segments() {
        match segment {
            Segment::Insert(message) => messages.push_insert(message.clone()),
            Segment::Keep(range) => {
                for piece in pieces.get(range.clone()).unwrap_or_default() {
                    match piece {
                        Piece::Own(index) => messages.push_keep(*index..*index + 1),
                        Piece::Engines(message) => messages.push_insert(message.clone()),
                    }
                }
            }
        }
    }
    AssembleReply {
        messages,
        // They were told of segments that are others now.
        reasons: Vec::new(),
        ..fitted
    }
}

/// A message of a joined context.
enum Piece {
    /// The host's, by its index.
    Own(usize),
    /// One that the engine put there.
    Engines(Message),
}

fn pieces(joined: &Assembled) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(joined.len());
    for segment in joined.segments() {
        match segment {
            Segment::Keep(range) => pieces.extend(range.clone().map(Piece::Own)),
            Segment::Insert(message) => pieces.push(Piece::Engines(message.clone())),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use contextwire_engine::TokenBudget;

    use super::*;

    fn list(len: usize) -> Transcript {
        let role = |n: usize| ["user", "assistant"][n % 2];
        let text = "lorem ipsum dolor sit amet ".repeat(8);
        let payload = |n| format!(r#"{{"role":"{}","content":"{n} {text}"}}"#, role(n));
        (0..len)
            .map(|n| Message::from_payload(payload(n)).with_entry_id(format!("e{n}")))
            .collect()
    }

    fn summary() -> Message {
        Message::from_payload(r#"{"role":"user","content":"what was said before"}"#)
    }

    /// A summary of the first thousand messages, then the others.
    fn last(len: usize) -> LastGood {
        let mut messages = Assembled::new();
        messages.push_insert(summary());
        messages.push_keep(1000..len);
        LastGood {
            context: Some((list(len), messages)),
            system_prompt_addition: Some("be brief".to_owned()),
        }
    }

    fn request(len: usize, budget: u64) -> Assemble {
        Assemble {
            transcript: list(len),
            token_budget: TokenBudget::new(budget),
            ..Assemble::default()
        }
    }

    #[tokio::test]
    async fn r7_13_the_joined_context_is_given_where_it_fits() {
        let request = request(1013, 100_000);
        let view = request.transcript.clone();
        let reply = assemble(request, FallbackEngine::LastGood, last(1011)).await;
        assert_eq!(reply.messages.len(), 1 + 13);
        assert_eq!(reply.messages.messages(&view).next(), Some(&summary()));
        assert_eq!(
            reply.prompt_authority,
            Some(PromptAuthority::PreassemblyMayOverflow)
        );
        assert_eq!(reply.system_prompt_addition.as_deref(), Some("be brief"));
        assert_eq!(reply.context_projection, None);
        assert!(reply.estimated_tokens > 100, "an honest estimate");
    }

    #[tokio::test]
    async fn r7_13_a_joined_context_over_the_budget_is_cut_by_the_windowed_rules() {
        let request = request(1400, 2_000);
        let view = request.transcript.clone();
        let reply = assemble(request, FallbackEngine::LastGood, last(1399)).await;
        assert!(reply.estimated_tokens <= 2_000);
        assert_eq!(reply.messages.check(view.len()), Ok(()));
        let kept: Vec<_> = reply.messages.messages(&view).collect();
        assert!(kept.len() > 10);
        assert!(
            kept.iter()
                .filter(|message| !message.is_synthetic())
                .all(|kept| view.iter().any(|own| own.is_same_object(kept))),
            "the host's own objects"
        );
    }

    #[tokio::test]
    async fn r7_13_fallback_legacy_is_the_plain_list_whatever_the_engine_said() {
        let request = request(1400, 2_000);
        let reply = assemble(request, FallbackEngine::Legacy, last(1399)).await;
        assert_eq!(reply.messages, Assembled::keep(0..1400));
        assert_eq!(reply.system_prompt_addition, None);
        assert_eq!(
            reply.prompt_authority,
            Some(PromptAuthority::PreassemblyMayOverflow)
        );
        assert!(reply.estimated_tokens > 2_000, "an honest estimate");
    }

    #[tokio::test]
    async fn c049_an_in_process_answer_that_breaks_is_the_list_as_it_is() {
        let reply = contained(7, || panic!("as the test wants")).await;
        assert_eq!(reply.messages, Assembled::keep(0..7));
    }

    #[tokio::test]
    async fn r7_13_without_a_last_result_the_list_is_fitted() {
        let request = request(1400, 2_000);
        let reply = assemble(request, FallbackEngine::LastGood, LastGood::default()).await;
        assert!(reply.estimated_tokens <= 2_000);
        assert!(!reply.reasons.is_empty());
    }
}
