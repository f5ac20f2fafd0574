use std::fs;

use super::*;
use crate::session::{HistoryView, read};

fn args(from: &Path, out: &Path) -> ConvertArgs {
    ConvertArgs {
        file: FileArgs {
            file: from.to_owned(),
            transcript: None,
        },
        to: TargetChoice::Openclaw,
        out: Some(out.to_owned()),
        force: false,
        lenient: false,
        json: false,
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name)
}

fn said(error: &anyhow::Error) -> String {
    format!("{error:#}")
}

#[test]
fn a_file_that_is_there_is_left_alone_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.jsonl");
    fs::write(&out, "precious").unwrap();
    let args = args(&fixture("codex-rollout.jsonl"), &out);
    let error = run(&args).unwrap_err();
    assert!(
        said(&error).ends_with("it exists already; --force overwrites it"),
        "{error:#}"
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
    run(&ConvertArgs {
        force: true,
        ..args
    })
    .unwrap();
    let session = read(&out, Strictness::Strict).unwrap();
    assert_eq!(session.turns(HistoryView::Full).len(), 3);
}

#[test]
fn nothing_is_left_behind_by_a_conversion_or_by_one_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let names = || -> Vec<_> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    run(&args(
        &fixture("pi-v1.jsonl"),
        &folder.path().join("a.jsonl"),
    ))
    .unwrap();
    assert_eq!(names(), ["a.jsonl"]);
    let missing = folder.path().join("none/b.jsonl");
    assert!(run(&args(&fixture("pi-v1.jsonl"), &missing)).is_err());
    assert_eq!(names(), ["a.jsonl"]);
}

#[test]
fn a_line_is_lost_only_when_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.jsonl");
    let text = fs::read_to_string(fixture("tree-v3.jsonl")).unwrap();
    fs::write(&damaged, text.replacen("\n{", "\noops\n{", 2)).unwrap();
    let out = folder.path().join("out.jsonl");
    let strict = args(&damaged, &out);
    let error = run(&strict).unwrap_err();
    assert!(
        said(&error).contains("2 problem(s): line 2: not JSON"),
        "{error:#}"
    );
    assert!(!out.exists());
    run(&ConvertArgs {
        lenient: true,
        ..strict
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&out).unwrap(), text);
}
