//! The report of a host's status file: its engines, and what it thinks of each.

use contextwire_client::status::{
    CallsStatus, DescribedStatus, EngineStatus, ErrorStatus, HostStatus, ListStatus, OutboxStatus,
    StateStatus,
};

use super::endpoints;
use super::figure::{bytes, grouped};
use super::status::FIELDS;
use super::table::{Column, Form, Surface, Tone, draw};

/// A host's status, for people.
#[derive(Clone, Debug)]
pub struct HostReport(pub HostStatus);

/// Lists that are shown of an engine.
const LISTS: usize = 10;

const LIST_COLUMNS: [Column; 4] = [
    Column {
        title: "session",
        form: Form::Prose,
        spare: 0,
    },
    Column {
        title: "list",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "base",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "head",
        form: Form::Name,
        spare: 0,
    },
];

impl HostReport {
    /// A heading and a table for each engine; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let HostStatus {
            at_ms,
            host,
            pid,
            selected,
            active,
            inactive_because,
            engines,
            outbox,
        } = &self.0;
        let why = inactive_because.as_ref().map(|why| format!(" ({why})"));
        let mut blocks = vec![format!(
            "host {host} (process {pid}), {}\nselected: {selected}, active: {active}{}\n",
            when(*at_ms),
            why.unwrap_or_default()
        )];
        for engine in engines {
            blocks.push(format!("{}\n", draw(&FIELDS, fields(engine), on)));
            if !engine.lists.is_empty() {
                let rows = engine.lists.iter().take(LISTS).map(list).collect();
                blocks.push(format!("{}\n", draw(&LIST_COLUMNS, rows, on)));
            }
        }
        if let Some(outbox) = outbox {
            blocks.push(format!("{}\n", draw(&FIELDS, outbox_rows(outbox), on)));
        }
        blocks.join("\n")
    }
}

fn outbox_rows(outbox: &OutboxStatus) -> Vec<Row> {
    let mut rows = vec![row(Tone::Plain, "outbox", &outbox.file)];
    if let Some(why) = &outbox.unreadable {
        rows.push(row(Tone::Warning, "unreadable", why));
        return rows;
    }
    let oldest = outbox.oldest_pending_ms.map(when);
    let oldest = oldest.map_or(String::new(), |oldest| {
        format!(" in {} lanes, the oldest of {oldest}", outbox.pending_lanes)
    });
    let pending = format!("{}{oldest}", grouped(outbox.pending));
    rows.push(row(Tone::Plain, "pending", pending));
    let mut count = |tone, name, number| {
        if number > 0 {
            rows.push(row(tone, name, grouped(number)));
        }
    };
    count(Tone::Warning, "set aside", outbox.set_aside);
    count(Tone::Plain, "for others", outbox.deselected);
    count(Tone::Plain, "blocked", outbox.blocked);
    count(Tone::Plain, "admitted", outbox.admitted);
    count(Tone::Plain, "open spawns", outbox.open_spawns);
    if let Some(error) = &outbox.last_error {
        rows.push(row(Tone::Plain, "last error", error));
    }
    rows
}

type Row = (Tone, Vec<String>);

fn row(tone: Tone, field: &str, value: impl Into<String>) -> Row {
    (tone, vec![field.to_owned(), value.into()])
}

fn fields(engine: &EngineStatus) -> Vec<Row> {
    let mut rows = vec![
        row(Tone::Plain, "engine", heading(engine)),
        row(Tone::Plain, "target", &engine.target),
        row(
            Tone::Plain,
            "owner",
            engine.owner.clone().unwrap_or_default(),
        ),
    ];
    match &engine.described {
        Some(described) => rows.extend(described_rows(described)),
        None => rows.push(row(Tone::Warning, "described", "never reached")),
    }
    rows.push(breaker(engine));
    rows.extend(endpoints::rows(&engine.endpoints));
    for barred in &engine.quarantine {
        let session = barred.session.as_deref().unwrap_or("all");
        let since = when(barred.failed_at_ms);
        let value = format!(
            "{} failed: {} (sessions: {session}; {since})",
            barred.operation, barred.reason
        );
        rows.push(row(Tone::Warning, "quarantine", value));
    }
    for learned in &engine.learned {
        let both = [learned.stripped.clone(), learned.not_understood.clone()].concat();
        let build = [&*learned.id, &learned.version, &learned.build].join(" ");
        let value = format!("{}: {}", build.trim_end(), both.join(", "));
        rows.push(row(Tone::Plain, "learned", value));
    }
    for (session, why) in &engine.degraded_turns {
        let value = format!("{session}: {why}");
        rows.push(row(Tone::Warning, "degraded turn", value));
    }
    rows.push(row(Tone::Plain, "calls", calls(&engine.calls)));
    rows.extend(engine.last_errors.iter().map(error));
    if engine.lists_in_all > LISTS as u64 {
        let value = format!(
            "{} in all, the last used below",
            grouped(engine.lists_in_all)
        );
        rows.push(row(Tone::Plain, "lists", value));
    }
    rows
}

fn heading(engine: &EngineStatus) -> String {
    let marks = [(engine.selected, "selected"), (engine.active, "active")];
    let marks: Vec<_> = marks
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, it)| *it)
        .collect();
    if marks.is_empty() {
        return engine.id.clone();
    }
    format!("{} ({})", engine.id, marks.join(", "))
}

fn described_rows(described: &DescribedStatus) -> Vec<Row> {
    let currency = if described.is_current {
        ""
    } else {
        ", as it was last"
    };
    let mut rows = vec![
        row(
            Tone::Plain,
            "described",
            format!("{} {}{currency}", described.id, described.version),
        ),
        row(
            Tone::Plain,
            "protocol",
            format!(
                "{}, negotiated minor {}",
                described.protocol, described.negotiated_minor
            ),
        ),
        row(
            Tone::Plain,
            "owns compaction",
            if described.owns_compaction {
                "yes"
            } else {
                "no"
            },
        ),
    ];
    for (hook, left_out) in &described.left_out {
        let value = format!("{hook}: {}", left_out.join(", "));
        rows.push(row(Tone::Plain, "not sent", value));
    }
    rows
}

fn breaker(engine: &EngineStatus) -> Row {
    let state = &engine.breaker;
    let retry = state
        .retry_in_ms
        .map(|ms| format!(", tried again in {} ms", grouped(ms)));
    let failures = (state.failures > 0).then(|| format!(", {} failed in a row", state.failures));
    let value = format!(
        "{}{}{}",
        state.state,
        retry.unwrap_or_default(),
        failures.unwrap_or_default()
    );
    let tone = if state.state == "closed" {
        Tone::Plain
    } else {
        Tone::Warning
    };
    row(tone, "breaker", value)
}

fn calls(calls: &CallsStatus) -> String {
    format!(
        "{} by the engine, {} in its place, {} failed; {} running ({}), {} waiting",
        grouped(calls.by_engine),
        grouped(calls.in_process),
        grouped(calls.failed),
        grouped(calls.running),
        bytes(calls.running_bytes),
        grouped(calls.waiting),
    )
}

fn error(error: &ErrorStatus) -> Row {
    let ErrorStatus {
        hook,
        code,
        text,
        at_ms,
    } = error;
    let value = format!("{} {hook}: {code}: {text}", when(*at_ms));
    row(Tone::Warning, "error", value)
}

fn list(list: &ListStatus) -> Row {
    let state = |state: &Option<StateStatus>| match state {
        Some(state) => format!("{} {}", grouped(state.count), state.chain),
        None => "none".to_owned(),
    };
    let cells = vec![
        list.session.clone(),
        list.list.clone(),
        state(&list.base),
        state(&list.head),
    ];
    (Tone::Plain, cells)
}

/// The time in UTC, to the second.
pub(super) fn when(unix_ms: u64) -> String {
    let time = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_millis(unix_ms));
    time.map_or_else(
        || unix_ms.to_string(),
        |time| humantime::format_rfc3339_seconds(time).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use contextwire_client::status::{BreakerStatus, QuarantineStatus};

    use super::*;

    fn status() -> HostStatus {
        let engine = EngineStatus {
            id: "lossless".to_owned(),
            owner: Some("plugin:lossless".to_owned()),
            target: "unix:/run/e.sock".to_owned(),
            selected: true,
            active: false,
            described: None,
            breaker: BreakerStatus {
                state: "open".to_owned(),
                failures: 0,
                retry_in_ms: Some(1_200),
            },
            quarantine: vec![QuarantineStatus {
                operation: "assemble".to_owned(),
                reason: "no | disk".to_owned(),
                failed_at_ms: 0,
                session: None,
            }],
            learned: Vec::new(),
            lists: vec![ListStatus {
                session: "main".to_owned(),
                list: "view".to_owned(),
                base: None,
                head: Some(StateStatus {
                    count: 1_000,
                    chain: "0011223344556677".to_owned(),
                }),
            }],
            lists_in_all: 1,
            degraded_turns: [("main".to_owned(), "UNREACHABLE".to_owned())].into(),
            calls: CallsStatus::default(),
            last_errors: Vec::new(),
            endpoints: Vec::new(),
        };
        HostStatus {
            at_ms: 0,
            host: "my-host".to_owned(),
            pid: 7,
            selected: "lossless".to_owned(),
            active: "legacy".to_owned(),
            inactive_because: Some("the engine is barred".to_owned()),
            engines: vec![engine],
            outbox: Some(OutboxStatus {
                file: "/var/outbox.sqlite3".to_owned(),
                pending: 1_200,
                pending_lanes: 3,
                oldest_pending_ms: Some(0),
                set_aside: 2,
                ..OutboxStatus::default()
            }),
        }
    }

    #[test]
    fn a_person_reads_who_serves_and_why() {
        let text = HostReport(status()).to_text(Surface::Plain);
        for part in [
            "host my-host (process 7), 1970-01-01T00:00:00Z\n",
            "selected: lossless, active: legacy (the engine is barred)\n",
            "| engine        | lossless (selected)",
            "| breaker       | open, tried again in 1,200 ms",
            "| quarantine    | assemble failed: no \\| disk (sessions: all;",
            "| degraded turn | main: UNREACHABLE",
            "| pending   | 1,200 in 3 lanes, the oldest of 1970-01-01T00:00:00Z |",
            "| set aside | 2 ",
            "| main    | view | none | 1,000 0011223344556677 |",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
