//! `contextwire describe`: what an engine says of itself.

use std::time::Duration;

use clap::Args;
use contextwire_client::handshake::{EngineDescription, EngineState};
use contextwire_client::{EngineClient, Target};
use contextwire_engine::{Hook, MaintenanceMode, TranscriptSync};

use crate::output;
use crate::report::{Describe, HostRequirement, Limits};

/// Asks an engine what it is, accepts and can.
#[derive(Debug, Args)]
pub struct DescribeArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    pub target: Target,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// How long to wait, for instance `500ms`.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration)]
    pub deadline: Duration,
}

/// Runs the command.
///
/// # Errors
/// When the engine cannot be reached or its description breaks the contract.
pub async fn run(args: DescribeArgs) -> anyhow::Result<()> {
    let client = EngineClient::new(&args.target)?;
    let described = client.describe(args.deadline).await?;
    let report = report(&args.target, &described);
    if args.json {
        output::line(serde_json::to_string_pretty(&report)?);
    } else {
        output::line(report.to_text(output::surface()));
    }
    Ok(())
}

fn report(target: &Target, described: &EngineDescription) -> Describe {
    let info = &described.info;
    let present = |text: &String| (!text.is_empty()).then(|| text.clone());
    let semantics = info.transcript_semantics.clone().unwrap_or_default();
    Describe {
        target: target.to_string(),
        id: info.id.clone(),
        name: info.name.clone(),
        version: present(&info.version),
        build: present(&info.build),
        instance_id: present(&described.instance_id),
        protocol: format!("{}.{}", described.protocol.major, described.protocol.minor),
        state: state(described.state).to_owned(),
        methods: info
            .methods
            .iter()
            .map(|hook| Hook::name(*hook).to_owned())
            .collect(),
        owns_compaction: info.owns_compaction,
        turn_maintenance_mode: match info.turn_maintenance_mode {
            MaintenanceMode::Foreground => "foreground",
            MaintenanceMode::Background => "background",
        }
        .to_owned(),
        host_requirements: requirements(described),
        accepted_host_params: info.accepted_host_params.clone(),
        current_turn_fence: semantics.current_turn_fence,
        turn_advancement_idempotency: semantics.turn_advancement_idempotency,
        transcript_sync: match info.transcript_sync {
            TranscriptSync::Delta => "delta",
            TranscriptSync::Full => "full",
        }
        .to_owned(),
        max_silence_ms: info.max_silence.and_then(millis),
        projection_version: info.projection_version.clone(),
        honours_must_understand: described.honours_must_understand,
        settings_versions: described.runtime_settings_versions.clone(),
        limits: Limits {
            max_message_bytes: described.limits.max_message_bytes,
            max_concurrent_hooks: described.limits.max_concurrent_hooks.map(u64::from),
            max_streams: described.limits.max_streams.map(u64::from),
            max_tenant_bytes: described.limits.max_tenant_bytes,
            max_mirror_bytes: described.limits.max_mirror_bytes,
        },
        ttl_ms: millis(described.ttl),
    }
}

fn requirements(described: &EngineDescription) -> Vec<HostRequirement> {
    let rows = described
        .info
        .host_requirements
        .iter()
        .map(|(operation, needs)| HostRequirement {
            operation: operation.clone(),
            capabilities: needs.capabilities.clone(),
            unsupported_message: needs.unsupported_message.clone(),
        });
    rows.collect()
}

fn millis(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

fn state(state: EngineState) -> &'static str {
    match state {
        EngineState::Starting => "starting",
        EngineState::Ready => "ready",
        EngineState::Draining => "draining",
        EngineState::Degraded => "degraded",
    }
}
