//! The report of what is in a session file.

use std::fmt::Write as _;

use serde::Serialize;

use super::figure::{bytes, grouped, moment, span};
use super::table::{Column, Form, Surface, Tone, draw};

/// What is in a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionStats {
    /// Form of the file.
    pub format: String,
    /// Version of that form; 0 where it has none.
    pub version: u64,
    /// The session's id.
    pub id: Option<String>,
    /// Its newest model.
    pub model: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// First time in it, in milliseconds since the Unix epoch.
    pub started_ms: Option<i64>,
    /// Last time in it.
    pub ended_ms: Option<i64>,
    /// From the first to the last.
    pub duration_ms: u64,
    /// Lines that are not blank, or rows; of a fork those that it took over as well.
    pub lines: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// User turns of the conversation.
    pub turns: u64,
    /// Turns that an answer follows.
    pub answered: u64,
    /// Compactions of the conversation.
    pub compactions: u64,
    /// Resets of it.
    pub resets: u64,
    /// Ends of the tree; 1 where nothing was tried twice.
    pub branches: u64,
    /// Entries by their type, most first.
    pub entries: Vec<EntriesOfType>,
    /// Messages by their role, most first.
    pub messages: Vec<MessagesOfRole>,
    /// Texts of the conversation by their kind, largest first.
    pub texts: Vec<TextsOfKind>,
    /// What is wrong with the file.
    pub problems: Vec<ReportedProblem>,
}

/// Entries of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EntriesOfType {
    /// The type.
    pub entry_type: String,
    /// How many.
    pub entries: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// Messages of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessagesOfRole {
    /// The role.
    pub role: String,
    /// How many, abandoned branches included.
    pub messages: u64,
    /// How many of them are part of the conversation.
    pub in_conversation: u64,
    /// Bytes of all their payloads.
    pub bytes: u64,
    /// Estimated tokens of all of them.
    pub tokens: u64,
}

/// Texts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TextsOfKind {
    /// The kind.
    pub kind: String,
    /// Bytes of them.
    pub bytes: u64,
    /// Estimated tokens.
    pub tokens: u64,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportedProblem {
    /// Line or row.
    pub line: u64,
    /// All about it in words.
    pub message: String,
    /// Whether the line was left out.
    pub skipped: bool,
}

const fn column(title: &'static str, form: Form, spare: u8) -> Column {
    Column { title, form, spare }
}

const ENTRIES: [Column; 3] = [
    column("entry", Form::Name, 0),
    column("entries", Form::Number, 0),
    column("size", Form::Number, 1),
];

const MESSAGES: [Column; 5] = [
    column("role", Form::Name, 0),
    column("messages", Form::Number, 0),
    column("in conversation", Form::Number, 2),
    column("size", Form::Number, 1),
    column("tokens", Form::Number, 0),
];

const TEXTS: [Column; 3] = [
    column("text", Form::Name, 0),
    column("size", Form::Number, 1),
    column("tokens", Form::Number, 0),
];

impl SessionStats {
    /// Facts and tables, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let plain = |cells: Vec<String>| (Tone::Plain, cells);
        let entries = self.entries.iter().map(|row| {
            let cells = [
                row.entry_type.clone(),
                grouped(row.entries),
                bytes(row.bytes),
            ];
            plain(cells.to_vec())
        });
        let messages = self.messages.iter().map(|row| {
            plain(vec![
                row.role.clone(),
                grouped(row.messages),
                grouped(row.in_conversation),
                bytes(row.bytes),
                grouped(row.tokens),
            ])
        });
        let texts = self.texts.iter().map(|row| {
            plain(vec![
                row.kind.clone(),
                bytes(row.bytes),
                grouped(row.tokens),
            ])
        });
        format!(
            "{}\n{}\n\n{}\n\n{}\n",
            self.facts(),
            draw(&ENTRIES, entries.collect(), on),
            draw(&MESSAGES, messages.collect(), on),
            draw(&TEXTS, texts.collect(), on)
        )
    }

    fn facts(&self) -> String {
        let version = match self.version {
            0 => String::new(),
            version => format!(" version {version}"),
        };
        let mut facts = vec![
            ("session", self.id.clone().unwrap_or_default()),
            ("format", format!("{}{version}", self.format)),
            ("model", self.model.clone().unwrap_or_default()),
            ("folder", self.cwd.clone().unwrap_or_default()),
            ("time", self.time()),
            (
                "size",
                format!("{} in {} lines", bytes(self.bytes), grouped(self.lines)),
            ),
            ("turns", self.turns()),
            ("branches", grouped(self.branches)),
        ];
        if !self.problems.is_empty() {
            facts.push(("problems", grouped(self.problems.len() as u64)));
        }
        let mut text = String::new();
        for (name, value) in facts {
            if !value.is_empty() {
                let value = super::prose::harmless(&value);
                let _fits = writeln!(text, "{name:9} {value}").is_ok();
            }
        }
        text
    }

    fn time(&self) -> String {
        if self.started_ms.is_none() {
            return String::new();
        }
        format!(
            "{} to {} ({})",
            moment(self.started_ms),
            moment(self.ended_ms),
            span(self.duration_ms)
        )
    }

    fn turns(&self) -> String {
        let mut turns = format!(
            "{}, {} answered",
            grouped(self.turns),
            grouped(self.answered)
        );
        for (count, what) in [(self.compactions, "compactions"), (self.resets, "resets")] {
            if count > 0 {
                let _fits = write!(turns, ", {} {what}", grouped(count)).is_ok();
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_facts_first_and_absent_ones_not_at_all() {
        let stats = SessionStats {
            format: "codex-rollout".into(),
            id: Some("s\u{1b}[2J".into()),
            started_ms: Some(1_769_900_000_000),
            ended_ms: Some(1_769_903_600_000),
            duration_ms: 3_600_000,
            lines: 1_200,
            bytes: 2_048,
            turns: 3,
            answered: 2,
            compactions: 1,
            branches: 1,
            entries: vec![EntriesOfType {
                entry_type: "message".into(),
                entries: 7,
                bytes: 900,
            }],
            ..SessionStats::default()
        };
        let text = stats.to_text(Surface::Plain);
        let facts: Vec<_> = text.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(
            facts,
            [
                "session   s [2J",
                "format    codex-rollout",
                "time      2026-01-31 22:53:20 to 2026-01-31 23:53:20 (1h 0m)",
                "size      2.0 KiB in 1,200 lines",
                "turns     3, 2 answered, 1 compactions",
                "branches  1",
            ]
        );
        assert!(text.contains("| message |       7 | 900 B |"), "{text}");
        let json = serde_json::to_value(&stats).unwrap();
        assert_eq!(json["entries"][0]["entry_type"], "message");
    }
}
