//! `doctor` with a configuration.

use std::process::Output;

use serde_json::Value;

use crate::run::{Service, run};

fn findings(output: &Output) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    findings
        .map(|row| {
            (
                word(&row["severity"]),
                word(&row["check"]),
                word(&row["found"]),
            )
        })
        .collect()
}

#[test]
fn a_configuration_is_judged_whole_and_then_the_engine_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contextwire.toml");
    let socket: &[&str] = if cfg!(unix) {
        &["--socket", "none"]
    } else {
        &[]
    };
    let service = Service::start(
        &[&["--engine", "windowed", "--listen", "127.0.0.1:0"], socket].concat(),
        1,
    );
    let address = &service.addresses[0];
    let listen = address.strip_prefix("http://").unwrap();
    let body =
        format!("[host]\ntarget = '{address}'\n[server]\nlisten = '{listen}'\nmax_streams = 4\n");
    let none = if cfg!(unix) { "socket = 'none'\n" } else { "" };
    std::fs::write(&file, format!("{body}{none}")).unwrap();
    let file = file.to_str().unwrap();

    let good = run(&["doctor", "--json", file]);
    assert_eq!(good.status.code(), Some(0));
    let found = findings(&good);
    assert_eq!(found[0].0, "ok");
    let limits = found.iter().find(|row| row.1 == "limits").unwrap();
    assert!(limits.2.contains("server.max_streams (4)"), "{limits:?}");
    let reached = found.iter().filter(|row| row.1 == "reach").count();
    assert_eq!(reached, 1, "the engine is there once: {found:?}");

    std::fs::write(file, format!("{body}{none}max_hoks = 1\n[sever]\n")).unwrap();
    let bad = run(&["doctor", "--json", file]);
    assert_eq!(bad.status.code(), Some(1));
    let found = findings(&bad);
    let wrong = found.iter().filter(|row| row.0 == "problem").count();
    assert_eq!(wrong, 2, "{found:?}");
    assert!(found.iter().any(|row| row.1 == "reach"), "{found:?}");
}

#[test]
fn a_service_that_does_not_run_yet_is_no_problem_and_an_engine_that_is_called_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contextwire.toml");
    let examine = |body: &str| {
        std::fs::write(&file, body).unwrap();
        run(&["doctor", "--json", file.to_str().unwrap()])
    };
    #[cfg(unix)]
    {
        let output = examine("[server]\nsocket = 'nothing.sock'\n");
        assert_eq!(output.status.code(), Some(0));
        let found = findings(&output);
        assert!(found.iter().any(|row| row.1 == "service"), "{found:?}");
    }
    let output = examine("[host]\ntarget = 'unix:nothing.sock'\n");
    assert_eq!(output.status.code(), Some(1));
}
