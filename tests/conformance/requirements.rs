//! The requirements name every numbered rule of the design, where that lies beside the repository.

use std::collections::BTreeSet;

use contextwire_conformance::requirements;

use crate::tidy::workspace;

/// The numbers of rules that begin a rule: `[R3.4]`.
fn rules(text: &str) -> BTreeSet<String> {
    let numbers = text.split("[R").skip(1).filter_map(|rest| {
        let (number, _) = rest.split_once(']')?;
        let is_number = number.split('.').all(|part| part.parse::<u8>().is_ok());
        is_number.then(|| format!("R{number}"))
    });
    numbers.collect()
}

#[test]
fn every_numbered_rule_has_checks_or_a_reason() {
    let path = workspace().with_file_name("shared").join("PROTOCOL.md");
    let Ok(design) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let listed = requirements::all().into_iter().map(|it| it.rule.to_owned());
    let listed: BTreeSet<String> = listed.collect();
    assert_eq!(listed, rules(&design));
}

#[test]
fn a_rule_is_told_from_a_reference() {
    let text = "- [R1.1] is a rule, R1.2 and [1] are none. [R10.3] Two";
    assert_eq!(rules(text), ["R1.1", "R10.3"].map(str::to_owned).into());
}
