//! The layer of the file, in TOML.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::key::{SECTIONS, known, meant, nearest};
use super::layers::Draft;
use super::{Origin, Problem};

/// Keys that name a file of this machine: relative to the folder of the configuration.
const PATHS: [&str; 4] = [
    "engine.store",
    "summarizer.key_file",
    "server.socket",
    "host.outbox",
];
const TARGET: &str = "host.target";

/// Takes what the text says, and notes everything that is wrong with it.
pub(super) fn read(path: &Path, text: &str, draft: &mut Draft) {
    let file = File { path, text };
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map(|span| span.start);
        let problem = Problem::new(file.at(at), None, error.message(), "correct the line");
        draft.problem(problem);
    }
    for (section, value) in table.into_inner() {
        file.section(&section, value, draft);
    }
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// A place in the file, by its byte.
    fn at(&self, byte: Option<usize>) -> Origin {
        let line = byte.map(|byte| {
            let before = self.text.bytes().take(byte);
            before.filter(|byte| *byte == b'\n').count() + 1
        });
        Origin::File {
            path: self.path.to_owned(),
            line,
        }
    }

    fn section(
        &self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: Spanned<DeValue<'_>>,
        draft: &mut Draft,
    ) {
        let section = name.get_ref().as_ref();
        let origin = self.at(Some(name.span().start));
        if !SECTIONS.contains(&section) {
            let advice = match nearest(section, SECTIONS) {
                Some(meant) => format!("did you mean [{meant}]?"),
                None => format!("the sections are {}", SECTIONS.join(", ")),
            };
            draft.problem(Problem::new(
                origin,
                Some(section),
                "no such section",
                advice,
            ));
            return;
        }
        let DeValue::Table(table) = value.into_inner() else {
            let advice = format!("write [{section}] and the keys below it");
            draft.problem(Problem::new(origin, Some(section), "is a section", advice));
            return;
        };
        for (name, value) in table {
            let origin = self.at(Some(name.span().start));
            let key = format!("{section}.{}", name.get_ref());
            match known(&key) {
                Some(key) => self.value(key, value, origin, draft),
                None => draft.problem(unknown(&key, origin)),
            }
        }
    }

    fn value(
        &self,
        key: &'static str,
        value: Spanned<DeValue<'_>>,
        origin: Origin,
        draft: &mut Draft,
    ) {
        let value = serde::Deserialize::deserialize(ValueDeserializer::from(value));
        match value {
            Ok(value) => draft.set(key, self.resolved(key, value), origin),
            Err(error) => {
                let error: toml::de::Error = error;
                let problem = error.message().to_owned();
                draft.problem(Problem::new(
                    origin,
                    Some(key),
                    problem,
                    "correct the value",
                ));
            }
        }
    }

    /// A relative path counts from the folder of the file.
    fn resolved(&self, key: &str, value: Value) -> Value {
        let Value::String(text) = value else {
            return value;
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let join = |path: &str| folder.join(path).to_str().map(str::to_owned);
        let is_none = key == "server.socket" && text == "none";
        let joined = if PATHS.contains(&key) && !is_none && !text.is_empty() {
            join(&text)
        } else if key == TARGET {
            let path = text.strip_prefix("unix:");
            let path = path.filter(|path| !path.is_empty() && !path.starts_with('/'));
            path.and_then(join).map(|path| format!("unix:{path}"))
        } else {
            None
        };
        Value::String(joined.unwrap_or(text))
    }
}

fn unknown(key: &str, origin: Origin) -> Problem {
    let advice = match meant(key) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "`contextwire config print` shows all keys".to_owned(),
    };
    Problem::new(origin, Some(key), "no such key", advice)
}

/// Where the file is looked for when nobody names one.
pub(super) fn default_path() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("contextwire/config.toml"))
}
