//! The in-process answer to Assemble (R7.13): the host's own list, fitted to the budget.

use std::sync::Once;

use contextwire_engine::tokens::{self, ModelFamily};
use contextwire_engine::{Assemble, AssembleOutcome, AssembleReply, Assembled, PromptAuthority};
use contextwire_windowed::{Window, fit};

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

/// What the model sees when the engine does not say: the host's list as it is where it fits, else
/// cut by the windowed engine's rules. Kept messages are the caller's own objects. The authority
/// never lets a host skip its overflow check.
pub(crate) async fn assemble(request: Assemble) -> AssembleReply {
    let whole = 0..request.transcript.len();
    // Counting a long list for the first time is work that must not hold up the host's executor.
    let fitted = tokio::task::spawn_blocking(move || fitted(&request)).await;
    let reply = fitted.unwrap_or_else(|error| {
        tracing::error!(%error, "the list is passed through without a count");
        AssembleReply {
            messages: Assembled::keep(whole),
            ..AssembleReply::default()
        }
    });
    AssembleReply {
        prompt_authority: Some(PromptAuthority::PreassemblyMayOverflow),
        ..reply
    }
}

fn fitted(request: &Assemble) -> AssembleReply {
    let window = Window::of(request);
    match request.reply(Assembled::keep(0..request.transcript.len())) {
        AssembleOutcome::Messages(whole) if window.holds(whole.estimated_tokens) => whole,
        AssembleOutcome::Messages(_) | AssembleOutcome::Unchanged(_) => {
            fit(&request.transcript, &window)
        }
    }
}
