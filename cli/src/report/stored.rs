//! Reports over a store of the lossless engine: its sessions, what stands for one, and why a
//! context is as it is.

use serde::Serialize;

use super::figure::grouped;
use super::table::{Column, Form, Surface, Tone, draw};

/// The sessions of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoredSessions {
    /// In the order in which they came.
    pub sessions: Vec<StoredSession>,
    /// Entries that are not in the index of texts yet.
    pub behind_in_index: u64,
}

/// One session of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoredSession {
    /// Its id.
    pub session: String,
    /// Entries of its log.
    pub entries: u64,
    /// User messages among them.
    pub turns: u64,
    /// Estimated tokens of all entries.
    pub tokens: u64,
    /// Summaries in the plan in force.
    pub summaries: u64,
    /// The plan's version.
    pub plan_version: u64,
    /// Estimated tokens of what stands for the session now.
    pub standing_tokens: u64,
    /// Why there is work left for Compact or Maintain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debt: Option<String>,
}

impl From<contextwire_engine::StoredSession> for StoredSession {
    fn from(stored: contextwire_engine::StoredSession) -> Self {
        Self {
            session: stored.session.to_string(),
            entries: stored.entries,
            turns: stored.turns,
            tokens: stored.tokens,
            summaries: stored.summaries,
            plan_version: stored.plan_version,
            standing_tokens: stored.standing_tokens,
            debt: stored.debt,
        }
    }
}

/// What stands for a session now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StandingReport {
    /// Its id.
    pub session: String,
    /// The plan's version.
    pub plan_version: u64,
    /// The plan's digest: equal digests, equal plans on any machine.
    pub plan_digest: String,
    /// In the order of the log.
    pub items: Vec<StandingItem>,
    /// Where an entry is not in exactly one place, or a summary is not of what the log has.
    pub faults: Vec<String>,
}

/// A run of the log, or the summary in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StandingItem {
    /// The first place, counted from 0, and one beyond the last.
    pub places: (u64, u64),
    /// Estimated tokens.
    pub tokens: u64,
    /// The summary's depth; absent for entries as they are.
    pub depth: Option<u32>,
    /// `model`, `extract` or `provisional`.
    pub written_by: Option<String>,
    /// What the model is shown as its handle.
    pub handle: Option<String>,
    /// The summary.
    pub text: Option<String>,
}

impl From<contextwire_engine::PlanItem> for StandingItem {
    fn from(item: contextwire_engine::PlanItem) -> Self {
        let summary = item.summary;
        Self {
            places: item.places,
            tokens: item.tokens,
            depth: summary.as_ref().map(|summary| summary.depth),
            written_by: summary.as_ref().map(|summary| summary.written_by.clone()),
            handle: summary.as_ref().map(|summary| summary.handle.clone()),
            text: summary.map(|summary| summary.text),
        }
    }
}

/// Why a context is as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The session's id.
    pub session: String,
    /// The turn, counted from 1.
    pub turn: usize,
    /// Estimated tokens of the context.
    pub tokens: u64,
    /// What it was fitted into; 0 is no budget.
    pub budget: u64,
    /// Its messages in order.
    pub items: Vec<ExplainedItem>,
    /// What is neither in it nor stood for.
    pub left_out: Vec<LeftOutRun>,
}

/// A message of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExplainedItem {
    /// What of the log it shows or stands for: the first place and one beyond the last.
    pub places: Option<(u64, u64)>,
    /// Its role.
    pub role: String,
    /// Its estimated tokens.
    pub tokens: u32,
    /// Why it is there.
    pub why: String,
}

impl From<contextwire_engine::ExplainedItem> for ExplainedItem {
    fn from(item: contextwire_engine::ExplainedItem) -> Self {
        Self {
            places: item.places,
            role: item.role,
            tokens: item.tokens,
            why: item.why,
        }
    }
}

impl From<contextwire_engine::LeftOut> for LeftOutRun {
    fn from(left: contextwire_engine::LeftOut) -> Self {
        Self {
            places: left.places,
            messages: left.messages,
            why: left.why,
        }
    }
}

/// Messages that are not in a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutRun {
    /// Their places, as far as the log holds them.
    pub places: Option<(u64, u64)>,
    /// How many.
    pub messages: u64,
    /// Why.
    pub why: String,
}

const fn name(title: &'static str) -> Column {
    Column {
        title,
        form: Form::Name,
        spare: 0,
    }
}

const fn number(title: &'static str) -> Column {
    Column {
        title,
        form: Form::Number,
        spare: 0,
    }
}

const fn prose(title: &'static str) -> Column {
    Column {
        title,
        form: Form::Prose,
        spare: 0,
    }
}

/// Places as people read them: both ends.
fn places(places: (u64, u64)) -> String {
    let (start, end) = places;
    if end <= start + 1 {
        start.to_string()
    } else {
        format!("{start}-{}", end - 1)
    }
}

impl StoredSessions {
    /// The table, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let columns = [
            prose("session"),
            number("turns"),
            number("entries"),
            number("tokens"),
            number("summaries"),
            number("plan"),
            number("tokens now"),
        ];
        let rows = self.sessions.iter().map(|session| {
            let cells = vec![
                session.session.clone(),
                grouped(session.turns),
                grouped(session.entries),
                grouped(session.tokens),
                session.summaries.to_string(),
                session.plan_version.to_string(),
                grouped(session.standing_tokens),
            ];
            (Tone::Plain, cells)
        });
        let table = draw(&columns, rows.collect(), on);
        let index = match self.behind_in_index {
            0 => String::new(),
            behind => format!("\nthe index of texts is {behind} entries behind\n"),
        };
        let debts = self.sessions.iter().filter_map(|session| {
            let debt = session.debt.as_ref()?;
            Some(format!("\nwork is left for {}: {debt}\n", session.session))
        });
        format!("{table}\n{index}{}", debts.collect::<String>())
    }
}

/// Characters of a summary in a table.
const HEAD: usize = 100;

impl StandingReport {
    /// The table, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let columns = [
            name("places"),
            number("tokens"),
            name("depth"),
            prose("what"),
        ];
        let rows = self.items.iter().map(|item| {
            let what = match (&item.text, &item.written_by) {
                (Some(text), Some(by)) => {
                    let head: String = text.chars().take(HEAD).collect();
                    let handle = item.handle.as_deref().unwrap_or_default();
                    format!("{handle} ({by}): {}", head.replace('\n', " "))
                }
                (Some(_), None) | (None, _) => "entries as they are".to_owned(),
            };
            let depth = item
                .depth
                .map_or_else(String::new, |depth| depth.to_string());
            let cells = vec![places(item.places), grouped(item.tokens), depth, what];
            (Tone::Plain, cells)
        });
        let verdict = if self.faults.is_empty() {
            "every entry is in exactly one place".to_owned()
        } else {
            self.faults.join("; ")
        };
        format!(
            "{}\n\nsession {}: plan {} ({}): {verdict}\n",
            draw(&columns, rows.collect(), on),
            self.session,
            self.plan_version,
            self.plan_digest.get(..12).unwrap_or_default()
        )
    }
}

impl Explained {
    /// The tables, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let columns = [name("places"), name("role"), number("tokens"), prose("why")];
        let shown = |shown: Option<(u64, u64)>| shown.map_or_else(String::new, places);
        let rows = self.items.iter().map(|item| {
            let tokens = grouped(u64::from(item.tokens));
            let cells = vec![
                shown(item.places),
                item.role.clone(),
                tokens,
                item.why.clone(),
            ];
            (Tone::Plain, cells)
        });
        let table = draw(&columns, rows.collect(), on);
        let budget = match self.budget {
            0 => String::new(),
            budget => format!(" of {}", grouped(budget)),
        };
        let mut text = format!(
            "{table}\n\nsession {}, turn {}: {} messages, {} tokens{budget}\n",
            self.session,
            self.turn,
            self.items.len(),
            grouped(self.tokens)
        );
        if !self.left_out.is_empty() {
            let columns = [name("not shown"), number("messages"), prose("why")];
            let rows = self.left_out.iter().map(|left| {
                let cells = vec![
                    shown(left.places),
                    left.messages.to_string(),
                    left.why.clone(),
                ];
                (Tone::Warning, cells)
            });
            text.push('\n');
            text.push_str(&draw(&columns, rows.collect(), on));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_names_what_is_shown_and_what_is_not() {
        let report = Explained {
            session: "s".to_owned(),
            turn: 3,
            tokens: 1_200,
            budget: 2_000,
            items: vec![ExplainedItem {
                places: Some((0, 40)),
                role: "compactionSummary".to_owned(),
                tokens: 90,
                why: "sum:0123 of depth 0, 40 messages".to_owned(),
            }],
            left_out: vec![LeftOutRun {
                places: Some((41, 42)),
                messages: 1,
                why: "shows nothing".to_owned(),
            }],
        };
        let text = report.to_text(Surface::Plain);
        assert!(text.contains("| 0-39 "), "{text}");
        assert!(
            text.contains("turn 3: 1 messages, 1,200 tokens of 2,000"),
            "{text}"
        );
        assert!(
            text.contains("| 41 ") && text.contains("shows nothing"),
            "{text}"
        );
    }

    #[test]
    fn what_stands_for_a_session_is_summaries_and_entries() {
        let report = StandingReport {
            session: "s".to_owned(),
            plan_version: 2,
            plan_digest: "0123456789abcdef".to_owned(),
            items: vec![
                StandingItem {
                    places: (0, 9),
                    tokens: 70,
                    depth: Some(1),
                    written_by: Some("model".to_owned()),
                    handle: Some("sum:aa".to_owned()),
                    text: Some("they\nagreed".to_owned()),
                },
                StandingItem {
                    places: (9, 10),
                    tokens: 5,
                    ..StandingItem::default()
                },
            ],
            faults: Vec::new(),
        };
        let text = report.to_text(Surface::Plain);
        assert!(text.contains("sum:aa (model): they agreed"), "{text}");
        assert!(
            text.contains("| 9 ") && text.contains("entries as they are"),
            "{text}"
        );
        assert!(
            text.ends_with("(0123456789ab): every entry is in exactly one place\n"),
            "{text}"
        );
    }

    #[test]
    fn an_index_that_lags_says_so() {
        let mut report = StoredSessions::default();
        assert!(!report.to_text(Surface::Plain).contains("behind"));
        report.behind_in_index = 7;
        assert!(report.to_text(Surface::Plain).contains("7 entries behind"));
    }
}
