//! An engine that a command runs for itself.

use super::run::{run, text};

#[cfg(unix)]
#[test]
fn a_replay_runs_the_engine_that_its_target_names() {
    let target = format!(
        "spawn:{} serve --engine windowed",
        env!("CARGO_BIN_EXE_contextwire")
    );
    let replayed = run(&["replay", "--target", &target, "--json"]);
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    let report: serde_json::Value = serde_json::from_slice(&replayed.stdout).unwrap();
    let turns = report["turns"].as_array().unwrap();
    assert!(!turns.is_empty());
    for turn in turns {
        assert_eq!(turn["served_by"], "windowed", "{turn}");
    }
}

#[cfg(unix)]
#[test]
fn a_target_that_ends_at_once_is_said_to_do_so() {
    let looked = run(&["describe", "spawn:sh -c 'echo no such store >&2; exit 3'"]);
    assert!(!looked.status.success());
    let said = text(&looked.stderr);
    assert!(said.contains("code 3"), "{said}");
}
