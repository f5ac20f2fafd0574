//! The kill table, as the documentation shows it.

use std::fmt::Write as _;

use super::{WITHOUT_MUTANT, all};

/// Every mutant with what it breaks and the checks that notice, in Markdown.
pub fn markdown() -> String {
    let mut text = String::from("| mutant | rules | its fault | fails |\n|---|---|---|---|\n");
    for mutant in all() {
        let _infallible = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            mutant.name,
            mutant.rules.join(", "),
            mutant.fault,
            mutant.fails.join(", "),
        );
    }
    text.push_str("\nNo mutant fails these checks:\n\n");
    for (id, why) in WITHOUT_MUTANT {
        let _infallible = writeln!(text, "- {id}: {why}.");
    }
    text
}
