//! A session as people read it: its turns, one turn whole, or its entries.

use std::fmt::Write as _;

use console::Style;
use serde::Serialize;

use super::figure::{bytes, grouped, moment};
use super::prose::{harmless, one_line, wrapped};
use super::table::{Column, Form, Surface, Tone, draw};

/// Columns of the start of a text where nothing says how wide a line may be.
const PLAIN_COLUMNS: usize = 100;

/// Columns that the other cells of a row take at most, roughly.
const OTHER_COLUMNS: usize = 46;

/// The turns of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownTurns {
    /// The session's id.
    pub session: Option<String>,
    /// Form of the file.
    pub format: String,
    /// Turns that are not among these: older ones.
    pub left_out: u64,
    /// In order.
    pub turns: Vec<ShownTurn>,
}

/// A turn in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownTurn {
    /// Counted from 1.
    pub turn: u64,
    /// Line of its user message.
    pub line: u64,
    /// Id of its user message.
    pub entry_id: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub time_ms: Option<i64>,
    /// Messages, that of the user included.
    pub messages: u64,
    /// Estimated tokens of them.
    pub tokens: u64,
    /// Whether an answer follows.
    pub answered: bool,
    /// What happened before it: `compacted`, `reset`, or nothing.
    pub before: Option<String>,
    /// What the user said.
    pub text: String,
}

/// A turn whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownWhole {
    /// The session's id.
    pub session: Option<String>,
    /// Counted from 1.
    pub turn: u64,
    /// In order.
    pub messages: Vec<ShownMessage>,
    /// Lines of a message that are drawn at most; 0 is all of them.
    #[serde(skip)]
    pub most_lines: usize,
}

/// A message whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownMessage {
    /// Line of its entry.
    pub line: u64,
    /// Id of its entry.
    pub entry_id: Option<String>,
    /// Its role.
    pub role: String,
    /// When it was written, in milliseconds since the Unix epoch.
    pub time_ms: Option<i64>,
    /// Bytes of its payload.
    pub bytes: u64,
    /// Estimated tokens.
    pub tokens: u64,
    /// What it says.
    pub pieces: Vec<ShownPiece>,
}

/// A part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownPiece {
    /// `text`, `thinking`, `call`, `image`, `command` or `json`.
    pub kind: String,
    /// The text; of a call the tool and its arguments.
    pub text: String,
}

/// The entries of a file, abandoned branches included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownEntries {
    /// The session's id.
    pub session: Option<String>,
    /// Form of the file.
    pub format: String,
    /// Entries that are not among these: older ones.
    pub left_out: u64,
    /// In the order of the file.
    pub entries: Vec<ShownEntry>,
}

/// An entry in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownEntry {
    /// Line of it.
    pub line: u64,
    /// Its id.
    pub entry_id: Option<String>,
    /// Its type.
    pub entry_type: String,
    /// Role of its message, where it has one.
    pub role: Option<String>,
    /// Whether it is part of the conversation that the host would continue.
    pub active: bool,
    /// When it was written, in milliseconds since the Unix epoch.
    pub time_ms: Option<i64>,
    /// Bytes of it.
    pub bytes: u64,
    /// The start of what it says.
    pub text: String,
}

const fn column(title: &'static str, form: Form, spare: u8) -> Column {
    Column { title, form, spare }
}

const TURNS: [Column; 6] = [
    column("turn", Form::Number, 0),
    column("time", Form::Name, 2),
    column("messages", Form::Number, 3),
    column("tokens", Form::Number, 1),
    column("before", Form::Name, 4),
    column("user", Form::Prose, 0),
];

const ENTRIES: [Column; 6] = [
    column("line", Form::Number, 0),
    column("id", Form::Name, 1),
    column("entry", Form::Name, 0),
    column("role", Form::Name, 3),
    column("size", Form::Number, 2),
    column("text", Form::Prose, 0),
];

fn room(on: Surface) -> usize {
    match on {
        Surface::Plain => PLAIN_COLUMNS,
        Surface::Terminal { columns } => usize::from(columns).saturating_sub(OTHER_COLUMNS).max(16),
    }
}

impl ShownTurns {
    /// A row a turn; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let row = |turn: &ShownTurn| {
            let tone = if turn.answered {
                Tone::Plain
            } else {
                Tone::Warning
            };
            let cells = vec![
                turn.turn.to_string(),
                moment(turn.time_ms),
                grouped(turn.messages),
                grouped(turn.tokens),
                turn.before.clone().unwrap_or_default(),
                one_line(&turn.text, room(on)),
            ];
            (tone, cells)
        };
        let table = draw(&TURNS, self.turns.iter().map(row).collect(), on);
        head(self.session.as_deref(), &self.format) + &table + &tail(self.left_out, "turns")
    }
}

impl ShownEntries {
    /// A row an entry; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let row = |entry: &ShownEntry| {
            let aside = if entry.active { "" } else { " (aside)" };
            let cells = vec![
                entry.line.to_string(),
                entry.entry_id.clone().unwrap_or_default(),
                format!("{}{aside}", entry.entry_type),
                entry.role.clone().unwrap_or_default(),
                bytes(entry.bytes),
                one_line(&entry.text, room(on)),
            ];
            (Tone::Plain, cells)
        };
        let table = draw(&ENTRIES, self.entries.iter().map(row).collect(), on);
        head(self.session.as_deref(), &self.format) + &table + &tail(self.left_out, "entries")
    }
}

fn head(session: Option<&str>, format: &str) -> String {
    let session = harmless(session.unwrap_or("without an id"));
    format!("session {session} ({format})\n\n")
}

fn tail(left_out: u64, what: &str) -> String {
    match left_out {
        0 => "\n".to_owned(),
        more => format!("\n{} older {what}: --limit 0 shows all\n", grouped(more)),
    }
}

impl ShownWhole {
    /// Every message with its text; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let mut text = format!(
            "session {} turn {}\n",
            harmless(self.session.as_deref().unwrap_or("without an id")),
            self.turn
        );
        for message in &self.messages {
            text.push('\n');
            text.push_str(&message.to_text(self.most_lines, on));
        }
        text
    }
}

impl ShownMessage {
    fn to_text(&self, most_lines: usize, on: Surface) -> String {
        let id = self
            .entry_id
            .as_deref()
            .map(|id| format!(" {}", harmless(id)));
        let role = match (harmless(&self.role), on) {
            (role, Surface::Terminal { .. }) => Style::new()
                .bold()
                .force_styling(true)
                .apply_to(role)
                .to_string(),
            (role, Surface::Plain) => role,
        };
        let mut text = format!(
            "{role} · line {}{} · {} · {} tokens\n",
            self.line,
            id.unwrap_or_default(),
            moment(self.time_ms),
            grouped(self.tokens)
        );
        let columns = match on {
            Surface::Plain => usize::MAX,
            Surface::Terminal { columns } => usize::from(columns).saturating_sub(2),
        };
        let lines = self.pieces.iter().flat_map(|piece| piece.lines(columns));
        let lines: Vec<String> = lines.collect();
        let shown = if most_lines == 0 {
            lines.len()
        } else {
            most_lines
        };
        for line in lines.iter().take(shown) {
            let _fits = writeln!(text, "  {line}").is_ok();
        }
        if let Some(more) = lines.len().checked_sub(shown).filter(|more| *more > 0) {
            let _fits = writeln!(text, "  … {more} more lines: --limit 0 shows all").is_ok();
        }
        text
    }
}

impl ShownPiece {
    fn lines(&self, columns: usize) -> Vec<String> {
        let mark = match self.kind.as_str() {
            "thinking" => "(thinking) ",
            "call" => "→ ",
            "command" => "$ ",
            "image" => "[image] ",
            _ => "",
        };
        wrapped(&format!("{mark}{}", self.text), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns() -> ShownTurns {
        ShownTurns {
            session: Some("s".into()),
            format: "openclaw-lines".into(),
            left_out: 3,
            turns: vec![ShownTurn {
                turn: 4,
                line: 9,
                time_ms: Some(1_769_900_000_000),
                messages: 12,
                tokens: 3_456,
                answered: true,
                before: Some("compacted".into()),
                text: format!("満潮は\n{}", "何時 ".repeat(60)),
                ..ShownTurn::default()
            }],
        }
    }

    #[test]
    fn a_turn_is_one_row_whatever_was_said() {
        let text = turns().to_text(Surface::Plain);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(
            text.contains(
                "|    4 | 2026-01-31 22:53:20 |       12 |  3,456 | compacted | 満潮は 何時"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("3 older turns: --limit 0 shows all\n"),
            "{text}"
        );
    }

    #[test]
    fn no_line_of_a_terminal_is_too_wide() {
        for columns in [40, 72, 100] {
            let on = Surface::Terminal { columns };
            let text = turns().to_text(on);
            let widest = text.lines().map(console::measure_text_width).max();
            assert!(widest <= Some(usize::from(columns)), "{columns}: {text}");
        }
    }

    #[test]
    fn a_message_is_told_whole_or_to_a_limit() {
        let piece = |kind: &str, text: &str| ShownPiece {
            kind: kind.into(),
            text: text.into(),
        };
        let whole = ShownWhole {
            session: Some("s".into()),
            turn: 2,
            messages: vec![ShownMessage {
                line: 7,
                entry_id: Some("e1".into()),
                role: "assistant".into(),
                tokens: 9,
                pieces: vec![
                    piece("thinking", "hm"),
                    piece("text", "one\ntwo\u{1b}[2J"),
                    piece("call", "ls {\"a\":1}"),
                ],
                ..ShownMessage::default()
            }],
            most_lines: 3,
        };
        assert_eq!(
            whole.to_text(Surface::Plain),
            "session s turn 2\n\nassistant · line 7 e1 ·  · 9 tokens\n  (thinking) hm\n  one\n  \
             two [2J\n  … 1 more lines: --limit 0 shows all\n"
        );
        let all = ShownWhole {
            most_lines: 0,
            ..whole
        };
        assert!(all.to_text(Surface::Plain).ends_with("  → ls {\"a\":1}\n"));
    }
}
