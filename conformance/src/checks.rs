//! Every check, one file an area.

mod assemble;
mod callbacks;
mod cancel;
mod commit;
mod compact;
mod describe;
mod errors;
mod fencing;
mod fields;
mod frames;
mod health;
mod ingest;
mod lifecycle;
mod log;
mod must_understand;
mod projection;
mod sizes;
mod subagents;
mod sync;
mod update;

use crate::check::Check;

/// All checks, area by area.
pub fn all() -> impl Iterator<Item = &'static Check> {
    let areas = [
        describe::CHECKS,
        health::CHECKS,
        fields::CHECKS,
        must_understand::CHECKS,
        frames::CHECKS,
        ingest::CHECKS,
        assemble::CHECKS,
        compact::CHECKS,
        update::CHECKS,
        sync::CHECKS,
        errors::CHECKS,
        sizes::CHECKS,
        cancel::CHECKS,
        callbacks::CHECKS,
        log::CHECKS,
        commit::CHECKS,
        fencing::CHECKS,
        subagents::CHECKS,
        projection::CHECKS,
        lifecycle::CHECKS,
    ];
    areas.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_id_is_there_once() {
        let mut seen = BTreeSet::new();
        let twice: Vec<_> = all().filter(|check| !seen.insert(check.id)).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn every_check_names_a_rule() {
        assert!(all().all(|check| !check.rules.is_empty()));
    }
}
