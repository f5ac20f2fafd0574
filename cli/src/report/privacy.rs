//! The report of `doctor --privacy`: which fields would leave the host.

use serde::Serialize;

use super::table::{Column, Form, Surface, Tone, draw};

/// One field that may travel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrivacyField {
    /// In which hook.
    pub hook: String,
    /// Its path in the request.
    pub field: String,
    /// Whether it holds what people and models wrote.
    pub content: bool,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrivacyReport {
    /// The engine that they go to.
    pub engine: String,
    /// The fields, hook by hook.
    pub fields: Vec<PrivacyField>,
}

const COLUMNS: [Column; 3] = [
    Column {
        title: "hook",
        form: Form::Name,
        spare: 0,
    },
    Column {
        title: "field",
        form: Form::Prose,
        spare: 0,
    },
    Column {
        title: "content",
        form: Form::Name,
        spare: 0,
    },
];

impl PrivacyReport {
    /// A table and a last line, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let rows = self.fields.iter().map(|field| {
            let (tone, content) = if field.content {
                (Tone::Warning, "yes")
            } else {
                (Tone::Plain, "")
            };
            let cells = [&field.hook, &field.field, content];
            (tone, cells.map(ToOwned::to_owned).to_vec())
        });
        let content = self.fields.iter().filter(|field| field.content).count();
        format!(
            "{}\n\n{} fields may go to {}, {content} of them hold what people or models wrote\n",
            draw(&COLUMNS, rows.collect(), on),
            self.fields.len(),
            self.engine,
        )
    }
}
