//! The reports of `status`: an engine as anybody sees it.

use serde::Serialize;

use super::figure::Millis;
use super::table::{Column, Form, Surface, Tone, draw};

/// What can be seen of an engine without being its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// The endpoint that was asked.
    pub target: String,
    /// The engine's id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// This process of the engine; another one after a restart.
    pub instance_id: String,
    /// What `grpc.health.v1` answers for the whole service: `SERVING`, `NOT_SERVING`, or why that is
    /// unknown.
    pub health: String,
    /// What the engine says of its own state: `starting`, `ready`, `draining` or `degraded`.
    pub state: String,
    /// The protocol that it announces, `major.minor`.
    pub protocol: String,
    /// The minor that it and this program speak.
    pub negotiated_minor: u32,
    /// The version of the runtime settings that it would be sent; `None`: none in common.
    pub settings_version: Option<u32>,
    /// Until the first answer: connecting included.
    pub connect_ms: Millis,
    /// Until the next one, over the same connection.
    pub describe_ms: Millis,
}

/// Two columns: what, and how it is.
pub(super) const FIELDS: [Column; 2] = [
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

impl Outside {
    /// A table of two columns, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let settings = self.settings_version.map(|version| version.to_string());
        let rows = [
            ("target", self.target.clone()),
            ("engine", format!("{} {}", self.id, self.version)),
            ("instance", self.instance_id.clone()),
            ("health", self.health.clone()),
            ("state", self.state.clone()),
            ("protocol", self.protocol.clone()),
            ("negotiated minor", self.negotiated_minor.to_string()),
            (
                "settings version",
                settings.unwrap_or_else(|| "none in common".to_owned()),
            ),
            ("first answer", format!("{} ms", self.connect_ms)),
            ("next answer", format!("{} ms", self.describe_ms)),
        ];
        let is_well = self.health == "SERVING" && self.state == "ready";
        let tone = |field: &str| match field {
            "health" | "state" if !is_well => Tone::Warning,
            _ => Tone::Plain,
        };
        let rows = rows
            .into_iter()
            .map(|(field, value)| (tone(field), vec![field.to_owned(), value]))
            .collect();
        format!("{}\n", draw(&FIELDS, rows, on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_a_table_and_json_tells_none_from_zero() {
        let seen = Outside {
            target: "unix:/run/engine.sock".to_owned(),
            id: "windowed".to_owned(),
            version: "0.1.0".to_owned(),
            health: "SERVING".to_owned(),
            state: "ready".to_owned(),
            protocol: "1.3".to_owned(),
            negotiated_minor: 3,
            connect_ms: Millis::from_micros(1_234),
            describe_ms: Millis::from_micros(210),
            ..Outside::default()
        };
        let text = seen.to_text(Surface::Plain);
        for line in [
            "| health           | SERVING               |",
            "| negotiated minor | 3                     |",
            "| settings version | none in common        |",
            "| next answer      | 0.210 ms              |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let json = serde_json::to_value(&seen).unwrap();
        assert!(json["settings_version"].is_null());
        assert_eq!(json["negotiated_minor"], 3);
    }
}
