//! The report of `bench`: one row a number that has a target.

use serde::Serialize;

use super::figure::grouped;
use super::table::{Column, Form, Surface, Tone, draw};

/// All rows of a run; as JSON `{"rows":[…]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchReport {
    /// In the order in which they were measured.
    pub rows: Vec<BenchRow>,
}

/// One measured number and what it has to be. Numbers have three decimals at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchRow {
    /// The group that measured it.
    pub group: String,
    /// What was measured.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit, and that of the baseline.
    pub unit: String,
    /// What it was measured against in the same run; `None` (JSON null) where nothing was.
    pub baseline: Option<f64>,
    /// Value by baseline: the median over the rounds, where there were several.
    pub ratio: Option<f64>,
    /// What the number, or the ratio, has to be.
    pub target: String,
    /// Whether it is.
    pub ok: bool,
}

impl BenchReport {
    /// Whether every row meets its target.
    pub fn is_ok(&self) -> bool {
        self.rows.iter().all(|row| row.ok)
    }

    /// The table and a line that counts the misses, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self.rows.iter().map(BenchRow::cells).collect();
        let misses = self.rows.iter().filter(|row| !row.ok).count();
        let verdict = match misses {
            0 => "every target is met".to_owned(),
            1 => "1 row misses its target".to_owned(),
            misses => format!("{misses} rows miss their targets"),
        };
        format!("{}\n\n{verdict}\n", draw(&COLUMNS, rows, on))
    }
}

const COLUMNS: [Column; 8] = [
    Column {
        title: "group",
        form: Form::Name,
        spare: 3,
    },
    Column {
        title: "name",
        form: Form::Prose,
        spare: 0,
    },
    Column {
        title: "value",
        form: Form::Number,
        spare: 0,
    },
    Column {
        title: "unit",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "baseline",
        form: Form::Number,
        spare: 1,
    },
    Column {
        title: "ratio",
        form: Form::Number,
        spare: 2,
    },
    Column {
        title: "target",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "ok",
        form: Form::Name,
        spare: 0,
    },
];

impl BenchRow {
    fn cells(&self) -> (Tone, Vec<String>) {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), readable);
        let (tone, verdict) = if self.ok {
            (Tone::Plain, "yes")
        } else {
            (Tone::Warning, "NO")
        };
        let cells = vec![
            self.group.clone(),
            self.name.clone(),
            readable(self.value),
            self.unit.clone(),
            number(self.baseline),
            number(self.ratio),
            self.target.clone(),
            verdict.to_owned(),
        ];
        (tone, cells)
    }
}

/// `0.012`, `1.234`, `12.3`, `1,234`
fn readable(value: f64) -> String {
    if value < 10.0 {
        return format!("{value:.3}");
    }
    if value < 1_000.0 {
        return format!("{value:.1}");
    }
    // Digits of a whole number, so that the one way to group them does it.
    format!("{value:.0}")
        .parse()
        .map_or_else(|_| value.to_string(), grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> BenchReport {
        let met = BenchRow {
            group: "hooks".to_owned(),
            name: "Ingest of 1 KB, p50".to_owned(),
            value: 51.25,
            unit: "µs".to_owned(),
            baseline: Some(44.5),
            ratio: Some(1.152),
            target: "at most 1.3x".to_owned(),
            ok: true,
        };
        let missed = BenchRow {
            group: "replay".to_owned(),
            name: "whole session".to_owned(),
            value: 3_412.5,
            unit: "ms".to_owned(),
            baseline: None,
            ratio: None,
            target: "under 3000 ms".to_owned(),
            ok: false,
        };
        BenchReport {
            rows: vec![met, missed],
        }
    }

    #[test]
    fn plain_text_is_a_markdown_table_and_a_verdict() {
        let text = "\
| group  | name                | value | unit | baseline | ratio | target        | ok  |
|--------|---------------------|-------|------|----------|-------|---------------|-----|
| hooks  | Ingest of 1 KB, p50 |  51.2 | µs   |     44.5 | 1.152 | at most 1.3x  | yes |
| replay | whole session       | 3,412 | ms   |        - |     - | under 3000 ms | NO  |

1 row misses its target
";
        assert_eq!(report().to_text(Surface::Plain), text);
        assert!(!report().is_ok());
    }

    #[test]
    fn json_has_exactly_these_names() {
        assert_eq!(
            serde_json::to_string(&report()).unwrap(),
            concat!(
                r#"{"rows":[{"group":"hooks","name":"Ingest of 1 KB, p50","value":51.25,"unit":"µs","#,
                r#""baseline":44.5,"ratio":1.152,"target":"at most 1.3x","ok":true},"#,
                r#"{"group":"replay","name":"whole session","value":3412.5,"unit":"ms","#,
                r#""baseline":null,"ratio":null,"target":"under 3000 ms","ok":false}]}"#
            )
        );
    }

    #[test]
    fn numbers_are_as_exact_as_a_person_reads_them() {
        for (value, text) in [
            (0.0, "0.000"),
            (1.23456, "1.235"),
            (12.345, "12.3"),
            (1_234.5, "1,234"),
            (16_400_000.0, "16,400,000"),
        ] {
            assert_eq!(readable(value), text);
        }
    }

    #[test]
    fn a_narrow_terminal_shows_what_and_whether() {
        let text = report().to_text(Surface::Terminal { columns: 64 });
        for word in ["name", "value", "target", "ok", "NO"] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        assert!(!text.contains("baseline"), "{text}");
    }
}
