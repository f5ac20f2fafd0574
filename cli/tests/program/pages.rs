//! Completions and manual pages.

use crate::run::{run, text};

const COMMANDS: [&str; 21] = [
    "serve",
    "replay",
    "describe",
    "call",
    "generate",
    "bench",
    "audit",
    "doctor",
    "config",
    "session",
    "sessions",
    "show",
    "explain",
    "assemble-at",
    "stats",
    "pin",
    "erase",
    "status",
    "tokens",
    "completions",
    "man",
];

#[test]
fn every_shell_gets_completions_that_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = text(&output.stdout);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    let output = run(&["man", "--out", pages.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for command in COMMANDS {
        let page = pages.join(format!("contextwire-{command}.1"));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(pages.join("contextwire-call-assemble.1").exists());
    assert!(pages.join("contextwire.1").exists());
}
