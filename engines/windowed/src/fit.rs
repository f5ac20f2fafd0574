//! The window of a list for a budget.

use contextwire_engine::tokens::ModelFamily;
use contextwire_engine::{
    Assemble, AssembleReply, Assembled, CurrentTurn, PromptAuthority, TokenBudget, Transcript,
};

use crate::clean::Reader;
use crate::render::{Piece, Renderer};
use crate::select::{Selection, select};
use crate::slice::{GoOn, Slice};
use crate::unit::turns;

/// What a window is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window<'a> {
    /// Ceiling in tokens; without one, everything valid is kept.
    pub budget: Option<TokenBudget>,
    /// Id of the model that will read it: decides how tokens are counted and whose thinking stays.
    pub model: Option<&'a str>,
    /// The model's provider.
    pub provider: Option<&'a str>,
    /// Whether the list holds the current turn. With it, the result ends where the model has to
    /// answer; without it, the host appends the prompt.
    pub current_turn: CurrentTurn,
}

impl<'a> Window<'a> {
    /// The window that a request asks for.
    pub fn of(request: &'a Assemble) -> Self {
        let settings = request.runtime_settings.as_ref();
        let model = request.model.as_deref();
        Self {
            budget: request.token_budget,
            model: model.or_else(|| settings?.resolved_model.as_deref()),
            provider: settings.and_then(|settings| settings.provider.as_deref()),
            current_turn: request.current_turn,
        }
    }

    /// Whether so many tokens by estimate are sure to fit.
    pub fn holds(&self, estimated_tokens: u64) -> bool {
        self.share().is_none_or(|share| estimated_tokens <= share)
    }

    /// What may be filled by estimate, in tokens, so that the real size stays within the budget.
    pub fn share(&self) -> Option<u64> {
        let family = ModelFamily::of_model(self.model);
        self.budget
            .map(|budget| share_of(budget, self.model, family))
    }
}

/// Fits a list to a window.
///
/// The result is at most the budget (by the upper bound of the estimate, where the model is named and
/// its encoding unknown), or says by [`PromptAuthority::PreassemblyMayOverflow`] that it
/// is not, or that the newest turn did not fit whole. Kept messages are ranges of the transcript;
/// inserts are shortened or cleaned forms of its messages, or invented ones, which are synthetic.
pub fn fit(transcript: &Transcript, window: &Window<'_>) -> AssembleReply {
    fit_while(transcript, window, &|| true).unwrap_or_default()
}

/// The same, stopped between messages as soon as `go_on` says so; then there is no answer.
pub(crate) fn fit_while(
    transcript: &Transcript,
    window: &Window<'_>,
    go_on: GoOn<'_>,
) -> Option<AssembleReply> {
    let family = ModelFamily::of_model(window.model);
    let budget = window.share();
    let slice = Slice::of(transcript, family, budget, go_on)?;
    let reader = Reader {
        provider: window.provider,
        model: window.model,
    };
    let renderer = Renderer::new(&slice, family, reader);
    let selection = select(&renderer, turns(&slice, window.current_turn), budget, go_on)?;
    Some(reply(selection, budget))
}

/// What may be filled of a budget by estimate, so that the real size stays within it (A02). A named
/// model whose encoding is unknown may need more tokens than estimated.
fn share_of(budget: TokenBudget, model: Option<&str>, family: ModelFamily) -> u64 {
    match (family, model) {
        (ModelFamily::Other, Some(_)) => {
            budget.get() - budget.get() / (1 + ModelFamily::OTHER_MARGIN)
        }
        (ModelFamily::Other, None) | (ModelFamily::O200k | ModelFamily::Cl100k, _) => budget.get(),
    }
}

fn reply(selection: Selection, budget: Option<u64>) -> AssembleReply {
    let Selection { units, is_cut } = selection;
    let mut messages = Assembled::new();
    let (mut reasons, mut estimated_tokens) = (Vec::new(), 0);
    for item in units.into_iter().flat_map(|unit| unit.items) {
        estimated_tokens += u64::from(item.tokens);
        match item.piece {
            Piece::Keep(index) => messages.push_keep(index..index + 1),
            Piece::Insert(message) => messages.push_insert(message),
        }
        // A kept message that touched the range before it made no segment of its own.
        if reasons.len() < messages.segments().len() {
            reasons.push(item.reason.to_owned());
        }
    }
    let is_over = budget.is_some_and(|budget| estimated_tokens > budget);
    let authority = if is_over || is_cut {
        PromptAuthority::PreassemblyMayOverflow
    } else {
        PromptAuthority::Assembled
    };
    AssembleReply {
        messages,
        estimated_tokens,
        prompt_authority: Some(authority),
        reasons,
        ..AssembleReply::default()
    }
}
