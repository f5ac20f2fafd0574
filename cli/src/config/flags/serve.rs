//! What `serve` takes.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use crate::config::{Filter, Settings, Size, Span, Text, UnknownFieldsChoice};
use crate::engine::{EngineChoice, SummarizerArgs};
use crate::log::LogFormat;

/// What `serve` takes, and how much at once.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeFlags {
    /// Which engine; `lossless` by default.
    #[arg(long, value_enum)]
    pub engine: Option<EngineChoice>,
    /// The file of an engine that stores; by default one in your data folder. Created for you alone
    /// where there is none.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// How `--engine lossless` and `--engine legacy` compact.
    #[command(flatten)]
    pub summarizer: SummarizerArgs,
    /// The Unix socket, in a folder that only you may enter; by default one in your runtime or
    /// cache folder. `none` listens on no socket.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// A loopback address as well, for tools without Unix sockets; port 0 picks one.
    #[arg(long, value_name = "127.0.0.1:PORT")]
    pub listen: Option<SocketAddr>,
    /// How long running calls may go on after Ctrl-C, in seconds or with a unit; 30 s by default.
    #[arg(long, value_name = "TIME", value_parser = Span::or_seconds)]
    pub drain_grace: Option<Span>,
    /// Refuse calls with fields that this build does not know, and name them, instead of ignoring
    /// them.
    #[arg(long)]
    pub strict: bool,
    /// How log lines look; `human` by default.
    #[arg(long, value_enum)]
    pub log: Option<LogFormat>,
    /// Which log lines, for instance `contextwire_server=debug`; `info` by default.
    #[arg(long, value_name = "FILTER")]
    pub log_filter: Option<Filter>,
    /// How much it takes on at once.
    // The last field: the heading of these holds for whatever follows.
    #[command(flatten)]
    pub limits: LimitFlags,
}

/// Limits of a service; what is over them is refused and told to come back.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
#[expect(clippy::struct_field_names, reason = "the fields are the flags")]
pub struct LimitFlags {
    /// Calls that run at once; 1024 by default. More are refused as OVERLOADED before they are
    /// read; describe and health checks always get through.
    #[arg(long, value_name = "N")]
    pub max_hooks: Option<NonZeroU32>,
    /// Calls of one session that run at once; 64 by default.
    #[arg(long, value_name = "N")]
    pub max_session_hooks: Option<NonZeroU32>,
    /// Streams that one connection may have open; 2048 by default. Hosts wait before they open
    /// more. Keep it above --max-hooks, or they wait where they could fall back.
    #[arg(long, value_name = "N")]
    pub max_streams: Option<NonZeroU32>,
    /// Bytes of requests that running calls hold together, for instance 65536 or 2GiB; 512MiB by
    /// default. A list that is larger cannot be sent at all.
    #[arg(long, value_name = "SIZE")]
    pub max_bytes_in_flight: Option<Size>,
}

impl ServeFlags {
    /// Puts what is given over the other layers.
    pub fn over(&self, settings: &mut Settings) {
        settings.flag("engine.name", "--engine", self.engine.as_ref(), |o| {
            &mut o.engine.name
        });
        settings.flag("engine.store", "--store", self.store.as_ref(), |o| {
            &mut o.engine.store
        });
        summarizer(&self.summarizer, settings);
        settings.flag("server.socket", "--socket", self.socket.as_ref(), |o| {
            &mut o.server.socket
        });
        settings.flag("server.listen", "--listen", self.listen.as_ref(), |o| {
            &mut o.server.listen
        });
        let grace = self.drain_grace.map(Text);
        settings.flag("server.drain_grace", "--drain-grace", grace.as_ref(), |o| {
            &mut o.server.drain_grace
        });
        let strict = self.strict.then_some(UnknownFieldsChoice::Reject);
        settings.flag("server.unknown_fields", "--strict", strict.as_ref(), |o| {
            &mut o.server.unknown_fields
        });
        settings.flag("log.format", "--log", self.log.as_ref(), |o| {
            &mut o.log.format
        });
        let filter = self.log_filter.clone().map(Text);
        settings.flag("log.filter", "--log-filter", filter.as_ref(), |o| {
            &mut o.log.filter
        });
        self.limits.over(settings);
    }
}

fn summarizer(flags: &SummarizerArgs, settings: &mut Settings) {
    let by = flags.summarizer.clone().map(Text);
    settings.flag("summarizer.by", "--summarizer", by.as_ref(), |o| {
        &mut o.summarizer.by
    });
    let model = flags.summarizer_model.as_ref();
    settings.flag("summarizer.model", "--summarizer-model", model, |o| {
        &mut o.summarizer.model
    });
    let key = flags.summarizer_key_file.as_ref();
    settings.flag("summarizer.key_file", "--summarizer-key-file", key, |o| {
        &mut o.summarizer.key_file
    });
    let window = flags.summarizer_window.as_ref();
    settings.flag("summarizer.window", "--summarizer-window", window, |o| {
        &mut o.summarizer.window
    });
}

impl LimitFlags {
    fn over(&self, settings: &mut Settings) {
        let hooks = self.max_hooks.as_ref();
        settings.flag("server.max_hooks", "--max-hooks", hooks, |o| {
            &mut o.server.max_hooks
        });
        let of_session = ("server.max_session_hooks", "--max-session-hooks");
        let hooks = self.max_session_hooks.as_ref();
        settings.flag(of_session.0, of_session.1, hooks, |o| {
            &mut o.server.max_session_hooks
        });
        let streams = self.max_streams.as_ref();
        settings.flag("server.max_streams", "--max-streams", streams, |o| {
            &mut o.server.max_streams
        });
        let in_flight = ("server.max_bytes_in_flight", "--max-bytes-in-flight");
        let bytes = self.max_bytes_in_flight.as_ref();
        settings.flag(in_flight.0, in_flight.1, bytes, |o| {
            &mut o.server.max_bytes_in_flight
        });
    }
}
