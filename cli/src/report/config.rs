//! The reports of `config`: each value with its origin, and what is wrong.

use serde::Serialize;
use serde_json::Value;

use super::table::{Column, Form, Surface, Tone, draw};
use crate::config::{Loaded, Origin, Problem};

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigValue {
    /// `section.name`.
    pub key: &'static str,
    /// Its value; absent where nobody gives one and none is built in.
    pub value: Option<Value>,
    /// Where the value comes from.
    pub origin: Origin,
}

/// A configuration: the value of each key, and everything that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigReport {
    /// The file that was read.
    pub file: Option<String>,
    /// Whether nothing is wrong.
    pub ok: bool,
    /// The values that hold, in the order of the sections; absent where only problems were asked
    /// for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ConfigValue>,
    /// What is wrong, in the order of the layers.
    pub problems: Vec<Problem>,
}

const VALUES: [Column; 3] = [
    column("key", Form::Name),
    column("value", Form::Prose),
    column("from", Form::Prose),
];

const PROBLEMS: [Column; 4] = [
    column("where", Form::Prose),
    column("key", Form::Name),
    column("wrong", Form::Prose),
    column("what to do", Form::Prose),
];

const fn column(title: &'static str, form: Form) -> Column {
    Column {
        title,
        form,
        spare: 0,
    }
}

impl ConfigReport {
    /// The problems of a configuration.
    pub fn problems(loaded: &Loaded) -> Self {
        Self {
            file: loaded.file().map(|path| path.display().to_string()),
            ok: loaded.problems().is_empty(),
            values: Vec::new(),
            problems: loaded.problems().to_vec(),
        }
    }

    /// The values of a configuration, and its problems.
    pub fn values(loaded: &Loaded) -> Self {
        let values = loaded.values().into_iter();
        Self {
            values: values
                .map(|(key, value, origin)| ConfigValue { key, value, origin })
                .collect(),
            ..Self::problems(loaded)
        }
    }

    /// Tables and a last line, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let mut text = String::new();
        if !self.values.is_empty() {
            let rows = self.values.iter().map(row).collect();
            text.push_str(&draw(&VALUES, rows, on));
            text.push_str("\n\n");
        }
        if !self.problems.is_empty() {
            let rows = self.problems.iter().map(problem).collect();
            text.push_str(&draw(&PROBLEMS, rows, on));
            text.push_str("\n\n");
        }
        let subject = self.file.as_deref().unwrap_or("no file");
        let verdict = match self.problems.len() {
            0 => "in order".to_owned(),
            1 => "1 problem".to_owned(),
            some => format!("{some} problems"),
        };
        text + &format!("{subject}: {verdict}\n")
    }
}

fn row(value: &ConfigValue) -> (Tone, Vec<String>) {
    let tone = match value.origin {
        Origin::Default => Tone::Plain,
        Origin::File { .. } | Origin::Variable { .. } | Origin::Flag { .. } => Tone::Warning,
    };
    let shown = match &value.value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let cells = vec![value.key.to_owned(), shown, value.origin.to_string()];
    (tone, cells)
}

fn problem(problem: &Problem) -> (Tone, Vec<String>) {
    let cells = vec![
        problem.origin.to_string(),
        problem.key.clone().unwrap_or_default(),
        problem.problem.clone(),
        problem.advice.clone(),
    ];
    (Tone::Warning, cells)
}
