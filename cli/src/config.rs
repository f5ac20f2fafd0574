//! The configuration: one value made of four layers, each value with its origin.
//!
//! Later layers win: built-in defaults, the file, variables of the environment, flags. Every layer
//! is checked value by value with the types of [`Options`], so that all problems are known at once.

mod checked;
mod environment;
mod file;
mod flags;
mod key;
mod layers;
mod options;
mod origin;
mod problem;
mod schema;
mod size;
mod text;

pub use checked::{Config, EngineConfig, HostConfig, ServerConfig};
pub use flags::{ConfigArgs, HostFlags, ServeFlags};
pub use key::{KEYS, SECTIONS, variable};
pub use layers::{Layers, Loaded, Settings};
pub use options::{
    DoctorOptions, EngineOptions, FailureChoice, FallbackChoice, HostOptions, LogOptions, Options,
    PolicyChoice, ServerOptions, SummarizerOptions, UnknownFieldsChoice,
};
pub use origin::Origin;
pub use problem::{ConfigErrors, Problem};
pub use schema::schema;
pub use size::Size;
pub use text::{Filter, Span, Text};

#[cfg(test)]
mod tests;
