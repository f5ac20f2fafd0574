//! HOST-SEMANTICS 3.1 and 3.3 by the numbers of its cases.

use super::*;

fn target(port: u16) -> Target {
    format!("127.0.0.1:{port}").parse().unwrap()
}

fn engine(id: &str, owner: &str) -> Registration {
    Registration::new(id, owner, target(1))
}

fn discovered(id: &str, owner: &str) -> Registration {
    Registration {
        lifecycle: Lifecycle::ReadOnlyDiscovery,
        ..engine(id, owner)
    }
}

fn registry() -> EngineRegistry {
    EngineRegistry::new(Quarantines::new())
}

fn taken_by(outcome: Result<(), RegistrationError>) -> String {
    match outcome {
        Err(RegistrationError::Taken { existing_owner, .. }) => existing_owner,
        outcome => panic!("taken, not {outcome:?}"),
    }
}

fn records(registry: &EngineRegistry) -> Vec<(String, String)> {
    let records = registry.quarantines.records().into_iter();
    records
        .map(|record| (record.operation, record.reason))
        .collect()
}

#[test]
fn c001_a_blank_owner_is_an_error() {
    let registry = registry();
    assert_eq!(
        registry.register(engine("a", "  ")),
        Err(RegistrationError::BlankOwner)
    );
    assert_eq!(registry.registrations(), []);
}

#[test]
fn c002_the_built_in_engine_belongs_to_the_core() {
    let registry = registry();
    assert_eq!(taken_by(registry.register(engine("legacy", "me"))), "core");
    assert_eq!(registry.register(engine("legacy", "core")), Ok(()));
}

#[test]
fn c003_the_id_of_another_owner_is_refused_and_his_engine_stays() {
    let registry = registry();
    registry.register(engine("a", "first")).unwrap();
    let second = Registration::new("a", "second", target(2));
    assert_eq!(taken_by(registry.register(second)), "first");
    let Resolution::Engine(resolved) = registry.resolve(Some("a")) else {
        panic!("an engine")
    };
    assert_eq!(resolved.target, target(1));
}

#[test]
fn c004_without_the_right_to_refresh_the_owner_is_refused_too() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    let again = Registration {
        allow_same_owner_refresh: false,
        ..engine("a", "me")
    };
    assert_eq!(taken_by(registry.register(again)), "me");
}

#[test]
fn br_008_a_second_registration_of_the_same_owner_is_as_good_as_the_first() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    assert_eq!(registry.register(engine("a", " me ")), Ok(()));
    assert!(matches!(registry.resolve(Some("a")), Resolution::Engine(_)));
    assert_eq!(taken_by(registry.register(engine("a", "another"))), "me");
}

#[test]
fn br_009_an_engine_that_is_switched_off_is_a_plan_and_no_failure() {
    let off = || Registration {
        lifecycle: Lifecycle::Disabled,
        ..engine("my-engine", "plugin:my-plugin")
    };
    let disabled = Resolution::Downgraded(Downgrade::Disabled);
    // Nothing of it was ever seen in this process.
    let registry = registry();
    registry.register(off()).unwrap();
    assert_eq!(registry.resolve(Some("my-engine")), disabled);
    assert_eq!(records(&registry), []);
    // On again, in use, and off again while it is barred.
    registry
        .register(engine("my-engine", "plugin:my-plugin"))
        .unwrap();
    assert!(matches!(
        registry.resolve(Some("my-engine")),
        Resolution::Engine(_)
    ));
    let record = QuarantineRecord::new("my-engine", "assemble", "bug");
    registry.quarantines.bar(record);
    registry.register(off()).unwrap();
    assert_eq!(registry.resolve(Some("my-engine")), disabled);
}

#[test]
fn c006_discovery_never_replaces_an_engine_in_use() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    registry.register(discovered("a", "me")).unwrap();
    assert!(matches!(registry.resolve(Some("a")), Resolution::Engine(_)));
}

#[test]
fn c007_an_engine_to_use_replaces_a_discovered_one() {
    let registry = registry();
    registry.register(discovered("a", "me")).unwrap();
    registry.register(engine("a", "me")).unwrap();
    assert!(matches!(registry.resolve(Some("a")), Resolution::Engine(_)));
}

#[test]
fn c008_c009_no_slot_and_legacy_are_the_built_in_engine_without_a_record() {
    let registry = registry();
    for slot in [None, Some(""), Some("  "), Some("legacy"), Some(" legacy ")] {
        assert_eq!(registry.resolve(slot), Resolution::BuiltIn, "{slot:?}");
    }
    assert_eq!(records(&registry), []);
}

#[test]
fn c010_spaces_around_a_slot_are_ignored() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    assert!(matches!(
        registry.resolve(Some(" a ")),
        Resolution::Engine(_)
    ));
}

#[test]
fn c015_owners_of_plugins_name_them() {
    assert_eq!(
        engine("a", "plugin:lossless-claw").plugin(),
        Some("lossless-claw")
    );
    for owner in ["core", "public-sdk"] {
        assert_eq!(engine("a", owner).plugin(), None);
    }
}

#[test]
fn c016_the_list_of_the_process_is_one() {
    let id = "registered-in-c016";
    let registration = engine(id, "c016");
    EngineRegistry::process_wide()
        .register(registration.clone())
        .unwrap();
    assert_eq!(
        EngineRegistry::process_wide().resolve(Some(id)),
        Resolution::Engine(registration)
    );
    assert_eq!(EngineRegistry::process_wide().remove_owner("c016"), [id]);
}

#[tokio::test]
async fn c014_c018_each_client_is_a_new_one_under_the_id_of_its_slot() {
    let registry = registry();
    registry.register(engine("plugin-slot", "me")).unwrap();
    let Resolution::Engine(resolved) = registry.resolve(Some("plugin-slot")) else {
        panic!("an engine")
    };
    let options = ClientOptions::default();
    let client = registry.client(&resolved, &options).unwrap();
    let other = registry.client(&resolved, &options).unwrap();
    assert!(!Arc::ptr_eq(&client.known, &other.known));
    // What bars one of them bars the other: it goes by the slot, not by what the engine says.
    let record = QuarantineRecord::new("plugin-slot", "assemble", "bug");
    registry.quarantines.bar(record.clone());
    assert_eq!(client.quarantine(), Some(record.clone()));
    assert_eq!(other.quarantine(), Some(record));
}

#[test]
fn c019_c020_a_slot_without_an_engine_is_recorded_until_it_is_registered() {
    let registry = registry();
    let Resolution::Downgraded(Downgrade::Quarantined(record)) = registry.resolve(Some("ghost"))
    else {
        panic!("a record")
    };
    assert_eq!(
        (record.operation.as_str(), record.reason.as_str()),
        ("resolve", "not registered")
    );
    registry.register(engine("ghost", "me")).unwrap();
    assert_eq!(records(&registry), []);
    assert!(matches!(
        registry.resolve(Some("ghost")),
        Resolution::Engine(_)
    ));
}

#[test]
fn c026_a_discovered_engine_is_not_used_and_nothing_is_recorded() {
    let registry = registry();
    registry.register(discovered("a", "me")).unwrap();
    assert_eq!(
        registry.resolve(Some("a")),
        Resolution::Downgraded(Downgrade::DiscoveryOnly)
    );
    assert_eq!(records(&registry), []);
}

#[test]
fn c028_a_barred_engine_resolves_to_its_record_and_a_discovery_does_not_release_it() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    let record = QuarantineRecord::new("a", "assemble", "bug");
    registry.quarantines.bar(record.clone());
    registry.register(discovered("a", "me")).unwrap();
    for _ in 0..2 {
        assert_eq!(
            registry.resolve(Some("a")),
            Resolution::Downgraded(Downgrade::Quarantined(record.clone()))
        );
    }
    assert_eq!(records(&registry).len(), 1);
    registry.register(engine("a", "me")).unwrap();
    assert_eq!(records(&registry), []);
}

#[test]
fn removing_an_owner_removes_and_releases_his_engines_only() {
    let registry = registry();
    registry.register(engine("a", "me")).unwrap();
    registry.register(engine("b", "another")).unwrap();
    for id in ["a", "b"] {
        registry
            .quarantines
            .bar(QuarantineRecord::new(id, "assemble", "bug"));
    }
    assert_eq!(registry.remove_owner("me"), ["a"]);
    assert_eq!(records(&registry).len(), 1);
    assert!(matches!(
        registry.resolve(Some("a")),
        Resolution::Downgraded(_)
    ));
}
