//! `contextwire serve`: an engine service, until Ctrl-C or SIGTERM.

mod limits;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use contextwire_engine::tokens::{self, ModelFamily};
use contextwire_server::{Listen, Server, ServerOptions, UnknownFields};

pub use limits::LimitArgs;

use crate::engine::{EngineChoice, SummarizerArgs};
use crate::log::{self, LogFormat};
use crate::output;

/// Serves a context engine over gRPC.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Which engine.
    #[arg(long, value_enum, default_value_t)]
    pub engine: EngineChoice,
    /// The file of `--engine ledger`; by default one in your data folder. Created for you alone
    /// where there is none.
    #[arg(long, value_name = "FILE", env = "CONTEXTWIRE_SERVER_STORE")]
    pub store: Option<PathBuf>,
    /// How `--engine legacy` compacts.
    #[command(flatten)]
    pub summarizer: SummarizerArgs,
    /// The Unix socket, in a folder that only you may enter; by default one in your runtime or
    /// cache folder. `none` listens on no socket.
    #[cfg(unix)]
    #[arg(long, value_name = "PATH", env = "CONTEXTWIRE_SERVER_SOCKET")]
    pub socket: Option<PathBuf>,
    /// A loopback address as well, for tools without Unix sockets; port 0 picks one.
    #[arg(long, value_name = "127.0.0.1:PORT", env = "CONTEXTWIRE_SERVER_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// How long running calls may go on after Ctrl-C, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub drain_grace: u64,
    /// Refuse calls with fields that this build does not know, and name them, instead of ignoring
    /// them.
    #[arg(long)]
    pub strict: bool,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t, env = "CONTEXTWIRE_LOG_FORMAT")]
    pub log: LogFormat,
    /// Which log lines, for instance `info` or `contextwire_server=debug`.
    #[arg(
        long,
        value_name = "FILTER",
        default_value = "info",
        env = "CONTEXTWIRE_LOG_FILTER"
    )]
    pub log_filter: String,
    /// How much it takes on at once.
    // The last field: the heading of these holds for whatever follows.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Runs the service.
///
/// # Errors
/// When an address cannot be listened on, or a listener fails.
pub async fn run(args: ServeArgs) -> anyhow::Result<()> {
    log::start(args.log, &args.log_filter)?;
    contextwire_server::survive_file_limit();
    let built = args.engine.build(args.store.as_deref(), &args.summarizer)?;
    let mut server = Server::new(built.engine).options(options(&args));
    if let Some(admin) = built.admin {
        server = server.admin(admin);
    }
    for address in addresses(&args)? {
        server = server.listen(address);
    }
    // The first call must not pay for loading a vocabulary.
    let warm = tokio::task::spawn_blocking(|| tokens::count_text(ModelFamily::O200k, "warm"));
    warm.await.context("cannot load the vocabulary")?;
    let bound = server.bind().await?;
    for address in bound.addresses() {
        output::line(format_args!("listening on {address}"));
    }
    let addresses: Vec<_> = bound.addresses().iter().map(ToString::to_string).collect();
    let addresses = addresses.join(", ");
    tracing::info!(
        engine = args.engine.name(),
        addresses,
        "serving, Ctrl-C drains"
    );
    if let Some(summarizer) = &args.summarizer.summarizer {
        let summarizer = summarizer.name();
        tracing::info!(
            summarizer,
            "this engine compacts, the summaries are not the host's own"
        );
    }
    bound.run(contextwire_server::stop_signal()).await?;
    Ok(())
}

fn options(args: &ServeArgs) -> ServerOptions {
    args.limits.within(ServerOptions {
        drain_grace: Duration::from_secs(args.drain_grace),
        build: env!("CARGO_PKG_VERSION").to_owned(),
        unknown_fields: if args.strict {
            UnknownFields::Reject
        } else {
            UnknownFields::Ignore
        },
        ..ServerOptions::default()
    })
}

#[cfg(unix)]
fn addresses(args: &ServeArgs) -> anyhow::Result<Vec<Listen>> {
    let socket = match &args.socket {
        Some(none) if none.as_os_str() == "none" => None,
        Some(path) => Some(path.clone()),
        None => Some(default_socket()?),
    };
    let listen: Vec<_> = socket
        .map(Listen::Unix)
        .into_iter()
        .chain(args.listen.map(Listen::Tcp))
        .collect();
    anyhow::ensure!(
        !listen.is_empty(),
        "nothing to listen on: `--socket none` needs a --listen address"
    );
    Ok(listen)
}

#[cfg(not(unix))]
fn addresses(args: &ServeArgs) -> anyhow::Result<Vec<Listen>> {
    Ok(vec![Listen::Tcp(
        args.listen
            .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 50_551))),
    )])
}

/// Where `serve` listens and other commands look when nobody names a socket.
///
/// # Errors
/// When the system knows neither a runtime nor a cache folder of this user.
#[cfg(unix)]
pub fn default_socket() -> anyhow::Result<PathBuf> {
    let folder = dirs::runtime_dir().or_else(dirs::cache_dir);
    let folder = folder.context("no runtime or cache folder for this user: name a --socket")?;
    Ok(folder.join("contextwire/engine.sock"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn a_server_is_strict_only_where_it_is_told_so() {
        for (line, expected) in [
            (&["serve"][..], UnknownFields::Ignore),
            (&["serve", "--strict"][..], UnknownFields::Reject),
        ] {
            let command = Command::try_parse_from(line).unwrap();
            assert_eq!(options(&command.args).unknown_fields, expected);
        }
    }
}
