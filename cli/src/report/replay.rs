//! The report of a replay: one row a user turn, then totals.

use serde::Serialize;

use super::figure::{Millis, bytes, grouped};
use super::table::{Column, Form, Surface, Tone, draw};

/// A whole replay; as JSON `{"turns":[…],"totals":{…}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// In the order in which they were played.
    pub turns: Vec<ReplayTurn>,
    /// Over all turns.
    pub totals: ReplayTotals,
    /// Turns that the engine should store and did not: not acknowledged in the end, or refused.
    pub turns_not_stored: u64,
}

/// One user turn of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayTurn {
    /// Number of the user turn, counted from 1.
    pub turn: u64,
    /// Messages that the host handed over.
    pub messages_in: u64,
    /// Messages of the assembled context.
    pub messages_out: u64,
    /// The engine's estimate of the assembled context, in tokens.
    pub estimated_tokens: u64,
    /// The token budget of the call; `None` (JSON null) where the host gave none.
    pub budget: Option<u64>,
    /// How often the session was compacted for this turn; `None` (JSON null) where nobody asked.
    pub compacted: Option<u64>,
    /// Bytes that went to the engine, a compaction's included.
    pub bytes_sent: u64,
    /// Bytes that came back.
    pub bytes_received: u64,
    /// From the call to its answer, fallback included.
    pub millis: Millis,
    /// Who answered.
    pub served_by: String,
    /// Why it was not the engine; empty when it was.
    pub reason: String,
}

/// Sums and figures over all turns; zero where there is no turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayTotals {
    /// Number of turns.
    pub turns: u64,
    /// Turns that the engine answered.
    pub by_engine: u64,
    /// Turns that something else answered, with a reason.
    pub by_fallback: u64,
    /// Sum of the bytes that went to the engine.
    pub bytes_sent: u64,
    /// Sum of the bytes that came back.
    pub bytes_received: u64,
    /// Sum of all turns.
    pub millis: Millis,
    /// Half of the turns took no longer.
    pub median_millis: Millis,
    /// 95 of 100 turns took no longer.
    pub p95_millis: Millis,
    /// The largest assembled context by the engine's estimate, in tokens.
    pub largest_context_tokens: u64,
}

impl ReplayReport {
    /// The report of these turns, totals computed.
    pub fn new(turns: Vec<ReplayTurn>) -> Self {
        let totals = ReplayTotals::of(&turns);
        Self {
            turns,
            totals,
            turns_not_stored: 0,
        }
    }

    /// The table and the line of totals, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self.turns.iter().map(ReplayTurn::row).collect();
        let lost = match self.turns_not_stored {
            0 => String::new(),
            turns => format!("{turns} turns are not stored by the engine\n"),
        };
        format!(
            "{}\n\n{}\n{lost}",
            draw(&COLUMNS, rows, on),
            self.totals.to_text()
        )
    }
}

const COLUMNS: [Column; 11] = [
    Column {
        title: "turn",
        form: Form::Number,
        spare: 0,
    },
    Column {
        title: "in",
        form: Form::Number,
        spare: 4,
    },
    Column {
        title: "out",
        form: Form::Number,
        spare: 5,
    },
    Column {
        title: "tokens",
        form: Form::Number,
        spare: 0,
    },
    Column {
        title: "budget",
        form: Form::Number,
        spare: 1,
    },
    Column {
        title: "compacted",
        form: Form::Number,
        spare: 1,
    },
    Column {
        title: "sent",
        form: Form::Number,
        spare: 3,
    },
    Column {
        title: "received",
        form: Form::Number,
        spare: 2,
    },
    Column {
        title: "ms",
        form: Form::Number,
        spare: 0,
    },
    Column {
        title: "served by",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "reason",
        form: Form::Prose,
        spare: 0,
    },
];

impl ReplayTurn {
    fn is_served_by_engine(&self) -> bool {
        self.reason.is_empty()
    }

    fn row(&self) -> (Tone, Vec<String>) {
        let tone = if self.is_served_by_engine() {
            Tone::Plain
        } else {
            Tone::Warning
        };
        let cells = vec![
            self.turn.to_string(),
            grouped(self.messages_in),
            grouped(self.messages_out),
            grouped(self.estimated_tokens),
            self.budget.map_or_else(|| "-".to_owned(), grouped),
            self.compacted.map(grouped).unwrap_or_default(),
            bytes(self.bytes_sent),
            bytes(self.bytes_received),
            self.millis.to_string(),
            self.served_by.clone(),
            self.reason.clone(),
        ];
        (tone, cells)
    }
}

impl ReplayTotals {
    /// The totals of these turns.
    pub fn of(turns: &[ReplayTurn]) -> Self {
        let count = turns.len() as u64;
        let by_engine = turns
            .iter()
            .filter(|turn| turn.is_served_by_engine())
            .count() as u64;
        let sum =
            |figure: fn(&ReplayTurn) -> u64| turns.iter().map(figure).fold(0, u64::saturating_add);
        let mut micros: Vec<u64> = turns.iter().map(|turn| turn.millis.micros()).collect();
        micros.sort_unstable();
        Self {
            turns: count,
            by_engine,
            by_fallback: count - by_engine,
            bytes_sent: sum(|turn| turn.bytes_sent),
            bytes_received: sum(|turn| turn.bytes_received),
            millis: Millis::from_micros(sum(|turn| turn.millis.micros())),
            median_millis: rank(&micros, 50),
            p95_millis: rank(&micros, 95),
            largest_context_tokens: turns
                .iter()
                .map(|turn| turn.estimated_tokens)
                .max()
                .unwrap_or_default(),
        }
    }

    /// One line without a line feed.
    pub fn to_text(&self) -> String {
        let turns = match self.turns {
            0 => return "no user turn".to_owned(),
            1 => "1 turn".to_owned(),
            turns => format!("{} turns", grouped(turns)),
        };
        format!(
            "{turns}: {} by engine, {} by fallback; {} sent, {} received; {} ms (median {}, p95 {}); \
             largest context {} tokens",
            grouped(self.by_engine),
            grouped(self.by_fallback),
            bytes(self.bytes_sent),
            bytes(self.bytes_received),
            self.millis,
            self.median_millis,
            self.p95_millis,
            grouped(self.largest_context_tokens),
        )
    }
}

/// The smallest value that this percentage of the sorted values does not exceed.
fn rank(sorted: &[u64], percent: usize) -> Millis {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    Millis::from_micros(sorted.get(index).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ReplayReport {
        let served = ReplayTurn {
            turn: 1,
            messages_in: 12,
            messages_out: 12,
            estimated_tokens: 4_321,
            budget: Some(60_000),
            compacted: None,
            bytes_sent: 18_432,
            bytes_received: 96,
            millis: Millis::from_micros(1_234),
            served_by: "windowed".to_owned(),
            reason: String::new(),
        };
        let fallback = ReplayTurn {
            turn: 2,
            messages_in: 1_503,
            messages_out: 204,
            estimated_tokens: 59_876,
            budget: None,
            compacted: Some(1),
            bytes_sent: 0,
            bytes_received: 0,
            millis: Millis::from_micros(100),
            served_by: "in-process".to_owned(),
            reason: "connection refused".to_owned(),
        };
        ReplayReport::new(vec![served, fallback])
    }

    const TOTALS: &str = "2 turns: 1 by engine, 1 by fallback; 18.0 KiB sent, 96 B received; \
                          1.334 ms (median 0.100, p95 1.234); largest context 59,876 tokens";

    #[test]
    fn plain_text_is_a_markdown_table_and_a_line_of_totals() {
        let table = "\
| turn |    in | out | tokens | budget | compacted |     sent | received |    ms | served by  | reason             |
|------|-------|-----|--------|--------|-----------|----------|----------|-------|------------|--------------------|
|    1 |    12 |  12 |  4,321 | 60,000 |           | 18.0 KiB |     96 B | 1.234 | windowed   |                    |
|    2 | 1,503 | 204 | 59,876 |      - |         1 |      0 B |      0 B | 0.100 | in-process | connection refused |";
        assert_eq!(
            report().to_text(Surface::Plain),
            format!("{table}\n\n{TOTALS}\n")
        );
    }

    #[test]
    fn json_has_exactly_these_names() {
        assert_eq!(
            serde_json::to_string(&report()).unwrap(),
            concat!(
                r#"{"turns":[{"turn":1,"messages_in":12,"messages_out":12,"estimated_tokens":4321,"#,
                r#""budget":60000,"compacted":null,"bytes_sent":18432,"bytes_received":96,"millis":1.234,"#,
                r#""served_by":"windowed","reason":""},"#,
                r#"{"turn":2,"messages_in":1503,"messages_out":204,"estimated_tokens":59876,"#,
                r#""budget":null,"compacted":1,"bytes_sent":0,"bytes_received":0,"millis":0.100,"#,
                r#""served_by":"in-process","reason":"connection refused"}],"#,
                r#""totals":{"turns":2,"by_engine":1,"by_fallback":1,"bytes_sent":18432,"#,
                r#""bytes_received":96,"millis":1.334,"median_millis":0.100,"p95_millis":1.234,"#,
                r#""largest_context_tokens":59876},"turns_not_stored":0}"#
            )
        );
    }

    #[test]
    fn a_replay_without_turns_says_so() {
        let report = ReplayReport::new(Vec::new());
        assert!(
            report
                .to_text(Surface::Plain)
                .ends_with("\n\nno user turn\n")
        );
        assert_eq!(report.totals, ReplayTotals::default());
    }

    #[test]
    fn one_turn_is_singular() {
        let turns = report().turns.into_iter().take(1).collect();
        let text = ReplayReport::new(turns).totals.to_text();
        assert!(
            text.starts_with("1 turn: 1 by engine, 0 by fallback;"),
            "{text}"
        );
    }

    #[test]
    fn a_narrow_terminal_shows_who_answered_and_why() {
        let text = report().to_text(Surface::Terminal { columns: 60 });
        for word in [
            "turn",
            "tokens",
            "ms",
            "in-process",
            "connection",
            "refused",
        ] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        assert!(!text.contains("budget"), "{text}");
    }

    #[test]
    fn ranks_are_values_that_occurred() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(rank(&hundred, 50), Millis::from_micros(50));
        assert_eq!(rank(&hundred, 95), Millis::from_micros(95));
        assert_eq!(rank(&[7], 95), Millis::from_micros(7));
        assert_eq!(rank(&[], 50), Millis::default());
    }
}
