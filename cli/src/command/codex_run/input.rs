//! The conversation: a line is a prompt or a command.

use contextwire_codex::{CodexError, CodexHost, CompactionReport, TurnReport};
use serde::Serialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::output;
use crate::report::{HostReport, compaction_line, turn_lines};

/// What a line asks for.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    Nothing,
    Prompt(&'a str),
    /// The engine's, with what is to be kept in mind.
    Compact(Option<&'a str>),
    CompactNatively,
    Status,
    Help,
    Quit,
    Unknown(&'a str),
}

const HELP: &str = "/compact [WHAT TO KEEP]  the engine makes room
/compact native          Codex compacts its own thread, and the next turn begins another
/status                  the engine, and what became of its calls
/quit                    ends; the session goes on the next time
anything else            is said to the model";

fn parse(line: &str) -> Line<'_> {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("", _) => Line::Nothing,
        ("/compact", "native") => Line::CompactNatively,
        ("/compact", "") => Line::Compact(None),
        ("/compact", instructions) => Line::Compact(Some(instructions)),
        ("/status", "") => Line::Status,
        ("/help", "") => Line::Help,
        ("/quit" | "/exit", "") => Line::Quit,
        (word, _)
            if word.starts_with('/') && !word.get(1..).is_some_and(|rest| rest.contains('/')) =>
        {
            Line::Unknown(word)
        }
        _ => Line::Prompt(line),
    }
}

/// Reads prompts until there are no more. A turn that fails ends nothing; a session that cannot be
/// stored ends it all.
pub(super) async fn converse(codex: &mut CodexHost, json: bool) -> anyhow::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let watched = !json && output::progress_is_watched();
    if watched {
        output::problem(format_args!("{}\n", codex.welcome()));
    }
    while let Some(line) = lines.next_line().await? {
        match parse(&line) {
            Line::Nothing => {}
            Line::Quit => return Ok(()),
            Line::Help => output::problem(HELP),
            Line::Unknown(word) => {
                let problem = format!("there is no command {word}: /help shows them");
                refused(&problem, json);
            }
            Line::Status => status(codex, json)?,
            Line::Prompt(prompt) => tell(codex.turn(prompt).await, json, show)?,
            Line::Compact(instructions) => {
                tell(codex.compact(instructions).await, json, show_compaction)?;
            }
            Line::CompactNatively => {
                tell(codex.compact_natively().await, json, show_compaction)?;
            }
        }
    }
    Ok(())
}

fn tell<T>(
    outcome: Result<T, CodexError>,
    json: bool,
    show: fn(&T, bool) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match outcome {
        Ok(report) => show(&report, json),
        Err(error) if error.is_final() => Err(error.into()),
        Err(error) => {
            refused(&format!("{:#}", anyhow::Error::from(error)), json);
            Ok(())
        }
    }
}

fn refused(problem: &str, json: bool) {
    if json {
        output::line(json!({ "status": "failed", "problem": problem }));
    } else {
        output::problem(format_args!("error: {problem}"));
    }
}

/// Shows a turn.
pub(super) fn show(report: &TurnReport, json: bool) -> anyhow::Result<()> {
    print(report, json, turn_lines)
}

fn show_compaction(report: &CompactionReport, json: bool) -> anyhow::Result<()> {
    print(report, json, compaction_line)
}

fn print<T: Serialize>(report: &T, json: bool, text: fn(&T) -> String) -> anyhow::Result<()> {
    if json {
        output::line(serde_json::to_string(report)?);
    } else {
        output::line(text(report));
    }
    Ok(())
}

fn status(codex: &CodexHost, json: bool) -> anyhow::Result<()> {
    let status = codex.host().status();
    if json {
        output::line(serde_json::to_string(&status)?);
    } else {
        output::line(HostReport(status).to_text(output::surface()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_prompt_unless_it_begins_with_a_command() {
        for (line, wanted) in [
            ("  ", Line::Nothing),
            ("say hello", Line::Prompt("say hello")),
            ("/etc/hosts is odd", Line::Prompt("/etc/hosts is odd")),
            ("/compact", Line::Compact(None)),
            ("/compact keep names", Line::Compact(Some("keep names"))),
            ("/compact native", Line::CompactNatively),
            ("/status", Line::Status),
            ("/quit", Line::Quit),
            ("/later", Line::Unknown("/later")),
        ] {
            assert_eq!(parse(line), wanted, "{line}");
        }
    }
}
