//! Which endpoint a session's call goes to: a function of names and loads.
//!
//! Rendezvous hashing: every endpoint has a weight for every session, and the heaviest one that is
//! well takes the call. When one goes, only its own sessions move; when it comes back, the same ones
//! return. The load is bounded: an endpoint that has much more to do than its share is passed over.

use sha2::{Digest, Sha256};

/// Calls at once that are never too many for an endpoint: below that, staying is worth more than
/// evenness.
const NEVER_TOO_MANY: usize = 8;

/// How an endpoint stands; the better ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Nothing speaks against it.
    Well,
    /// It is not well by its own word, or did not answer: only where nobody is well.
    Unwell,
    /// Its circuit is open: a call would not go out.
    Open,
}

/// An endpoint at the moment of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Of this endpoint for this session.
    pub(super) weight: u64,
    pub(super) standing: Standing,
    /// Tries that are on their way to it.
    pub(super) running: usize,
}

/// The weight of an endpoint for a session. Equal for every host that knows the endpoint by the same
/// name and has the same key for affinity.
pub(super) fn weight(endpoint: &str, affinity: &str) -> u64 {
    let digest = Sha256::digest([endpoint.as_bytes(), &[0], affinity.as_bytes()].concat());
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(digest) {
        *to = from;
    }
    u64::from_be_bytes(first)
}

/// The places of the candidates in the order in which they are tried.
pub(super) fn order(candidates: &[Candidate]) -> Vec<usize> {
    let running: usize = candidates.iter().map(|it| it.running).sum();
    let well = candidates.iter().filter(|it| it.standing == Standing::Well);
    let bound = bound(running, well.count());
    let key = |it: &Candidate| {
        let excess = if it.running >= bound { it.running } else { 0 };
        (it.standing, excess, std::cmp::Reverse(it.weight))
    };
    let mut order: Vec<_> = candidates.iter().enumerate().collect();
    order.sort_by_key(|(_, it)| key(it));
    order.into_iter().map(|(at, _)| at).collect()
}

/// Five quarters of an even share of all calls, the new one included.
fn bound(running: usize, endpoints: usize) -> usize {
    let share = (running + 1) * 5;
    share.div_ceil(endpoints.max(1) * 4).max(NEVER_TOO_MANY)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 4] = ["unix:/a", "unix:/b", "unix:/c", "unix:/d"];

    fn first(session: usize, load: &[usize], standing: &[Standing]) -> usize {
        let affinity = format!("{session:032x}");
        let candidates = NAMES.iter().zip(load).zip(standing);
        let candidates: Vec<_> = candidates
            .map(|((name, running), standing)| Candidate {
                weight: weight(name, &affinity),
                standing: *standing,
                running: *running,
            })
            .collect();
        order(&candidates)[0]
    }

    #[test]
    fn a_session_stays_and_only_those_of_an_endpoint_that_went_move() {
        let well = [Standing::Well; 4];
        let mut without_b = well;
        without_b[1] = Standing::Unwell;
        let mut taken = HashSet::new();
        for session in 0..200 {
            let before = first(session, &[0; 4], &well);
            let after = first(session, &[0; 4], &without_b);
            taken.insert(before);
            assert!(before == after || before == 1, "{session}");
            assert_ne!(after, 1);
        }
        assert_eq!(taken.len(), 4, "every endpoint has sessions");
    }

    #[test]
    fn who_is_unwell_comes_before_whose_circuit_is_open_and_after_whoever_is_well() {
        use Standing::{Open, Unwell, Well};
        let standing = [Open, Unwell, Open, Well];
        let candidate = |(at, standing)| Candidate {
            weight: at,
            standing,
            running: 0,
        };
        let candidates: Vec<_> = (0..).zip(standing).map(candidate).collect();
        assert_eq!(order(&candidates), [3, 1, 2, 0]);
    }

    proptest! {
        #[test]
        fn an_endpoint_over_its_bound_is_passed_over_while_another_one_is_under_it(
            session in 0_usize..1000,
            load in proptest::collection::vec(0_usize..100, 4),
        ) {
            let chosen = first(session, &load, &[Standing::Well; 4]);
            let bound = bound(load.iter().sum(), 4);
            let some_under = load.iter().any(|it| *it < bound);
            prop_assert!(load[chosen] < bound || !some_under);
        }
    }
}
