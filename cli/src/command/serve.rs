//! `contextwire serve`: an engine service, until Ctrl-C or SIGTERM.

#[cfg(not(unix))]
use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use contextwire_engine::tokens::{self, ModelFamily};
use contextwire_server::{Listen, Server};

use crate::config::{ConfigArgs, ServeFlags, ServerConfig};
use crate::{log, output};

/// What of a configuration a service reads.
const SECTIONS: [&str; 4] = ["engine", "summarizer", "server", "log"];

/// Serves a context engine over gRPC.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// What wins over it.
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// Runs the service.
///
/// # Errors
/// When something is wrong with the configuration, an address cannot be listened on, or a listener
/// fails.
pub async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let loaded = args.config.load(|settings| args.flags.over(settings));
    let file = loaded.file().map(|path| path.display().to_string());
    let config = loaded.into_config(&SECTIONS)?;
    log::start(config.log_format, config.log_filter())?;
    contextwire_server::survive_file_limit();
    let engine = &config.engine;
    let built = engine
        .choice
        .build(engine.store.as_deref(), &engine.summarizer)?;
    let mut server = Server::new(built.engine).options(config.server.options.clone());
    if let Some(admin) = built.admin {
        server = server.admin(admin);
    }
    for address in addresses(&config.server)? {
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
        engine = engine.choice.name(),
        addresses,
        config = file,
        "serving, Ctrl-C drains"
    );
    if let Some(summarizer) = &engine.summarizer.summarizer {
        let summarizer = summarizer.name();
        tracing::info!(
            summarizer,
            "this engine compacts, the summaries are not the host's own"
        );
    }
    bound.run(contextwire_server::stop_signal()).await?;
    Ok(())
}

/// Where a service listens.
///
/// # Errors
/// When nobody names a socket and the system knows no place for one.
#[cfg(unix)]
pub(crate) fn addresses(server: &ServerConfig) -> anyhow::Result<Vec<Listen>> {
    let socket = match &server.socket {
        Some(none) if none.as_os_str() == "none" => None,
        Some(path) => Some(path.clone()),
        None => Some(default_socket()?),
    };
    let listen = socket.map(Listen::Unix).into_iter();
    Ok(listen.chain(server.listen.map(Listen::Tcp)).collect())
}

#[cfg(not(unix))]
pub(crate) fn addresses(server: &ServerConfig) -> anyhow::Result<Vec<Listen>> {
    let address = server
        .listen
        .unwrap_or(SocketAddr::from(([127, 0, 0, 1], 50_551)));
    Ok(vec![Listen::Tcp(address)])
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
