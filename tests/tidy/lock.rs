//! What is locked: one version of each crate whose types cross our crates. What is built: one provider of cryptography.

use super::{none, output, workspace};

/// Two versions of one of these do not fit together: a service of the one is no service for the other.
const SINGLE: &[&str] = &["tonic", "prost", "tokio", "hyper", "h2", "http", "tower"];

/// With a second provider in the graph a TLS server panics at start unless one was installed first.
const BANNED: &[&str] = &["ring"];

fn versions<'a>(lock: &'a str, name: &str) -> Vec<&'a str> {
    let heading = format!("name = \"{name}\"");
    let entries = lock
        .split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == heading));
    entries
        .map(|entry| {
            entry
                .lines()
                .find_map(|line| line.strip_prefix("version = "))
                .unwrap()
        })
        .collect()
}

#[test]
fn crates_whose_types_cross_ours_are_locked_in_one_version() {
    let lock = std::fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    let doubled = SINGLE
        .iter()
        .map(|name| (name, versions(&lock, name)))
        .filter(|(_, found)| found.len() > 1);
    let doubled: Vec<String> = doubled
        .map(|(name, found)| format!("`{name}`: {}", found.join(", ")))
        .collect();
    none("These crates are locked in more than one version", &doubled);
    assert_eq!(
        versions(&lock, "tonic").len(),
        1,
        "the lock file is read as it is written"
    );
}

#[test]
fn no_second_provider_of_cryptography_is_built() {
    // The lock file also names what a crate could use and nobody turns on, so the graph is asked.
    let args = "tree --workspace --all-features --offline --edges normal,build --prefix none";
    let args: Vec<&str> = args.split(' ').collect();
    let tree = String::from_utf8(output(env!("CARGO"), &args)).unwrap();
    let is_built = |name: &str| {
        tree.lines()
            .any(|line| line.split(' ').next() == Some(name))
    };
    assert!(is_built("tokio"), "the tree is read as it is written");
    let found = BANNED.iter().filter(|name| is_built(name));
    let found: Vec<String> = found.map(|name| (*name).to_owned()).collect();
    none("These crates must not be in the build", &found);
}

#[test]
fn a_second_version_is_seen() {
    let lock = "[[package]]\nname = \"h2\"\nversion = \"0.3.1\"\n\n[[package]]\nname = \"h2\"\nversion = \"0.4.2\"\n";
    assert_eq!(versions(lock, "h2"), ["\"0.3.1\"", "\"0.4.2\""]);
    assert_eq!(versions(lock, "h"), [""; 0]);
}
