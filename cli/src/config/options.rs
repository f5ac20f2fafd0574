//! The file as it is read: every key is optional, and an unknown one is an error.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use contextwire_client::{FallbackEngine, OnEngineFailure, Policy, Target};
use contextwire_proto::limits;
use contextwire_server::{ServerOptions as ServerDefaults, UnknownFields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::size::Size;
use super::text::{Filter, Span, Text};
use crate::command::replay::CompactChoice;
use crate::engine::{EngineChoice, SummarizerChoice};
use crate::log::LogFormat;

/// The configuration of the `contextwire` program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Which engine `serve` runs.
    pub engine: EngineOptions,
    /// Who writes summaries, where an engine makes some.
    pub summarizer: SummarizerOptions,
    /// How `serve` listens and how much it takes on.
    pub server: ServerOptions,
    /// The log lines of `serve`.
    pub log: LogOptions,
    /// How `replay` calls an engine.
    pub host: HostOptions,
    /// How `doctor` examines.
    pub doctor: DoctorOptions,
}

/// Section `[engine]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineOptions {
    /// Which engine.
    pub name: Option<EngineChoice>,
    /// The file of an engine that stores; by default one in the user's data folder. Created for
    /// its owner alone where there is none.
    #[serde(serialize_with = "path")]
    pub store: Option<PathBuf>,
    /// Regular expressions of what neither the index of texts, a summariser nor a summary may hold;
    /// `[redacted]` stands there instead. The log keeps the original.
    pub redact: Option<Vec<String>>,
}

/// Section `[summarizer]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SummarizerOptions {
    /// `host` (the model of the host that calls), `none` (quotes that say what they are), or the
    /// URL of an OpenAI-compatible endpoint. Without it the host compacts.
    pub by: Option<Text<SummarizerChoice>>,
    /// The model at that URL.
    pub model: Option<String>,
    /// A file that holds the key for that URL and nothing else; none is sent without it.
    #[serde(serialize_with = "path")]
    pub key_file: Option<PathBuf>,
    /// Tokens that this model reads and writes in one call; 100000 where nobody says.
    pub window: Option<NonZeroU64>,
}

/// Section `[server]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerOptions {
    /// The Unix socket, in a folder that only its owner may enter; by default one in the user's
    /// runtime or cache folder. `none` listens on no socket.
    #[serde(serialize_with = "path")]
    pub socket: Option<PathBuf>,
    /// A loopback address to listen at as well; port 0 picks one.
    pub listen: Option<SocketAddr>,
    /// How long running calls may go on once the service is told to stop.
    pub drain_grace: Option<Text<Span>>,
    /// What becomes of a call with fields that this build does not know.
    pub unknown_fields: Option<UnknownFieldsChoice>,
    /// Calls that run at once.
    pub max_hooks: Option<NonZeroU32>,
    /// Calls of one session that run at once.
    pub max_session_hooks: Option<NonZeroU32>,
    /// Streams that one connection may have open. Keep it above `max_hooks`.
    pub max_streams: Option<NonZeroU32>,
    /// Bytes of requests that running calls hold together.
    pub max_bytes_in_flight: Option<Size>,
    /// Largest message, each way; at least 4 MiB.
    pub max_message_bytes: Option<Size>,
    /// Memory for remembered lists. They are a cache: what does not fit is sent again.
    pub mirror_bytes: Option<Size>,
}

/// Section `[log]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogOptions {
    /// How log lines look.
    pub format: Option<LogFormat>,
    /// Which log lines, for instance `info` or `info,contextwire_server=debug`.
    pub filter: Option<Text<Filter>>,
}

/// Section `[host]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostOptions {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`, several of them with
    /// commas between, or `spawn:COMMAND`. Without it `replay` starts one of its own.
    pub target: Option<Text<Target>>,
    /// When each turn must be answered.
    pub deadline: Option<Text<Span>>,
    /// Ceiling of each context in tokens; 0 is none.
    pub budget: Option<u64>,
    /// The model that contexts are for; the recorded one by default.
    pub model: Option<String>,
    /// How failures are judged: `direct` (each call is one try, nothing is remembered), `guarded`
    /// (an engine that does not answer is left alone for a while, one that fails is barred) or
    /// `lease`.
    pub policy: Option<PolicyChoice>,
    /// What happens when the engine does not answer.
    pub on_engine_failure: Option<FailureChoice>,
    /// Who answers in its place.
    pub fallback: Option<FallbackChoice>,
    /// Whether a context over the budget is compacted and asked for again.
    pub compact_over_budget: Option<CompactChoice>,
    /// Largest message, each way; the smaller of this and the engine's holds.
    pub max_message_bytes: Option<Size>,
    /// The outbox of your host, for `contextwire outbox`.
    #[serde(serialize_with = "path")]
    pub outbox: Option<PathBuf>,
}

/// Section `[doctor]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DoctorOptions {
    /// How long to wait for each answer.
    pub deadline: Option<Text<Span>>,
}

/// What becomes of fields that this build does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownFieldsChoice {
    /// They are left out.
    Ignore,
    /// The call is refused, and they are named.
    Reject,
}

impl From<UnknownFieldsChoice> for UnknownFields {
    fn from(choice: UnknownFieldsChoice) -> Self {
        match choice {
            UnknownFieldsChoice::Ignore => Self::Ignore,
            UnknownFieldsChoice::Reject => Self::Reject,
        }
    }
}

/// How failures are judged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChoice {
    /// Each call is one try and nothing is remembered.
    #[default]
    Direct,
    /// An engine that does not answer is left alone for a while, one that fails is barred.
    Guarded,
    /// A turn neither bars an engine nor cares whether it is barred.
    Lease,
}

impl From<PolicyChoice> for Policy {
    fn from(choice: PolicyChoice) -> Self {
        match choice {
            PolicyChoice::Direct => Self::Direct,
            PolicyChoice::Guarded => Self::Guarded,
            PolicyChoice::Lease => Self::Lease,
        }
    }
}

/// What happens when the engine does not answer.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum FailureChoice {
    /// An engine in this process answers, and the answer says so.
    #[default]
    Substitute,
    /// The call fails.
    Fail,
}

impl From<FailureChoice> for OnEngineFailure {
    fn from(choice: FailureChoice) -> Self {
        match choice {
            FailureChoice::Substitute => Self::Substitute,
            FailureChoice::Fail => Self::Fail,
        }
    }
}

/// Who answers in the engine's place.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackChoice {
    /// The windowed rules; of an engine that owns compaction, over its last good result.
    #[default]
    LastGood,
    /// The list as it is, whatever its size.
    Legacy,
}

impl From<FallbackChoice> for FallbackEngine {
    fn from(choice: FallbackChoice) -> Self {
        match choice {
            FallbackChoice::LastGood => Self::LastGood,
            FallbackChoice::Legacy => Self::Legacy,
        }
    }
}

impl Options {
    /// Every value that is built in. A key without one has no value until somebody gives one.
    pub fn defaults() -> Self {
        let server = ServerDefaults::default();
        let bytes = |bytes: usize| u64::try_from(bytes).ok().map(Size);
        Self {
            engine: EngineOptions {
                name: Some(EngineChoice::Lossless),
                store: None,
                redact: None,
            },
            summarizer: SummarizerOptions::default(),
            server: ServerOptions {
                socket: None,
                listen: None,
                drain_grace: Some(Text(Span(server.drain_grace))),
                unknown_fields: Some(UnknownFieldsChoice::Ignore),
                max_hooks: NonZeroU32::new(server.max_hooks),
                max_session_hooks: NonZeroU32::new(server.max_session_hooks),
                max_streams: NonZeroU32::new(server.max_streams),
                max_bytes_in_flight: Some(Size(server.max_bytes_in_flight)),
                max_message_bytes: bytes(server.max_message_bytes),
                mirror_bytes: Some(Size(server.mirror_bytes)),
            },
            log: LogOptions {
                format: Some(LogFormat::default()),
                filter: "info".parse().ok().map(Text),
            },
            host: HostOptions {
                target: None,
                deadline: Some(Text(Span(Duration::from_secs(5)))),
                budget: Some(60_000),
                model: None,
                policy: Some(PolicyChoice::default()),
                on_engine_failure: Some(FailureChoice::default()),
                fallback: Some(FallbackChoice::default()),
                compact_over_budget: Some(CompactChoice::default()),
                max_message_bytes: bytes(limits::MESSAGE_BYTES),
                outbox: None,
            },
            doctor: DoctorOptions {
                deadline: Some(Text(Span(Duration::from_secs(2)))),
            },
        }
    }
}

/// A path as people read it.
#[expect(clippy::ref_option, reason = "serde hands over the field")]
fn path<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => to.collect_str(&path.display()),
        None => to.serialize_none(),
    }
}
