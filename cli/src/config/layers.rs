//! The layers put over each other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::checked::Config;
use super::key::{KEYS, parts};
use super::origin::Origins;
use super::{ConfigErrors, Options, Origin, Problem, environment, file};

/// What the layers below the command line are read from.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The file and what is in it, or why it cannot be read.
    pub file: Option<(PathBuf, Result<String, String>)>,
    /// Variables of the environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Values and problems while layers are put together.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    table: Table,
    origins: Origins,
    problems: Vec<Problem>,
}

impl Draft {
    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Sets a key if the value is one that it takes.
    pub(super) fn set(&mut self, key: &'static str, value: Value, origin: Origin) {
        let (section, name) = parts(key);
        if let Err(problem) = check(key, &value) {
            let advice = format!("correct it, or leave out {name}");
            self.problem(Problem::new(origin, Some(key), problem, advice));
            return;
        }
        let section = self
            .table
            .entry(section)
            .or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(section) = section {
            section.insert(name.to_owned(), value);
            self.origins.set(key, origin);
        }
    }

    fn settings(self) -> Settings {
        let mut problems = self.problems;
        let options = Value::Table(self.table).try_into();
        let options = options.unwrap_or_else(|error: toml::de::Error| {
            let advice = "correct the values named";
            problems.push(Problem::new(Origin::Default, None, error.message(), advice));
            Options::default()
        });
        Settings {
            options,
            origins: self.origins,
            problems,
        }
    }
}

/// Whether a key takes a value, and what it takes instead where not.
pub(super) fn check(key: &str, value: &Value) -> Result<(), String> {
    let (section, name) = parts(key);
    let section = Table::from_iter([(section.to_owned(), {
        Value::Table(Table::from_iter([(name.to_owned(), value.clone())]))
    })]);
    let read: Result<Options, _> = Value::Table(section).try_into();
    match read {
        Ok(_) => Ok(()),
        Err(error) => Err(plain(error.message())),
    }
}

/// What serde says, in words of people who do not write Rust.
fn plain(message: &str) -> String {
    let words = [
        ("a nonzero u32", "a whole number above 0"),
        ("a nonzero u64", "a whole number above 0"),
        ("expected u64", "expected a whole number"),
        ("expected a string", "expected text in quotes"),
    ];
    let message = message.to_owned();
    words.iter().fold(message, |message, (rust, plain)| {
        message.replace(rust, plain)
    })
}

/// The values that are given so far; flags are put over them.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) options: Options,
    pub(super) origins: Origins,
    pub(super) problems: Vec<Problem>,
}

impl Settings {
    /// Puts a flag over the other layers, where it is given.
    pub fn flag<T: Clone>(
        &mut self,
        key: &'static str,
        name: &'static str,
        given: Option<&T>,
        slot: impl FnOnce(&mut Options) -> &mut Option<T>,
    ) {
        if let Some(given) = given {
            *slot(&mut self.options) = Some(given.clone());
            self.origins.set(key, Origin::Flag { name });
        }
    }
}

impl Layers {
    /// All values with this command's flags over them, checked.
    pub fn load(&self, flags: impl FnOnce(&mut Settings)) -> Loaded {
        let mut draft = Draft::default();
        match &self.file {
            Some((path, Ok(text))) => file::read(path, text, &mut draft),
            Some((path, Err(problem))) => {
                let origin = Origin::File {
                    path: path.clone(),
                    line: None,
                };
                let advice = "correct --config, or leave it out";
                draft.problem(Problem::new(origin, None, problem, advice));
            }
            None => {}
        }
        environment::read(&self.environment, &mut draft);
        let mut settings = draft.settings();
        flags(&mut settings);
        let config = Config::check(&mut settings);
        settings
            .problems
            .sort_by_key(|problem| problem.origin.place());
        Loaded {
            file: self.file.as_ref().map(|(path, _)| path.clone()),
            settings,
            config,
        }
    }
}

/// A configuration and everything that is wrong with it.
#[derive(Clone, Debug)]
pub struct Loaded {
    file: Option<PathBuf>,
    settings: Settings,
    config: Config,
}

impl Loaded {
    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Everything that is wrong, in the order of the layers.
    pub fn problems(&self) -> &[Problem] {
        &self.settings.problems
    }

    /// The configuration, wrong values replaced by the built-in ones.
    pub fn despite_problems(&self) -> &Config {
        &self.config
    }

    /// The configuration for a command that reads these sections.
    ///
    /// # Errors
    /// When something is wrong that concerns them.
    pub fn into_config(self, sections: &[&str]) -> Result<Config, ConfigErrors> {
        let concern = |problem: &Problem| problem.concerns(sections);
        let problems: Vec<_> = self.settings.problems.into_iter().filter(concern).collect();
        if problems.is_empty() {
            Ok(self.config)
        } else {
            Err(ConfigErrors(problems))
        }
    }

    /// Whether nobody said anything of a key.
    pub fn is_built_in(&self, key: &'static str) -> bool {
        self.settings.origins.of(key) == Origin::Default
    }

    /// Each key with its value, where it has one, and where that comes from.
    pub fn values(&self) -> Vec<(&'static str, Option<serde_json::Value>, Origin)> {
        let given = by_key(&self.settings.options);
        let defaults = by_key(&Options::defaults());
        let row = |key: &'static str| {
            let value = given.get(key).or_else(|| defaults.get(key));
            (key, value.cloned(), self.settings.origins.of(key))
        };
        KEYS.into_iter().map(row).collect()
    }
}

/// The values of these options that are there.
pub(super) fn by_key(options: &Options) -> BTreeMap<&'static str, serde_json::Value> {
    let tree = serde_json::to_value(options).unwrap_or_default();
    let value = |key: &'static str| {
        let (section, name) = parts(key);
        let value = tree.get(section)?.get(name)?;
        (!value.is_null()).then(|| (key, value.clone()))
    };
    KEYS.into_iter().filter_map(value).collect()
}
