//! What no tracked file names: folders of one machine, and the servers of package registries.

use super::{Text, none, texts};

/// Folders that exist on the machine of one developer.
const FOLDERS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
];

/// A folder beside the repository. Only recorded sessions may be looked for in it, by tests that do without them.
const BESIDE: &str = concat!("../sha", "red/");
const SESSIONS: &str = "transcripts";

/// Which server a package comes from is a setting of the machine that builds.
const REGISTRIES: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("registry.yarnpkg", ".com"),
    concat!("pypi", ".org"),
    concat!("files.pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
];

/// What a line names that it must not.
fn named(line: &str) -> Option<&'static str> {
    let folder = FOLDERS.iter().find(|folder| {
        line.match_indices(*folder)
            .any(|(at, _)| begins_a_path(&line[..at]))
    });
    let beside = line
        .match_indices(BESIDE)
        .any(|(at, _)| !line[at + BESIDE.len()..].starts_with(SESSIONS));
    let registry = REGISTRIES.iter().find(|host| line.contains(*host));
    folder.or(registry).copied().or(beside.then_some(BESIDE))
}

/// Whether a `/` after this text is the root, and not the end of a folder's or a host's name.
fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|letter: char| letter.is_alphanumeric() || "._-~}*".contains(letter))
}

#[test]
fn no_file_names_a_folder_of_one_machine_or_the_server_of_a_registry() {
    let found = |text: &Text| -> Vec<String> {
        let lines = text.body.lines().enumerate();
        let bad = lines.filter_map(|(index, line)| Some((index + 1, named(line)?)));
        bad.map(|(number, word)| format!("{}:{number}: {word}", text.path))
            .collect()
    };
    let problems: Vec<String> = texts().iter().flat_map(found).collect();
    none("These lines tie the repository to one machine", &problems);
}

#[test]
fn a_folder_of_one_machine_is_told_from_a_part_of_a_path() {
    let [first, ..] = FOLDERS else {
        panic!("there are folders")
    };
    assert_eq!(named(&format!("see {first}main")), Some(*first));
    assert_eq!(named(&format!("\"{first}main\"")), Some(*first));
    assert_eq!(named(&format!("docs{first}main")), None);
    assert_eq!(named(&format!("{BESIDE}notes.md")), Some(BESIDE));
    assert_eq!(named(&format!("{BESIDE}{SESSIONS}/a.jsonl")), None);
    assert_eq!(
        named(&format!("from {}", REGISTRIES[0])),
        Some(REGISTRIES[0])
    );
    assert_eq!(named("https://crates.io/crates/tonic"), None);
}
