//! The configuration as commands use it: no value is missing, and none contradicts another.

mod engine;
mod host;
mod server;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use contextwire_client::{ClientOptions, Target};
use contextwire_engine::TokenBudget;
use contextwire_lossless::Redaction;
use contextwire_server::ServerOptions;

use super::layers::Settings;
use super::{Filter, Problem};
use crate::command::replay::CompactChoice;
use crate::engine::{EngineChoice, SummarizerArgs};
use crate::log::LogFormat;

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which engine `serve` runs.
    pub engine: EngineConfig,
    /// How it is served.
    pub server: ServerConfig,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Which log lines; absent for the built-in choice.
    pub log_filter: Option<Filter>,
    /// How an engine is called.
    pub host: HostConfig,
    /// How long `doctor` waits for each answer.
    pub doctor_deadline: Duration,
}

/// An engine with what it needs.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Which.
    pub choice: EngineChoice,
    /// Its file; absent for the default place, or for an engine without one.
    pub store: Option<PathBuf>,
    /// What it masks.
    pub redaction: Redaction,
    /// Who writes its summaries.
    pub summarizer: SummarizerArgs,
}

/// Where a service listens and what it takes on.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The socket; `none` for no socket, absent for the default place.
    pub socket: Option<PathBuf>,
    /// A loopback address as well.
    pub listen: Option<SocketAddr>,
    /// Its limits.
    pub options: ServerOptions,
}

/// How a host of this program calls an engine.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The engine; absent to start one.
    pub target: Option<Target>,
    /// When each turn must be answered.
    pub deadline: Duration,
    /// Ceiling of each context; absent for none.
    pub budget: Option<TokenBudget>,
    /// The model that contexts are for; absent for the recorded one.
    pub model: Option<String>,
    /// Whether a context over the budget is compacted.
    pub compact_over_budget: CompactChoice,
    /// The outbox of a host.
    pub outbox: Option<PathBuf>,
    /// What a client takes.
    pub client: ClientOptions,
}

impl Config {
    /// Looks at all values together, and notes what does not belong together.
    pub(super) fn check(settings: &mut Settings) -> Self {
        let engine = engine::check(settings);
        let server = server::check(settings);
        let host = host::check(settings);
        let log = &settings.options.log;
        Self {
            engine,
            server,
            log_format: log.format.unwrap_or_default(),
            log_filter: log.filter.clone().map(|filter| filter.0),
            host,
            doctor_deadline: host::deadline(settings, "doctor.deadline", |o| &o.doctor.deadline),
        }
    }

    /// The log filter as text.
    pub fn log_filter(&self) -> &str {
        self.log_filter.as_ref().map_or("info", Filter::as_str)
    }
}

impl Settings {
    /// Notes that a key's value cannot be used.
    fn refuse(&mut self, key: &str, problem: impl Into<String>, advice: impl Into<String>) {
        self.refuse_at(key, key, problem, advice);
    }

    /// The same of a key that is not there, and is missed by another.
    fn refuse_at(
        &mut self,
        of: &str,
        key: &str,
        problem: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let origin = self.origins.of(of);
        let problem = Problem::new(origin, Some(key), problem, advice);
        self.problems.push(problem);
    }
}
