//! A session file: can it be read, and is anything in it lost?

use std::path::Path;

use crate::report::Finding;
use crate::session::{self, HistoryView, Strictness};

/// Problems of a file that are named before the rest is only counted.
const NAMED: usize = 10;

/// Every finding about the session in this file.
pub fn examine_session(path: &Path) -> Vec<Finding> {
    let recording = match session::read(path, Strictness::Lenient) {
        Ok(recording) => recording,
        Err(error) => {
            let advice = "name a session file, an engine's address or a configuration";
            return vec![Finding::problem("file", error.to_string(), advice)];
        }
    };
    let turns = recording.turns(HistoryView::Full);
    let view = recording.view(HistoryView::Full);
    let messages: Vec<_> = view.messages().collect();
    let mut findings = vec![Finding::ok(
        "file",
        format!("{} turns, {} messages", turns.len(), messages.len()),
    )];
    if turns.is_empty() {
        findings.push(Finding::warning(
            "turns",
            "no user message",
            "there is no turn to replay",
        ));
    }
    let without_id = messages
        .iter()
        .filter(|message| message.message().entry_id().as_str().is_empty())
        .count();
    findings.push(match without_id {
        0 => Finding::ok("ids", "every message has one"),
        some => Finding::warning(
            "ids",
            format!("{some} messages have none"),
            "engines tell them apart by place and content only, and cannot rewrite them",
        ),
    });
    let problems = recording.problems();
    findings.extend(problems.iter().take(NAMED).map(|problem| {
        let advice = "replay goes on without it; --strict refuses the file";
        Finding::warning("line", problem.to_string(), advice)
    }));
    if problems.len() > NAMED {
        let more = problems.len() - NAMED;
        let advice = "replay --json names all of them";
        findings.push(Finding::warning("line", format!("{more} more"), advice));
    }
    findings
}
