//! Source files: their length; and of Rust files their first line, and statements that only look like checks.

use std::path::Path;

use super::{Text, none, rust_texts, texts};

const MAX_LINES: usize = 400;
const MAX_LIB_LINES: usize = 100;

#[test]
fn rust_files_are_short_enough_to_be_about_one_thing() {
    let over = |text: &Text| {
        let lines = text.body.lines().count();
        let limit = if text.name() == "lib.rs" {
            MAX_LIB_LINES
        } else {
            MAX_LINES
        };
        (lines > limit).then(|| format!("{}: {lines} lines, at most {limit}", text.path))
    };
    let problems: Vec<String> = rust_texts().filter_map(|text| over(&text)).collect();
    none("These files want to be split by concept", &problems);
}

#[test]
fn typescript_files_are_short_enough_to_be_about_one_thing() {
    let is_typescript = |text: &Text| {
        let extension = Path::new(&text.path).extension();
        extension.is_some_and(|extension| extension == "ts" || extension == "mjs")
    };
    let files: Vec<Text> = texts().into_iter().filter(is_typescript).collect();
    assert!(!files.is_empty(), "there are such files");
    let over = |text: &Text| {
        let lines = text.body.lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines, at most {MAX_LINES}", text.path))
    };
    let problems: Vec<String> = files.iter().filter_map(over).collect();
    none("These files want to be split by concept", &problems);
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    // The tests of a module say with their names what they are for.
    let modules = rust_texts().filter(|text| !text.path.ends_with("/tests.rs"));
    let silent = modules.filter(|text| !text.body.starts_with("//! "));
    let silent: Vec<String> = silent.map(|text| text.path).collect();
    none(
        "The first line of these files is not a `//!` sentence",
        &silent,
    );
}

#[test]
fn no_matches_stands_alone_as_a_statement() {
    let found = |text: &Text| -> Vec<String> {
        idle_matches(&text.body)
            .into_iter()
            .map(|line| format!("{}:{line}", text.path))
            .collect()
    };
    let problems: Vec<String> = rust_texts().flat_map(|text| found(&text)).collect();
    none(
        "These statements throw their verdict away (assert it)",
        &problems,
    );
}

/// `cargo xtask golden` runs the tests with that word in their name, and would leave any other file as it is.
#[test]
fn every_golden_file_is_written_by_the_command_for_it() {
    let switch = concat!("UPDATE_", "GOLDEN");
    let is_found = |text: &Text| {
        let named = |line: &str| line.contains("fn ") && line.contains("golden");
        text.path.contains("golden") || text.body.lines().any(named)
    };
    let switched = rust_texts().filter(|text| text.body.contains(switch));
    let lost: Vec<String> = switched
        .filter(|text| !is_found(text))
        .map(|text| text.path)
        .collect();
    none(
        "These files write golden files in a test without `golden` in its name",
        &lost,
    );
}

/// The lines where a `matches!` is a whole statement. Its end is found by its brackets.
fn idle_matches(body: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut offset = 0;
    // The end of the code before a line says whether a statement begins on it.
    let mut fresh = true;
    for (index, line) in body.split_inclusive('\n').enumerate() {
        let code = line.trim();
        if fresh && code.starts_with("matches!(") && closes_with_semicolon(&body[offset..]) {
            found.push(index + 1);
        }
        if !code.is_empty() && !code.starts_with("//") && !code.starts_with('#') {
            fresh = code.ends_with([';', '{', '}']);
        }
        offset += line.len();
    }
    found
}

fn closes_with_semicolon(rest: &str) -> bool {
    let mut depth = 0;
    for (index, letter) in rest.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return rest[index + 1..].starts_with(';');
        }
    }
    false
}

#[test]
fn an_idle_matches_is_told_from_one_that_is_used() {
    let call = "matches!(open(), Err(Version(1)))";
    let idle = |before: &str, after: &str| idle_matches(&format!("{before}{call}{after}"));
    assert_eq!(idle("fn f() {\n    ", ";\n}"), [2]);
    assert_eq!(idle("let a = 1;\n\n// why\n", ";"), [4]);
    assert_eq!(idle("fn f() -> bool {\n    ", "\n}"), [0; 0]);
    assert_eq!(idle("let wrong =\n    ", ";"), [0; 0]);
    assert_eq!(idle("assert!(", ");"), [0; 0]);
    assert_eq!(
        idle_matches("fn f() {\n    matches!(\n        a,\n        Some(1)\n    );\n}"),
        [2]
    );
}
