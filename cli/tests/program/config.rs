//! `config`, and the commands that read a configuration.

use std::path::Path;

use serde_json::Value;

use crate::run::{Service, program, run, text};

fn written(folder: &Path, body: &str) -> String {
    let path = folder.join("contextwire.toml");
    std::fs::write(&path, body).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn print_shows_each_value_with_the_layer_that_it_is_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "[server]\nmax_hooks = 3\nmax_streams = 9\n");
    let printed = program(&["config", "print", "--json", "--config", &file])
        .args(["--budget", "7"])
        .env("CONTEXTWIRE_SERVER_MAX_STREAMS", "4")
        .output()
        .unwrap();
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let of = |key: &str| {
        let values = printed["values"].as_array().unwrap();
        let row = values.iter().find(|row| row["key"] == key).unwrap();
        (row["value"].clone(), row["origin"].clone())
    };
    let (value, origin) = of("server.max_hooks");
    assert_eq!((value, &origin["line"]), (3.into(), &Value::from(2)));
    assert_eq!(origin["path"], file.as_str());
    let (value, origin) = of("server.max_streams");
    assert_eq!(value, "4".parse::<u64>().unwrap());
    assert_eq!(origin["name"], "CONTEXTWIRE_SERVER_MAX_STREAMS");
    let (value, origin) = of("host.budget");
    assert_eq!((value, &origin["name"]), (7.into(), &"--budget".into()));
    assert_eq!(of("doctor.deadline").1["kind"], "default");
}

#[test]
fn check_names_every_problem_and_exits_with_three() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(
        folder.path(),
        "[server]\nmax_hoks = 3\nmax_hooks = 0\n[sever]\n",
    );
    for command in [&["config", "check"][..], &["config", "print"]] {
        let checked = program(command).args(["--config", &file]).output().unwrap();
        assert_eq!(checked.status.code(), Some(3));
        let said = text(&checked.stdout);
        for found in [
            ":2 ",
            ":3 ",
            ":4 ",
            "did you mean server.max_hooks?",
            "3 problems",
        ] {
            assert!(said.contains(found), "{found}: {said}");
        }
    }
    let good = written(folder.path(), "[server]\nmax_hooks = 3\n");
    assert!(
        run(&["config", "check", "--config", &good])
            .status
            .success()
    );
    let missing = run(&["config", "check", "--config", "missing.toml"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn schema_is_json() {
    let schema = run(&["config", "schema"]);
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(schema["properties"]["server"]["type"], "object");
}

#[test]
fn serve_runs_what_the_file_says_and_refuses_one_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let body = "[engine]\nname = 'legacy'\n[server]\nsocket = 'none'\nlisten = '127.0.0.1:0'\n\
                max_hooks = 5\nmax_message_bytes = '5MiB'\n";
    let socket = if cfg!(unix) {
        body.to_owned()
    } else {
        body.replace("socket = 'none'\n", "")
    };
    let file = written(folder.path(), &socket);
    let service = Service::start(&["--config", &file], 1);
    let described = run(&["describe", "--json", &service.addresses[0]]);
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    assert_eq!(described["id"], "legacy");
    assert_eq!(described["limits"]["max_concurrent_hooks"], 5);
    assert_eq!(described["limits"]["max_message_bytes"], 5 << 20);

    let wrong = written(folder.path(), "[server]\nmax_hooks = 0\nmax_streams = -1\n");
    let refused = run(&["serve", "--config", &wrong]);
    assert_eq!(refused.status.code(), Some(3));
    let said = text(&refused.stderr);
    assert!(said.contains(":2: server.max_hooks"), "{said}");
    assert!(said.contains(":3: server.max_streams"), "{said}");
}

#[test]
fn replay_calls_the_configured_engine_unless_it_is_told_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let socket: &[&str] = if cfg!(unix) {
        &["--socket", "none"]
    } else {
        &[]
    };
    let legacy = [&["--engine", "legacy", "--listen", "127.0.0.1:0"], socket].concat();
    let service = Service::start(&legacy, 1);
    let body = format!("[host]\ntarget = '{}'\nbudget = 0\n", service.addresses[0]);
    let file = written(folder.path(), &body);
    let served_by = |more: &[&str]| {
        let args = ["replay", "--json", "--config", &file];
        let replayed = program(&args).args(more).output().unwrap();
        assert!(replayed.status.success(), "{}", text(&replayed.stderr));
        let report: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        report["turns"][0]["served_by"].as_str().unwrap().to_owned()
    };
    assert_eq!(served_by(&[]), "legacy");
    assert_eq!(served_by(&["--engine", "windowed"]), "windowed");
}

#[test]
fn audit_looks_where_the_configured_engine_stores() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(
        folder.path(),
        "[engine]\nname = 'ledger'\nstore = 'mine.sqlite3'\n",
    );
    let session = folder.path().join("session.jsonl");
    let session = session.to_str().unwrap();
    assert!(run(&["generate", session]).status.success());
    let audited = run(&["audit", session, "--config", &file]);
    assert_eq!(audited.status.code(), Some(3));
    assert!(text(&audited.stderr).contains("mine.sqlite3"));
}

#[test]
fn replay_ends_with_the_engines_failure_where_nothing_is_to_stand_in_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let body = "[host]\ntarget = 'unix:nothing.sock'\n";
    let file = written(folder.path(), body);
    let replay = |more: &[&str]| {
        let args = ["replay", "--config", &file];
        program(&args).args(more).output().unwrap()
    };
    let failed = replay(&["--on-engine-failure", "fail"]);
    let cannot_be_reached = Some(4);
    assert_eq!(failed.status.code(), cannot_be_reached);
    for policy in ["direct", "guarded", "lease"] {
        assert!(replay(&["--policy", policy]).status.success(), "{policy}");
    }
}
