//! Engines that break one rule on purpose: a check that none of them fails is no check.
//!
//! A mutant is a change to what an honest engine hears and says. [`Front`] stands before one and
//! makes it; without a change it is as if nobody were there.

mod answers;
mod calls;
mod errors;
mod fields;
mod front;
mod results;
mod stores;
mod streams;
pub mod table;

use std::fmt;

use bytes::Bytes;
use contextwire_proto::v1;
use tonic::Status;

pub use front::Front;

/// What is known of a call while it runs.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// The method's name; of another service than the engine's, its whole path.
    pub method: String,
    /// The host's first message.
    pub first: Bytes,
    /// Bytes of the call's metadata.
    pub metadata_bytes: usize,
    /// Something that a change noted about this call.
    pub is_marked: bool,
}

/// Changes a message, or several come of it, or none.
pub type OnRequest = fn(&mut Exchange, Bytes) -> Vec<Bytes>;
/// Changes a message of the engine, or fails the call instead.
pub type OnResponse = fn(&Exchange, Bytes) -> Result<Vec<Bytes>, Status>;
/// Answers in the engine's place, which never hears of the call.
pub type OnCall = fn(&Exchange) -> Option<Result<Bytes, Status>>;
/// Changes a failure, or answers instead.
pub type OnFailure = fn(&Exchange, Status) -> Result<Vec<Bytes>, Status>;

/// What a mutant changes.
#[derive(Clone, Copy, Default)]
pub struct Change {
    /// What the engine hears.
    pub request: Option<OnRequest>,
    /// What it says.
    pub response: Option<OnResponse>,
    /// Calls that it never hears of.
    pub call: Option<OnCall>,
    /// How it fails.
    pub failure: Option<OnFailure>,
    /// Its description, for this host.
    pub info: Option<fn(&mut v1::EngineInfo, &v1::HostIdentity)>,
    /// What it shows, for this request.
    pub shown: Option<fn(&mut v1::AssembledMessages, &v1::AssembleStart)>,
    /// What calls say of themselves.
    pub context: Option<fn(&mut v1::CallContext)>,
    /// A method that it answers without doing anything.
    pub instead: Option<&'static str>,
    /// What it hears of a preparation.
    pub prepare: Option<fn(&mut v1::PrepareSubagentSpawnRequest)>,
    /// Messages that it refuses to ingest.
    pub refuses: Option<fn(&v1::Message) -> bool>,
    /// The engine's words wait for the host's half-close.
    pub waits_for_half_close: bool,
    /// The engine never hears of the host's half-close.
    pub hides_half_close: bool,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change").finish_non_exhaustive()
    }
}

/// An engine with one fault.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name, as `serve --mutant` takes it.
    pub name: &'static str,
    /// The rules that it breaks.
    pub rules: &'static [&'static str],
    /// What it does wrong.
    pub fault: &'static str,
    /// The checks that it has to fail; it may fail others as well.
    pub fails: &'static [&'static str],
    /// Whether the honest engine behind it refuses unknown fields.
    pub is_strict: bool,
    /// How.
    pub change: Change,
}

/// No change at all.
const NONE: Change = Change {
    request: None,
    response: None,
    call: None,
    failure: None,
    info: None,
    shown: None,
    context: None,
    instead: None,
    prepare: None,
    refuses: None,
    waits_for_half_close: false,
    hides_half_close: false,
};

const fn mutant(
    name: &'static str,
    rules: &'static [&'static str],
    fault: &'static str,
    fails: &'static [&'static str],
    change: Change,
) -> Mutant {
    Mutant {
        name,
        rules,
        fault,
        fails,
        is_strict: false,
        change,
    }
}

/// Checks that no mutant fails, and why none can.
pub const WITHOUT_MUTANT: [(&str, &str); 7] = [
    (
        "E-ROB-04",
        "the fault is a server's that ends other connections, which no change of messages makes",
    ),
    ("E-LIF-03", "needs a control command; tried by hand"),
    ("E-LIF-07", "needs a control command; tried by hand"),
    ("E-LIF-08", "needs a control command; tried by hand"),
    ("E-IDM-07", "needs a control command; tried by hand"),
    ("E-SUB-11", "needs a control command; tried by hand"),
    ("E-TIM-12", "needs a control command; tried by hand"),
];

/// Every mutant.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    let areas = [
        answers::MUTANTS,
        calls::MUTANTS,
        streams::MUTANTS,
        results::MUTANTS,
        errors::MUTANTS,
        stores::MUTANTS,
    ];
    areas.into_iter().flatten()
}

/// The mutant of that name.
pub fn find(name: &str) -> Option<&'static Mutant> {
    all().find(|mutant| mutant.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::check::Level;
    use crate::checks;

    #[test]
    fn every_must_has_a_mutant_that_fails_it_or_a_reason() {
        let failed: BTreeSet<&str> = all().flat_map(|mutant| mutant.fails).copied().collect();
        let excused: BTreeSet<&str> = WITHOUT_MUTANT.iter().map(|(id, _)| *id).collect();
        let musts = checks::all().filter(|check| check.level == Level::Must);
        let missing: Vec<_> = musts
            .map(|check| check.id)
            .filter(|id| failed.contains(id) == excused.contains(id))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn mutants_fail_checks_that_exist_and_have_names_of_their_own() {
        let ids: BTreeSet<&str> = checks::all().map(|check| check.id).collect();
        let mut names = BTreeSet::new();
        for mutant in all() {
            assert!(names.insert(mutant.name), "{} twice", mutant.name);
            let unknown: Vec<_> = mutant
                .fails
                .iter()
                .filter(|id| !ids.contains(*id))
                .collect();
            assert!(unknown.is_empty(), "{}: {unknown:?}", mutant.name);
        }
    }
}
