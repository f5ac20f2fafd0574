//! ARCHITECTURE.md is a map of what is there: every crate, and no crate that is not there.

use super::crates::names;
use super::{none, workspace};

const MAP: &str = "ARCHITECTURE.md";

fn map() -> String {
    std::fs::read_to_string(workspace().join(MAP))
        .unwrap_or_else(|error| panic!("{MAP} cannot be read: {error}"))
}

/// The words of a text that can be crate names: a path or a file name is one word with its dots and slashes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    text.split(move |letter| !inside(letter))
        .map(|word| word.trim_end_matches('.'))
}

/// Whether a word can only mean a crate of ours.
fn is_crate_name(word: &str) -> bool {
    let rest = word.strip_prefix("contextwire-");
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && rest
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-')
    })
}

#[test]
fn the_architecture_names_every_crate() {
    let map = map();
    let missing: Vec<String> = names()
        .into_iter()
        .filter(|name| !words(&map).any(|word| word == name))
        .collect();
    none("ARCHITECTURE.md does not name these crates", &missing);
}

#[test]
fn every_crate_in_the_architecture_exists() {
    let (map, names) = (map(), names());
    let gone =
        words(&map).filter(|word| is_crate_name(word) && !names.iter().any(|name| name == word));
    let gone: Vec<String> = gone.map(str::to_owned).collect();
    none(
        "ARCHITECTURE.md names these crates, which do not exist",
        &gone,
    );
}

#[test]
fn a_crate_name_is_told_from_a_path_and_a_metric() {
    let text = "`contextwire-engine` serves contextwire-demo.sock, contextwire_calls_total; also contextwire-proto.";
    let found: Vec<&str> = words(text).filter(|word| is_crate_name(word)).collect();
    assert_eq!(found, ["contextwire-engine", "contextwire-proto"]);
}
