//! The report of `describe`: what an engine says about itself.

use serde::Serialize;

use super::figure::{bytes, grouped};
use super::table::{Column, Form, Surface, Tone, draw};

/// What an endpoint answered to `Describe`. An optional value that is `None` was absent (JSON null).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Describe {
    /// The endpoint that was asked.
    pub target: String,
    /// The engine's id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Its build.
    pub build: Option<String>,
    /// This process of the engine; another one after a restart.
    pub instance_id: Option<String>,
    /// `major.minor` of the protocol that it speaks.
    pub protocol: String,
    /// `STARTING`, `READY`, `DRAINING` or `DEGRADED`.
    pub state: String,
    /// Methods that it implements.
    pub methods: Vec<String>,
    /// Whether it owns compaction.
    pub owns_compaction: bool,
    /// `foreground` or `background`.
    pub turn_maintenance_mode: String,
    /// What it requires of a host, by operation.
    pub host_requirements: Vec<HostRequirement>,
    /// Host parameters that it accepts; `None` is all, an empty list is none.
    pub accepted_host_params: Option<Vec<String>>,
    /// How it wants the current turn fenced.
    pub current_turn_fence: Option<String>,
    /// How it makes committing a turn idempotent.
    pub turn_advancement_idempotency: Option<String>,
    /// Whether it keeps mirrors of lists or wants them in full.
    pub transcript_sync: String,
    /// Longest silence in a call, in milliseconds.
    pub max_silence_ms: Option<u64>,
    /// Version of its projections.
    pub projection_version: Option<String>,
    /// Whether it refuses what it must understand and does not.
    pub honours_must_understand: bool,
    /// Versions of the runtime settings that it reads.
    pub settings_versions: Vec<u32>,
    /// Its limits.
    pub limits: Limits,
    /// How long this answer may be kept, in milliseconds.
    pub ttl_ms: Option<u64>,
}

/// What an engine requires of a host for one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostRequirement {
    /// The operation, for example `agent-run`.
    pub operation: String,
    /// Capabilities that the host must have.
    pub capabilities: Vec<String>,
    /// What to tell the user of a host that lacks one.
    pub unsupported_message: Option<String>,
}

/// Limits that an engine advertises; `None` where it names none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Largest frame, in bytes.
    pub max_message_bytes: Option<u64>,
    /// Calls that may run at the same time.
    pub max_concurrent_hooks: Option<u64>,
    /// Streams that a connection may have open.
    pub max_streams: Option<u64>,
    /// Bytes of requests that its running calls hold.
    pub max_tenant_bytes: Option<u64>,
    /// Lists that it keeps.
    pub max_mirror_bytes: Option<u64>,
}

const COLUMNS: [Column; 2] = [
    Column {
        title: "field",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "value",
        form: Form::Prose,
        spare: 0,
    },
];

impl Describe {
    /// A table of two columns, for people; ends with a line feed. Absent values are left out where
    /// their absence says nothing.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self
            .identity()
            .into_iter()
            .chain(self.behaviour())
            .chain(self.numbers());
        let rows = rows
            .filter(|(_, value)| !value.is_empty())
            .map(|(field, value)| (Tone::Plain, vec![field, value]))
            .collect();
        format!("{}\n", draw(&COLUMNS, rows, on))
    }

    fn identity(&self) -> Vec<(String, String)> {
        fields([
            ("target", self.target.clone()),
            ("id", self.id.clone()),
            ("name", self.name.clone()),
            ("version", self.version.clone().unwrap_or_default()),
            ("build", self.build.clone().unwrap_or_default()),
            ("instance", self.instance_id.clone().unwrap_or_default()),
            ("protocol", self.protocol.clone()),
            ("state", self.state.clone()),
        ])
    }

    fn behaviour(&self) -> Vec<(String, String)> {
        let accepted = match &self.accepted_host_params {
            None => "all".to_owned(),
            Some(params) => list(params),
        };
        let mut rows = fields([
            ("methods", list(&self.methods)),
            ("owns compaction", yes_no(self.owns_compaction)),
            ("turn maintenance", self.turn_maintenance_mode.clone()),
            ("accepted host parameters", accepted),
            (
                "current turn fence",
                self.current_turn_fence.clone().unwrap_or_default(),
            ),
            (
                "turn advancement",
                self.turn_advancement_idempotency
                    .clone()
                    .unwrap_or_default(),
            ),
            ("transcript sync", self.transcript_sync.clone()),
            (
                "projection version",
                self.projection_version.clone().unwrap_or_default(),
            ),
            (
                "honours must_understand",
                yes_no(self.honours_must_understand),
            ),
        ]);
        for requirement in &self.host_requirements {
            let HostRequirement {
                operation,
                capabilities,
                unsupported_message,
            } = requirement;
            let message = unsupported_message
                .as_ref()
                .map(|text| format!(" ({text})"));
            let value = format!("{}{}", list(capabilities), message.unwrap_or_default());
            rows.push((format!("requires for {operation}"), value));
        }
        rows
    }

    fn numbers(&self) -> Vec<(String, String)> {
        let Limits {
            max_message_bytes,
            max_concurrent_hooks,
            max_streams,
            max_tenant_bytes,
            max_mirror_bytes,
        } = &self.limits;
        let millis = |value: Option<u64>| value.map(|value| format!("{} ms", grouped(value)));
        let versions: Vec<_> = self
            .settings_versions
            .iter()
            .map(ToString::to_string)
            .collect();
        fields([
            ("settings versions", list(&versions)),
            (
                "largest message",
                max_message_bytes.map(bytes).unwrap_or_default(),
            ),
            (
                "concurrent hooks",
                max_concurrent_hooks.map(grouped).unwrap_or_default(),
            ),
            (
                "streams of a connection",
                max_streams.map(grouped).unwrap_or_default(),
            ),
            (
                "bytes in flight",
                max_tenant_bytes.map(bytes).unwrap_or_default(),
            ),
            ("mirrors", max_mirror_bytes.map(bytes).unwrap_or_default()),
            (
                "longest silence",
                millis(self.max_silence_ms).unwrap_or_default(),
            ),
            ("valid for", millis(self.ttl_ms).unwrap_or_default()),
        ])
    }
}

fn fields<const N: usize>(rows: [(&str, String); N]) -> Vec<(String, String)> {
    rows.into_iter()
        .map(|(field, value)| (field.to_owned(), value))
        .collect()
}

fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn list(values: &[String]) -> String {
    if values.is_empty() {
        "none".to_owned()
    } else {
        values.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe() -> Describe {
        Describe {
            target: "unix:/run/engine.sock".to_owned(),
            id: "windowed".to_owned(),
            name: "Windowed".to_owned(),
            version: Some("0.1.0".to_owned()),
            protocol: "1.3".to_owned(),
            state: "READY".to_owned(),
            methods: vec!["ingest".to_owned(), "assemble".to_owned()],
            turn_maintenance_mode: "foreground".to_owned(),
            host_requirements: vec![HostRequirement {
                operation: "agent-run".to_owned(),
                capabilities: vec!["compact".to_owned()],
                unsupported_message: Some("use a newer host".to_owned()),
            }],
            accepted_host_params: Some(Vec::new()),
            transcript_sync: "delta".to_owned(),
            settings_versions: vec![1],
            limits: Limits {
                max_message_bytes: Some(16 << 20),
                ..Limits::default()
            },
            ttl_ms: Some(60_000),
            ..Describe::default()
        }
    }

    #[test]
    fn plain_text_is_a_table_of_two_columns() {
        let expected = "\
| field                    | value                      |
|--------------------------|----------------------------|
| target                   | unix:/run/engine.sock      |
| id                       | windowed                   |
| name                     | Windowed                   |
| version                  | 0.1.0                      |
| protocol                 | 1.3                        |
| state                    | READY                      |
| methods                  | ingest, assemble           |
| owns compaction          | no                         |
| turn maintenance         | foreground                 |
| accepted host parameters | none                       |
| transcript sync          | delta                      |
| honours must_understand  | no                         |
| requires for agent-run   | compact (use a newer host) |
| settings versions        | 1                          |
| largest message          | 16.0 MiB                   |
| valid for                | 60,000 ms                  |
";
        assert_eq!(describe().to_text(Surface::Plain), expected);
    }

    #[test]
    fn json_tells_absent_from_empty() {
        let json = serde_json::to_value(describe()).unwrap();
        assert!(json["build"].is_null());
        assert_eq!(json["accepted_host_params"], serde_json::json!([]));
        assert_eq!(json["limits"]["max_message_bytes"], 16 << 20);
        assert_eq!(json["host_requirements"][0]["operation"], "agent-run");
    }

    #[test]
    fn accepting_everything_is_said() {
        let text = Describe {
            accepted_host_params: None,
            ..describe()
        }
        .to_text(Surface::Plain);
        assert!(text.contains("| accepted host parameters | all "), "{text}");
    }
}
