//! The report of an audit: what of a session is not in a log exactly once, in order.

use serde::Serialize;

use super::table::{Column, Form, Surface, Tone, draw};

/// Rows of the table; the rest is counted.
const ROWS: usize = 30;

/// A whole audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// The session in the store.
    pub session: String,
    /// Messages of the recorded session.
    pub messages: u64,
    /// Entries of the stored log.
    pub stored: u64,
    /// Those of them that no update of the log has placed yet.
    pub provisional: u64,
    /// Entries of the log that were erased on purpose: a note is in the place of each, and what they
    /// were is not compared.
    pub erased: u64,
    /// Lines of the session file that could not be read: what they held was not looked for.
    pub lines_skipped: u64,
    /// Whether each message is there exactly once, in order, and nothing else.
    pub ok: bool,
    /// What is not as it should be.
    pub findings: Vec<AuditFinding>,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// `missing`, `changed`, `out of order`, `doubled`, `foreign`, `differs`, or `total`: what the
    /// log says of itself is not what its entries make.
    pub kind: String,
    /// Lineage id, else the start of the message's digest.
    pub entry: String,
    /// The message's line in the session file; absent for what the file does not hold.
    pub line: Option<u64>,
    /// Place in the stored log, counted from 1; absent for what is not there.
    pub place: Option<u64>,
}

impl AuditReport {
    /// The table and the verdict, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let verdict = self.verdict();
        if self.findings.is_empty() {
            return verdict;
        }
        let rows = self.findings.iter().take(ROWS).map(AuditFinding::row);
        let table = draw(&COLUMNS, rows.collect(), on);
        let rest = match self.findings.len().saturating_sub(ROWS) {
            0 => String::new(),
            more => format!("and {more} more, all of them with --json\n"),
        };
        format!("{table}\n{rest}\n{verdict}")
    }

    fn verdict(&self) -> String {
        let Self {
            session,
            messages,
            stored,
            provisional,
            lines_skipped,
            erased,
            ..
        } = self;
        let tail = match provisional {
            0 => String::new(),
            some => format!(", {some} of them not placed by the host's log yet"),
        };
        let gone = match erased {
            0 => String::new(),
            some => format!("; {some} were erased on purpose and are not compared"),
        };
        let state = if self.ok {
            "each message is there once, in order".to_owned()
        } else {
            format!("{} findings", self.findings.len())
        };
        let unread = match lines_skipped {
            0 => String::new(),
            lines => format!("; {lines} damaged lines of the session were not looked for"),
        };
        format!(
            "session {session}: {messages} messages, {stored} in the log{tail}: {state}{gone}{unread}\n"
        )
    }
}

const COLUMNS: [Column; 4] = [
    Column {
        title: "finding",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "line",
        form: Form::Number,
        spare: 1,
    },
    Column {
        title: "place",
        form: Form::Number,
        spare: 2,
    },
    Column {
        title: "entry",
        form: Form::Prose,
        spare: 0,
    },
];

impl AuditFinding {
    fn row(&self) -> (Tone, Vec<String>) {
        let Self {
            kind,
            entry,
            line,
            place,
        } = self;
        let number = |number: &Option<u64>| number.map_or_else(String::new, |n| n.to_string());
        (
            Tone::Warning,
            vec![kind.clone(), number(line), number(place), entry.clone()],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: &str) -> AuditFinding {
        AuditFinding {
            kind: kind.to_owned(),
            entry: "e7".to_owned(),
            line: Some(9),
            place: None,
        }
    }

    #[test]
    fn a_clean_audit_is_one_line() {
        let report = AuditReport {
            lines_skipped: 0,
            session: "s".to_owned(),
            messages: 3,
            stored: 3,
            provisional: 1,
            erased: 2,
            ok: true,
            findings: Vec::new(),
        };
        assert_eq!(
            report.to_text(Surface::Plain),
            "session s: 3 messages, 3 in the log, 1 of them not placed by the host's log yet: \
             each message is there once, in order; 2 were erased on purpose and are not compared\n"
        );
    }

    #[test]
    fn findings_are_a_table_and_a_long_one_is_cut() {
        let report = AuditReport {
            session: "s".to_owned(),
            findings: vec![finding("missing"); 40],
            ..AuditReport::default()
        };
        let text = report.to_text(Surface::Plain);
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("| missing"))
                .count(),
            ROWS
        );
        assert!(text.contains("and 10 more"), "{text}");
        assert!(text.ends_with("40 findings\n"), "{text}");
    }

    #[test]
    fn machines_get_everything() {
        let report = AuditReport {
            findings: vec![finding("missing"); 40],
            ..AuditReport::default()
        };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["findings"].as_array().unwrap().len(), 40);
        assert_eq!(json["findings"][0]["line"], 9);
        assert!(json["findings"][0]["place"].is_null());
    }
}
