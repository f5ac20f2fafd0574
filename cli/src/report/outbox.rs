//! The reports of `outbox`: the rows of a host's outbox, and one of them.

use contextwire_client::outbox::{Row, RowState};
use contextwire_client::status::OutboxStatus;
use serde::Serialize;

use super::figure::grouped;
use super::host::when;
use super::status::FIELDS;
use super::table::{Column, Form, Surface, Tone, draw};

/// All rows, and how many there are of each kind.
#[derive(Clone, Debug, Serialize)]
pub struct OutboxReport {
    /// The counts; every engine counts as selected.
    pub status: OutboxStatus,
    /// In the order of writing.
    pub rows: Vec<OutboxRow>,
}

/// One row. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutboxRow {
    /// What the file says of it.
    #[serde(flatten)]
    pub row: Row,
    /// What the call is about, without its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
}

impl From<Row> for OutboxRow {
    fn from(row: Row) -> Self {
        Self { row, holds: None }
    }
}

const fn column(title: &'static str, form: Form) -> Column {
    Column {
        title,
        form,
        spare: 0,
    }
}

const COLUMNS: [Column; 7] = [
    column("row", Form::Number),
    column("hook", Form::Name),
    column("engine", Form::Name),
    column("lane", Form::Prose),
    column("state", Form::Name),
    column("tries", Form::Number),
    column("last error", Form::Prose),
];

impl OutboxReport {
    /// A table and a line of counts, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self.rows.iter().map(|row| (row.tone(), row.cells()));
        let status = &self.status;
        let counts = format!(
            "{}: {} pending in {} lanes, {} set aside, {} blocked, {} admitted, {} open spawns\n",
            status.file,
            grouped(status.pending),
            grouped(status.pending_lanes),
            grouped(status.set_aside),
            grouped(status.blocked),
            grouped(status.admitted),
            grouped(status.open_spawns),
        );
        if self.rows.is_empty() {
            return counts;
        }
        format!("{}\n\n{counts}", draw(&COLUMNS, rows.collect(), on))
    }
}

impl OutboxRow {
    /// Whether it stays until somebody looks at it.
    pub fn is_kept(&self) -> bool {
        self.row.set_aside_ms.is_some() || self.row.state == RowState::Blocked
    }

    fn tone(&self) -> Tone {
        if self.is_kept() {
            return Tone::Warning;
        }
        Tone::Plain
    }

    fn state(&self) -> String {
        match self.row.set_aside_ms {
            Some(_) => "set aside".to_owned(),
            None => self.row.state.to_string(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let row = &self.row;
        vec![
            row.id.to_string(),
            row.hook.clone(),
            row.engine.clone(),
            row.lane.clone(),
            self.state(),
            grouped(row.attempts),
            row.last_error.clone().unwrap_or_default(),
        ]
    }

    /// A table of two columns, for people, after what was done with the row; ends with a line feed.
    pub fn to_text(&self, did: &str, on: Surface) -> String {
        let row = &self.row;
        let time = |ms: Option<u64>| ms.map(when).unwrap_or_default();
        let fields = [
            ("row", row.id.to_string()),
            ("hook", row.hook.clone()),
            ("key", row.key.clone()),
            ("engine", row.engine.clone()),
            ("owner", row.owner.clone().unwrap_or_default()),
            ("session", row.session.clone()),
            ("lane", row.lane.clone()),
            ("state", self.state()),
            ("written", when(row.created_ms)),
            ("tries", grouped(row.attempts)),
            ("last try", time(row.last_attempt_ms)),
            ("last error", row.last_error.clone().unwrap_or_default()),
            ("next try", time(Some(row.due_ms).filter(|due| *due > 0))),
            ("set aside", time(row.set_aside_ms)),
            ("bytes", grouped(row.bytes)),
            ("holds", self.holds.clone().unwrap_or_default()),
        ];
        let shown = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let rows = shown.map(|(field, value)| (self.tone(), vec![field.to_owned(), value]));
        let heading = if did.is_empty() {
            String::new()
        } else {
            format!("{did}:\n\n")
        };
        format!("{heading}{}\n", draw(&FIELDS, rows.collect(), on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(set_aside_ms: Option<u64>) -> OutboxRow {
        OutboxRow::from(Row {
            id: 17,
            hook: "CommitTurn".to_owned(),
            key: "turn-1".to_owned(),
            engine: "lossless".to_owned(),
            owner: None,
            session: "s-1".to_owned(),
            lane: "key agent:main".to_owned(),
            state: RowState::Ready,
            bytes: 1_234,
            created_ms: 0,
            attempts: 3,
            last_attempt_ms: Some(1_000),
            last_error: Some("IDEMPOTENCY_CONFLICT: other content".to_owned()),
            due_ms: 0,
            set_aside_ms,
        })
    }

    #[test]
    fn a_list_is_a_table_with_its_counts_and_an_empty_one_the_counts_alone() {
        let report = OutboxReport {
            status: OutboxStatus {
                file: "outbox.sqlite3".to_owned(),
                pending: 1,
                set_aside: 1,
                ..OutboxStatus::default()
            },
            rows: vec![row(None), row(Some(1))],
        };
        let text = report.to_text(Surface::Plain);
        assert!(text.contains("| ready "), "{text}");
        assert!(text.contains("| set aside "), "{text}");
        let end = "1 pending in 0 lanes, 1 set aside, 0 blocked, 0 admitted, 0 open spawns\n";
        assert!(text.ends_with(end), "{text}");
        let empty = OutboxReport {
            rows: Vec::new(),
            ..report
        };
        assert!(!empty.to_text(Surface::Plain).contains('|'));
        let json = serde_json::to_value(row(None)).unwrap();
        assert_eq!(json["id"], 17);
        assert_eq!(json["state"], "ready");
        assert!(json["set_aside_ms"].is_null() && json.get("holds").is_none());
    }

    #[test]
    fn one_row_says_what_was_done_with_it_and_leaves_out_what_it_has_not() {
        let text = row(Some(1)).to_text("put back", Surface::Plain);
        assert!(text.starts_with("put back:\n\n"), "{text}");
        assert!(text.contains("| bytes      | 1,234"), "{text}");
        assert!(!text.contains("owner"), "{text}");
    }
}
