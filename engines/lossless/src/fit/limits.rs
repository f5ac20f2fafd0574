//! Shares of a budget.

/// The least that a tool result costs, however hard it is shortened, in tokens.
pub(crate) const MIN_RESULT_TOKENS: u32 = 96;
/// What a note in place of messages may cost without what it says of summaries, in tokens.
pub(crate) const NOTE_TOKENS: u64 = 112;
/// What a line of a note about a summary may cost beside its text.
pub(crate) const BRIEF_CHARS: usize = 160;
/// An invented first user message.
pub(crate) const OPENING_TOKENS: u64 = 32;
/// A tool result that costs more than the budget divided by this is cut, wherever it stands: what is
/// cut later would change what was sent before.
const OVERSIZE_SHARE: u64 = 4;
/// The most that a result outside the newest turn may cost once not everything fits. Not a share: with
/// a larger budget, longer results would leave room for fewer of them.
pub(crate) const PRESSED_RESULT_TOKENS: u32 = 4 * MIN_RESULT_TOKENS;
/// Entries of the fresh tail at most, once not everything fits.
pub(crate) const TAIL_MESSAGES: usize = 64;
/// Their tokens at most.
pub(crate) const TAIL_TOKENS: u64 = 4_000;
/// The smallest steps in which old entries give way, in tokens.
const MIN_STEP: u64 = 512;
/// Steps that the budget has at least.
const STEPS: u64 = 8;

/// The most that any tool result may cost.
pub(crate) fn oversize(share: Option<u64>) -> Option<u32> {
    let limit = |share: u64| u32::try_from(share / OVERSIZE_SHARE).unwrap_or(u32::MAX);
    share.map(|share| limit(share).max(PRESSED_RESULT_TOKENS))
}

/// The steps in which old entries may give way under a budget, each with the budget up to which it is
/// used. Coarse steps keep what was sent before for many turns; the finer ones of smaller budgets
/// remain, so that a larger budget never shows less.
pub(crate) fn steps(share: u64) -> Vec<(u64, u64)> {
    let mut steps = Vec::new();
    let mut step = MIN_STEP;
    loop {
        let next = step.saturating_mul(2);
        let top = next.saturating_mul(STEPS).saturating_sub(1);
        steps.push((step, share.min(top)));
        if top >= share {
            return steps;
        }
        step = next;
    }
}
