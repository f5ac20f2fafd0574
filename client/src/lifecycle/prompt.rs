//! Where an engine's addition to the system prompt goes.

use crate::options::Policy;

/// The system prompt of a run: what the provider caches, what it does not, and between them or, for a
/// host that guards its engine, in front of both, what the engine adds.
pub fn system_prompt(
    (cached, rest): (&str, &str),
    addition: Option<&str>,
    policy: Policy,
) -> String {
    let parts = match (addition, policy) {
        (None, _) => [cached, rest, ""],
        (Some(addition), Policy::Lease) => [cached, addition, rest],
        (Some(addition), Policy::Guarded | Policy::Direct) => [addition, cached, rest],
    };
    let said = parts.into_iter().filter(|part| !part.is_empty());
    said.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c148_an_addition_is_in_front_under_guard_and_behind_what_is_cached_under_a_lease() {
        let prompt = |addition, policy| system_prompt(("rules", "today"), addition, policy);
        let added = Some("be brief");
        assert_eq!(prompt(added, Policy::Guarded), "be brief\n\nrules\n\ntoday");
        assert_eq!(prompt(added, Policy::Lease), "rules\n\nbe brief\n\ntoday");
        for policy in [Policy::Guarded, Policy::Lease] {
            assert_eq!(prompt(None, policy), "rules\n\ntoday");
            assert_eq!(prompt(Some(""), policy), "rules\n\ntoday");
        }
    }
}
