//! The in-process answer to Assemble (R7.13): the host's own list, fitted to the budget.

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, PromptAuthority, TokenBudget,
};
use contextwire_windowed::{Window, fit};

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
    let whole = request.reply(Assembled::keep(0..request.transcript.len()));
    let budget = request.token_budget.map_or(u64::MAX, TokenBudget::get);
    match whole {
        AssembleOutcome::Messages(reply) if reply.estimated_tokens <= budget => reply,
        AssembleOutcome::Messages(_) | AssembleOutcome::Unchanged(_) => {
            let settings = request.runtime_settings.as_ref();
            let window = Window {
                budget: request.token_budget,
                model: request.model.as_deref(),
                provider: settings.and_then(|settings| settings.provider.as_deref()),
                current_turn: request.current_turn,
            };
            fit(&request.transcript, &window)
        }
    }
}
