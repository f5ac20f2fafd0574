//! Calls and the results that go with them, in a log that is not read as a whole.

use std::collections::BTreeSet;

use crate::entry::Log;

/// How many entries around a place are looked at for the start of a turn, or for the rest of a pair.
pub(crate) const LOOK_AROUND: u64 = 256;

/// A place with the call that it answers, and the results of the calls that it makes.
pub(crate) fn pair_of(log: &dyn Log, place: u64) -> BTreeSet<u64> {
    let mut places = BTreeSet::new();
    let Some(entry) = log.entry(place) else {
        return places;
    };
    let mut caller = place;
    if let Some(id) = entry.message().tool_result_for() {
        let low = place.saturating_sub(LOOK_AROUND);
        let calls = |at: &u64| {
            let entry = log.entry(*at);
            entry.is_some_and(|entry| entry.message().tool_call_ids().iter().any(|own| own == id))
        };
        match (low..place).rev().find(calls) {
            Some(at) => caller = at,
            // A result alone cannot be sent.
            None => return places,
        }
    }
    places.extend([caller, place]);
    let Some(call) = log.entry(caller) else {
        return places;
    };
    let mut open: BTreeSet<&str> = call
        .message()
        .tool_call_ids()
        .iter()
        .map(String::as_str)
        .collect();
    let high = log.end().min(caller + LOOK_AROUND);
    for at in caller + 1..high {
        if open.is_empty() {
            break;
        }
        let entry = log.entry(at);
        let answered = entry
            .as_ref()
            .and_then(|entry| entry.message().tool_result_for());
        if answered.is_some_and(|id| open.remove(id)) {
            places.insert(at);
        }
    }
    places
}
