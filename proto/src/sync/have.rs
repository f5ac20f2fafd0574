//! Which states an engine offers to start from, and which of them a host knows (R3.6).

use contextwire_engine::{Transcript, TranscriptState};

use crate::limits::HAVE_STATES;

/// The states that an engine can start from: of the newest list at its length n, then at n−1, n−2,
/// n−4 and so on; then the heads of the others. At most 32, none twice.
pub fn have<'a>(
    newest: Option<&Transcript>,
    others: impl IntoIterator<Item = &'a Transcript>,
) -> Vec<TranscriptState> {
    let steps = std::iter::once(0).chain((0..usize::BITS - 1).map(|power| 1 << power));
    let of_newest = newest.into_iter().flat_map(|list| {
        let lengths = steps.clone().map_while(|step| list.len().checked_sub(step));
        lengths
            .take_while(|&len| len > 0)
            .filter_map(|len| list.state_at(len))
    });
    let heads = others
        .into_iter()
        .map(Transcript::state)
        .filter(|state| state.count > 0);
    let mut offered = Vec::new();
    for state in of_newest.chain(heads) {
        if offered.len() == HAVE_STATES {
            break;
        }
        if !offered.contains(&state) {
            offered.push(state);
        }
    }
    offered
}

/// The longest offered state that is a beginning of `list`; the empty list when there is none.
///
/// A host answers with `list` over that beginning.
pub fn newest_known(offered: &[TranscriptState], list: &Transcript) -> TranscriptState {
    let known = offered.iter().filter(|state| list.starts_with(state));
    known
        .max_by_key(|state| state.count)
        .copied()
        .unwrap_or(TranscriptState::EMPTY)
}
