//! `contextwire serve`: an engine service, until Ctrl-C or SIGTERM.

use std::net::SocketAddr;
#[cfg(unix)]
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use contextwire_conformance::mutant::{self, Front, Mutant};
use contextwire_conformance::target::Address;
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
    /// Breaks one rule on purpose; for those who check the checks of `contextwire conformance`.
    #[arg(long, value_name = "NAME", hide = true, value_parser = mutant)]
    pub mutant: Option<&'static Mutant>,
}

fn mutant(name: &str) -> Result<&'static Mutant, String> {
    mutant::find(name).ok_or_else(|| {
        let names: Vec<_> = mutant::all().map(|mutant| mutant.name).collect();
        format!("no mutant has this name: {}", names.join(", "))
    })
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
    let built = engine.choice.build_masking(
        engine.store.as_deref(),
        &engine.summarizer,
        engine.redaction.clone(),
    )?;
    let mut server = Server::new(built.engine).options(config.server.options.clone());
    if let Some(admin) = built.admin {
        server = server.admin(admin);
    }
    if let Some(mutant) = args.mutant {
        return serve_mutant(server, mutant, config.server.listen).await;
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

/// Serves the engine at an address of its own, and before it what makes the mutant of it.
async fn serve_mutant(
    server: Server,
    mutant: &Mutant,
    listen: Option<SocketAddr>,
) -> anyhow::Result<()> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let bound = server.listen(Listen::Tcp(any)).bind().await?;
    let engine = bound.addresses().first().map(ToString::to_string);
    let engine = engine.context("the engine listens nowhere")?;
    let channel = engine.parse::<Address>()?.channel()?;
    let front = Front::new(channel, mutant.change);
    let (address, serving) = front.serve(listen.unwrap_or(any)).await?;
    output::line(format_args!("listening on http://{address}"));
    tracing::warn!(
        mutant = mutant.name,
        fault = mutant.fault,
        "this engine is broken on purpose"
    );
    tokio::select! {
        ended = serving => ended?,
        ended = bound.run(contextwire_server::stop_signal()) => ended?,
    }
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
