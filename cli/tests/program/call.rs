//! `call HOOK --example` and what an engine makes of it.

use contextwire_engine::Hook;
use contextwire_engine::testing::RecordingEngine;
use contextwire_server::{Listen, Server};
use serde_json::Value;

use crate::run::{run, run_with_input, text};

/// Each hook that is called by hand, as the command names it.
const HOOKS: [(&str, Hook); 12] = [
    ("assemble", Hook::Assemble),
    ("ingest", Hook::Ingest),
    ("ingest-batch", Hook::IngestBatch),
    ("compact", Hook::Compact),
    ("bootstrap", Hook::Bootstrap),
    ("after-turn", Hook::AfterTurn),
    ("commit-turn", Hook::CommitTurn),
    ("maintain", Hook::Maintain),
    ("prepare-subagent-spawn", Hook::PrepareSubagentSpawn),
    ("resolve-subagent-spawn", Hook::ResolveSubagentSpawn),
    ("end-subagent", Hook::EndSubagent),
    ("dispose", Hook::Dispose),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_template_is_a_request_that_an_engine_answers() {
    // Describe has a command of its own.
    assert_eq!(HOOKS.len(), Hook::ALL.len() - 1);
    let engine = RecordingEngine::new();
    let loopback = Listen::Tcp("127.0.0.1:0".parse().unwrap());
    let bound = Server::new(engine.clone()).listen(loopback).bind().await;
    let bound = bound.unwrap();
    let target = bound.addresses()[0].to_string();
    let running = tokio::spawn(bound.run(std::future::pending()));
    for (name, hook) in HOOKS {
        let target = target.clone();
        let answer = tokio::task::spawn_blocking(move || {
            let example = run(&["call", name, "--example"]);
            assert!(example.status.success(), "{name}");
            run_with_input(&["call", name, &target, "--json", "-"], &example.stdout)
        });
        let answer = answer.await.unwrap();
        assert!(answer.status.success(), "{name}: {}", text(&answer.stderr));
        let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
        assert_eq!(answer["served_by"], "recording", "{name}");
        assert_eq!(engine.hooks().last(), Some(&hook));
    }
    running.abort();
}

#[test]
fn a_template_is_not_asked_for_together_with_a_request() {
    for args in [
        &["call", "ingest", "unix:/e.sock"][..],
        &["call", "ingest", "--json", "{}"],
        &["call", "ingest", "--example", "unix:/e.sock"],
        &["call", "ingest", "--example", "--json", "{}"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}
