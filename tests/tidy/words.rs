//! Words that no source file contains: stubs, promises without a reference, tests that do not run.

use super::{Text, none, texts};

/// Data and prose may speak of anything; these hold what is built and run.
const SOURCES: &[&str] = &[
    "rs", "proto", "toml", "yaml", "yml", "sh", "mjs", "ts", "py", "go",
];

/// A promise needs a place where it is kept, in brackets right after the word.
const PROMISES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

const STUBS: &[&str] = &[concat!("to", "do!"), concat!("unimple", "mented!")];
const IGNORED: &str = concat!("#[", "ignore");

fn is_source(text: &Text) -> bool {
    let name = text.name();
    !name.contains('.')
        || name
            .rsplit('.')
            .next()
            .is_some_and(|extension| SOURCES.contains(&extension))
}

/// Says where in the sources a line breaks a rule.
fn lines_where(is_bad: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts().into_iter().filter(is_source) {
        let bad = text
            .body
            .lines()
            .enumerate()
            .filter(|(_, line)| is_bad(line));
        found.extend(
            bad.map(|(index, line)| format!("{}:{}: {}", text.path, index + 1, line.trim())),
        );
    }
    found
}

fn is_open_promise(line: &str) -> bool {
    let referenced = |rest: &str| {
        rest.strip_prefix('(')
            .is_some_and(|rest| !rest.starts_with(')') && rest.contains(')'))
    };
    let open = |word: &str| {
        line.match_indices(word)
            .any(|(at, _)| !referenced(&line[at + word.len()..]))
    };
    PROMISES.iter().any(|word| open(word))
}

#[test]
fn a_promise_names_the_place_where_it_is_kept() {
    none(
        "These promises have no reference",
        &lines_where(is_open_promise),
    );
}

#[test]
fn nothing_is_a_stub() {
    let is_stub = |line: &str| STUBS.iter().any(|stub| line.contains(stub));
    none(
        "These lines stand for code that is not there",
        &lines_where(is_stub),
    );
}

#[test]
fn every_test_runs() {
    none(
        "These tests do not run",
        &lines_where(|line| line.contains(IGNORED)),
    );
}

#[test]
fn a_promise_with_a_reference_is_told_from_one_without() {
    let word = PROMISES[0];
    assert!(is_open_promise(&format!("// {word}: later")));
    assert!(is_open_promise(&format!("// {word}(): later")));
    assert!(is_open_promise(&format!(
        "// {word}(a): later, {word} as well"
    )));
    assert!(!is_open_promise(&format!(
        "// {word}(the tracker's number): later"
    )));
    assert!(!is_open_promise("// all done"));
}
