//! Which rule of the contract is checked by what, and the claim that a run supports.

use crate::report::{Ending, Report};

/// The set of requirements, as engines claim it.
pub const VERSION: &str = "core-1.0";

/// Rule numbers and what checks them, or why nothing does.
const FILE: &str = include_str!("../requirements.yaml");

/// A rule of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Its number, `R3.4`.
    pub rule: &'static str,
    /// What covers it.
    pub by: Coverage,
}

/// What covers a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// These checks.
    Checks(Vec<&'static str>),
    /// Nothing here, for this reason.
    Nothing(&'static str),
}

/// Every rule, in the order of the file.
pub fn all() -> Vec<Requirement> {
    let entry = |line: &'static str| {
        let (rule, rest) = line.split_once(": ")?;
        let rule = rule.strip_prefix('R').map(|_| rule)?;
        let by = match rest.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(ids) => Coverage::Checks(ids.split(", ").collect()),
            None => Coverage::Nothing(rest.trim_matches('"')),
        };
        Some(Requirement { rule, by })
    };
    FILE.lines().filter_map(entry).collect()
}

/// The claim that a run supports, as a line; `None` where a MUST of the core profile is broken.
pub fn claim(report: &Report) -> Option<String> {
    if !report.is_good() {
        return None;
    }
    let mut profiles: Vec<_> = report
        .rows
        .iter()
        .filter(|row| row.outcome.ending != Ending::Skipped)
        .map(|row| row.check.profile)
        .collect();
    profiles.dedup();
    let names: Vec<_> = profiles.iter().map(|profile| profile.name()).collect();
    Some(format!(
        "{} conforms to contextengine.v1 {VERSION}: {} ({} checks passed, {} skipped)",
        report.engine,
        names.join(", "),
        report.count(Ending::Passed),
        report.count(Ending::Skipped),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::checks;

    #[test]
    fn every_check_is_named_under_each_of_its_rules_and_nothing_else_is() {
        let listed: BTreeSet<(&str, &str)> = all()
            .into_iter()
            .filter_map(|it| match it.by {
                Coverage::Checks(ids) => Some((it.rule, ids)),
                Coverage::Nothing(_) => None,
            })
            .flat_map(|(rule, ids)| ids.into_iter().map(move |id| (rule, id)))
            .collect();
        let table: BTreeSet<(&str, &str)> = checks::all()
            .flat_map(|check| check.rules.iter().map(|&rule| (rule, check.id)))
            .collect();
        assert_eq!(listed, table);
    }

    #[test]
    fn every_rule_is_there_once_and_says_something() {
        let mut seen = BTreeSet::new();
        for requirement in all() {
            assert!(seen.insert(requirement.rule), "{} twice", requirement.rule);
            match requirement.by {
                Coverage::Checks(ids) => assert!(!ids.is_empty()),
                Coverage::Nothing(why) => assert!(why.len() > 10, "{}", requirement.rule),
            }
        }
    }
}
