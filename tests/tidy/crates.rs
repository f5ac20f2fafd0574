//! Crate arrows, read from `cargo metadata`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{none, output};

/// Who may know whom in normal and build dependencies. A new crate needs a row.
const ARROWS: &[(&str, Knows)] = &[
    ("contextwire-engine", Knows::Only(&[])),
    ("contextwire-proto", Knows::Only(&["contextwire-engine"])),
    ("contextwire-store", Knows::Only(&["contextwire-engine"])),
    (
        "contextwire-ledger",
        Knows::Only(&["contextwire-engine", "contextwire-store"]),
    ),
    ("contextwire-legacy", Knows::Only(&["contextwire-engine"])),
    (
        "contextwire-lossless",
        Knows::Only(&[
            "contextwire-engine",
            "contextwire-legacy",
            "contextwire-store",
            "contextwire-windowed",
        ]),
    ),
    ("contextwire-windowed", Knows::Only(&["contextwire-engine"])),
    (
        "contextwire-server",
        Knows::Only(&["contextwire-engine", "contextwire-proto"]),
    ),
    (
        "contextwire-client",
        Knows::Only(&["contextwire-engine", "contextwire-proto"]),
    ),
    ("contextwire-codex", Knows::Only(&["contextwire-client"])),
    (
        "contextwire-host",
        Knows::Only(&["contextwire-client", "contextwire-legacy"]),
    ),
    (
        "contextwire-conformance",
        Knows::Only(&["contextwire-proto"]),
    ),
    ("contextwire", Knows::All),
    ("contextwire-tests", Knows::All),
    ("xtask", Knows::Only(&[])),
];

/// Engines that a crate may know besides, as optional dependencies that exactly this feature turns on.
const OPTIONAL: &[(&str, &str, &[&str])] = &[(
    "contextwire-client",
    "local",
    &["contextwire-legacy", "contextwire-windowed"],
)];

/// These two meet on the wire only, in tests as well.
const STRANGERS: (&str, &str) = ("contextwire-server", "contextwire-client");

#[derive(Debug, Clone, Copy)]
enum Knows {
    Only(&'static [&'static str]),
    All,
}

#[derive(Debug)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
    /// What each feature turns on.
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    kind: Kind,
    optional: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Normal and build dependencies: what a user of the crate gets.
    Shipped,
    Dev,
}

/// The packages of the workspace, with their dependencies on each other.
pub(super) fn names() -> Vec<String> {
    packages().into_iter().map(|package| package.name).collect()
}

fn packages() -> Vec<Package> {
    let args = [
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--no-deps",
    ];
    let metadata: Value = serde_json::from_slice(&output(env!("CARGO"), &args)).unwrap();
    let listed = metadata["packages"].as_array().unwrap();
    let ours: Vec<&str> = listed
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    listed.iter().map(|package| read(package, &ours)).collect()
}

fn read(package: &Value, ours: &[&str]) -> Package {
    let dependencies = package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dependency| Dependency {
            name: dependency["name"].as_str().unwrap().to_owned(),
            kind: if dependency["kind"] == "dev" {
                Kind::Dev
            } else {
                Kind::Shipped
            },
            optional: dependency["optional"] == true,
        });
    Package {
        name: package["name"].as_str().unwrap().to_owned(),
        dependencies: dependencies
            .filter(|dependency| ours.contains(&dependency.name.as_str()))
            .collect(),
        features: serde_json::from_value(package["features"].clone()).unwrap(),
    }
}

/// Whether the crate may have this dependency.
fn allowed(package: &Package, dependency: &Dependency, knows: Knows) -> bool {
    let pair = (package.name.as_str(), dependency.name.as_str());
    if pair == STRANGERS || (pair.1, pair.0) == STRANGERS {
        return false;
    }
    match knows {
        Knows::All => true,
        Knows::Only(_) if dependency.kind == Kind::Dev => true,
        Knows::Only(names) => names.contains(&pair.1) || behind_its_feature(package, dependency),
    }
}

fn behind_its_feature(package: &Package, dependency: &Dependency) -> bool {
    let row = OPTIONAL
        .iter()
        .find(|(name, _, engines)| *name == package.name && engines.contains(&&*dependency.name));
    let Some((_, feature, _)) = row else {
        return false;
    };
    let switch = format!("dep:{}", dependency.name);
    let mut switched_by = package
        .features
        .iter()
        .filter(|(_, on)| on.contains(&switch))
        .map(|(name, _)| name);
    dependency.optional
        && switched_by.next().is_some_and(|name| name == feature)
        && switched_by.next().is_none()
}

#[test]
fn crates_know_only_the_crates_that_the_architecture_allows() {
    let mut problems = Vec::new();
    for package in packages() {
        let Some((_, knows)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            problems.push(format!(
                "`{}` has no row in the table of arrows",
                package.name
            ));
            continue;
        };
        let bad = package
            .dependencies
            .iter()
            .filter(|dependency| !allowed(&package, dependency, *knows));
        problems.extend(bad.map(|Dependency { name, kind, .. }| {
            format!("`{}` -> `{name}` ({kind:?})", package.name)
        }));
    }
    none("These arrows between crates are not allowed", &problems);
}

#[test]
fn the_table_of_arrows_names_only_crates_that_exist() {
    let names = names();
    let gone = ARROWS
        .iter()
        .filter(|(name, _)| !names.iter().any(|known| known == name));
    let gone: Vec<String> = gone.map(|(name, _)| (*name).to_owned()).collect();
    none("These rows of the table have no crate", &gone);
}

#[test]
fn the_server_and_the_client_may_not_even_test_with_each_other() {
    let package = |name: &str| Package {
        name: name.to_owned(),
        dependencies: Vec::new(),
        features: BTreeMap::new(),
    };
    let dev = |name: &str| Dependency {
        name: name.to_owned(),
        kind: Kind::Dev,
        optional: false,
    };
    let (server, client) = STRANGERS;
    assert!(!allowed(&package(server), &dev(client), Knows::Only(&[])));
    assert!(!allowed(&package(client), &dev(server), Knows::Only(&[])));
    assert!(allowed(
        &package(server),
        &dev("contextwire-windowed"),
        Knows::Only(&[])
    ));
}

#[test]
fn an_engine_in_the_client_is_optional_and_behind_the_feature_local_alone() {
    let legacy = |optional| Dependency {
        name: "contextwire-legacy".to_owned(),
        kind: Kind::Shipped,
        optional,
    };
    let client = |features: &[(&str, &str)]| Package {
        name: "contextwire-client".to_owned(),
        dependencies: Vec::new(),
        features: features
            .iter()
            .map(|(name, on)| ((*name).to_owned(), vec![(*on).to_owned()]))
            .collect(),
    };
    let switch = "dep:contextwire-legacy";
    let good = client(&[("default", "local"), ("local", switch)]);
    assert!(allowed(&good, &legacy(true), Knows::Only(&[])));
    assert!(!allowed(&good, &legacy(false), Knows::Only(&[])));
    assert!(!allowed(
        &client(&[("default", switch), ("local", switch)]),
        &legacy(true),
        Knows::Only(&[])
    ));
    assert!(!allowed(
        &client(&[("other", switch)]),
        &legacy(true),
        Knows::Only(&[])
    ));
}
