//! `contextwire status`: how an engine does, seen from outside or by its host.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use contextwire_client::handshake::{EngineDescription, EngineState};
use contextwire_client::status::HostStatus;
use contextwire_client::{EngineClient, Target};
use contextwire_proto::limits;
use tokio::time::{Instant, timeout};
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::output;
use crate::report::{HostReport, Outside};

/// Shows how an engine does: whether it answers, how fast, and what both sides speak.
///
/// With --file it shows what a running host knows of all its engines: which is selected and which
/// serves, breakers, quarantine, what was learnt of strict engines, what each holds of each session,
/// the last errors. A host writes that file where it is told to (`HostBuilder::status_file`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  contextwire status unix:/run/user/1000/contextwire/engine.sock
  contextwire status --file ~/.local/state/my-host/status.json --json")]
pub struct StatusArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub target: Option<Target>,
    /// The status file of a host.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// How long to wait for each answer, for instance `500ms`.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub deadline: Duration,
}

/// Runs the command.
///
/// # Errors
/// When the engine cannot be reached or its description breaks the contract, or the file is no
/// status.
pub async fn run(args: StatusArgs) -> anyhow::Result<()> {
    match (args.file, args.target) {
        (Some(file), _) => {
            let status = read(&file)?;
            if args.json {
                output::line(serde_json::to_string_pretty(&status)?);
            } else {
                output::line(HostReport(status).to_text(output::surface()));
            }
        }
        (None, Some(target)) => {
            let seen = look(&target, args.deadline).await?;
            if args.json {
                output::line(serde_json::to_string_pretty(&seen)?);
            } else {
                output::line(seen.to_text(output::surface()));
            }
        }
        (None, None) => anyhow::bail!("name an engine, or a host's file with --file"),
    }
    Ok(())
}

fn read(file: &PathBuf) -> anyhow::Result<HostStatus> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("`{shown}` cannot be read"))?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("`{shown}` is no status of a host of this version"))
}

/// What can be seen without a host: three questions, none of which concerns a session.
async fn look(target: &Target, deadline: Duration) -> anyhow::Result<Outside> {
    anyhow::ensure!(
        !matches!(target, Target::Replicas(_)),
        "look at one endpoint at a time; a host that has several shows them in its status file (--file)"
    );
    let client = EngineClient::new(target)?;
    let started = Instant::now();
    client.describe(deadline).await?;
    let connected = started.elapsed();
    // The first answer waits for the connection; this one does not.
    let started = Instant::now();
    let described = client.describe(deadline).await?;
    let answers = started.elapsed();
    let health = timeout(deadline, health(target)).await;
    let health = match health {
        Ok(Ok(status)) => status.as_str_name().to_owned(),
        Ok(Err(error)) => format!("unknown: {error}"),
        Err(_) => format!("unknown: no answer within {deadline:?}"),
    };
    Ok(outside(target, &described, (connected, answers), health))
}

async fn health(target: &Target) -> anyhow::Result<ServingStatus> {
    let channel = Endpoint::from_shared(target.to_string())?.connect().await?;
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let answer = HealthClient::new(channel).check(request).await?;
    Ok(answer.into_inner().status())
}

fn outside(
    target: &Target,
    described: &EngineDescription,
    (connected, answers): (Duration, Duration),
    health: String,
) -> Outside {
    let (info, protocol) = (&described.info, described.protocol);
    let ours = limits::RUNTIME_SETTINGS_VERSIONS.into_iter();
    let settings = ours.filter(|it| described.runtime_settings_versions.contains(it));
    Outside {
        target: target.to_string(),
        id: info.id.clone(),
        version: info.version.clone(),
        instance_id: described.instance_id.clone(),
        health,
        state: match described.state {
            EngineState::Starting => "starting",
            EngineState::Ready => "ready",
            EngineState::Draining => "draining",
            EngineState::Degraded => "degraded",
        }
        .to_owned(),
        protocol: format!("{}.{}", protocol.major, protocol.minor),
        negotiated_minor: protocol.minor.min(limits::PROTOCOL.minor),
        settings_version: settings.max(),
        connect_ms: connected.into(),
        describe_ms: answers.into(),
    }
}

#[cfg(test)]
mod tests {
    use contextwire_client::Host;
    use contextwire_server::{Listen, Server};
    use contextwire_windowed::WindowedEngine;

    use super::*;

    async fn serve() -> Target {
        let loopback = "127.0.0.1:0".parse().unwrap();
        let server = Server::new(WindowedEngine).listen(Listen::Tcp(loopback));
        let bound = server.bind().await.unwrap();
        let Some(&Listen::Tcp(address)) = bound.addresses().first() else {
            panic!("a TCP address")
        };
        tokio::spawn(async move { bound.run(std::future::pending()).await });
        Target::tcp(address).unwrap()
    }

    #[tokio::test]
    async fn an_engine_is_seen_from_outside() {
        let target = serve().await;
        let seen = look(&target, Duration::from_mins(1)).await.unwrap();
        assert_eq!(seen.id, "windowed");
        assert_eq!(seen.health, "SERVING");
        assert_eq!(seen.state, "ready");
        assert_eq!(seen.negotiated_minor, limits::PROTOCOL.minor);
    }

    #[tokio::test]
    async fn what_a_host_writes_is_read_and_anything_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("status.json");
        let host = Host::builder()
            .id("my-host")
            .engine("lossless", Target::unix("/nobody/listens/here"))
            .build()
            .unwrap();
        let json = serde_json::to_vec(&host.status()).unwrap();
        std::fs::write(&file, json).unwrap();
        let status = read(&file).unwrap();
        assert_eq!(status.host, "my-host");
        assert_eq!(status.active, "lossless");
        std::fs::write(&file, "{}").unwrap();
        let error = format!("{:#}", read(&file).unwrap_err());
        assert!(error.contains("no status of a host"), "{error}");
    }
}
