//! `contextwire call`: one hook by hand, for people who debug an engine.

mod answer;
mod example;
mod form;

use std::io::Read;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use contextwire_client::{
    Call, ClientOptions, EngineClient, EngineRequest, OnEngineFailure, Policy, ServedBy, Target,
};
use contextwire_engine::{Session, SessionId, Transcript};

use crate::output;

/// Calls one hook of an engine and prints its own answer; nothing is substituted.
#[derive(Debug, Args)]
pub struct CallArgs {
    #[command(subcommand)]
    hook: HookArgs,
}

#[derive(Debug, Subcommand)]
enum HookArgs {
    /// What would the model see of these messages?
    Assemble(RequestArgs),
    /// Appends one message to the engine's log.
    Ingest(RequestArgs),
    /// Appends several messages to the engine's log, all or none.
    IngestBatch(RequestArgs),
    /// Asks the engine to make room.
    Compact(RequestArgs),
    /// Hands the engine the log of a session that already had one.
    Bootstrap(RequestArgs),
    /// Shows the engine the log after a turn.
    AfterTurn(RequestArgs),
    /// Stores a closed turn; its first message is the user's. The anchors are made of the first and
    /// the last message.
    CommitTurn(RequestArgs),
    /// Lets the engine tidy up.
    Maintain(RequestArgs),
    /// Prepares what a child session inherits; `session_id` is the parent's.
    PrepareSubagentSpawn(RequestArgs),
    /// Says what became of a prepared spawn; `session_id` is the parent's.
    ResolveSubagentSpawn(RequestArgs),
    /// Says that a child session ended; `session_id` is the child's.
    EndSubagent(RequestArgs),
    /// Says that a host goes away.
    Dispose(RequestArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "`--example` prints a request with every field of the hook. It can be sent as \
it is:\n  contextwire call HOOK --example | contextwire call HOOK TARGET --json -"
)]
struct RequestArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(required_unless_present = "example")]
    target: Option<Target>,
    /// The request as JSON, or `-` to read it from standard input.
    #[arg(long, value_name = "JSON", required_unless_present = "example")]
    json: Option<String>,
    /// When it must be answered; by default the hook's own deadline.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    deadline: Option<Duration>,
    /// Prints a request to start from, and calls nobody.
    #[arg(long, conflicts_with_all = ["target", "json"])]
    example: bool,
}

impl HookArgs {
    fn args(&self) -> &RequestArgs {
        match self {
            Self::Assemble(args)
            | Self::Ingest(args)
            | Self::IngestBatch(args)
            | Self::Compact(args)
            | Self::Bootstrap(args)
            | Self::AfterTurn(args)
            | Self::CommitTurn(args)
            | Self::Maintain(args)
            | Self::PrepareSubagentSpawn(args)
            | Self::ResolveSubagentSpawn(args)
            | Self::EndSubagent(args)
            | Self::Dispose(args) => args,
        }
    }

    /// A request with every field of this hook.
    fn example(&self) -> &'static str {
        match self {
            Self::Assemble(_) => example::ASSEMBLE,
            Self::Ingest(_) => example::INGEST,
            Self::IngestBatch(_) => example::INGEST_BATCH,
            Self::Compact(_) => example::COMPACT,
            Self::Bootstrap(_) => example::BOOTSTRAP,
            Self::AfterTurn(_) => example::AFTER_TURN,
            Self::CommitTurn(_) => example::COMMIT_TURN,
            Self::Maintain(_) => example::MAINTAIN,
            Self::PrepareSubagentSpawn(_) => example::PREPARE_SUBAGENT_SPAWN,
            Self::ResolveSubagentSpawn(_) => example::RESOLVE_SUBAGENT_SPAWN,
            Self::EndSubagent(_) => example::END_SUBAGENT,
            Self::Dispose(_) => example::DISPOSE,
        }
    }

    /// The session's id and the request that the text says.
    fn read(&self, text: &str) -> anyhow::Result<(String, EngineRequest)> {
        match self {
            Self::Assemble(_) => form::read::<form::Assemble<'_>>(text),
            Self::Ingest(_) => form::read::<form::Ingest<'_>>(text),
            Self::IngestBatch(_) => form::read::<form::IngestBatch<'_>>(text),
            Self::Compact(_) => form::read::<form::Compact>(text),
            Self::Bootstrap(_) => form::read::<form::Bootstrap<'_>>(text),
            Self::AfterTurn(_) => form::read::<form::AfterTurn<'_>>(text),
            Self::CommitTurn(_) => form::read::<form::CommitTurn<'_>>(text),
            Self::Maintain(_) => form::read::<form::Maintain>(text),
            Self::PrepareSubagentSpawn(_) => form::read::<form::PrepareSubagentSpawn>(text),
            Self::ResolveSubagentSpawn(_) => form::read::<form::ResolveSubagentSpawn>(text),
            Self::EndSubagent(_) => form::read::<form::EndSubagent>(text),
            Self::Dispose(_) => form::read::<form::Dispose>(text),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When the request cannot be read, the engine cannot be reached, or it answers with an error.
pub async fn run(args: CallArgs) -> anyhow::Result<()> {
    let request_args = args.hook.args();
    if request_args.example {
        output::line(args.hook.example());
        return Ok(());
    }
    let (Some(target), Some(json)) = (&request_args.target, &request_args.json) else {
        anyhow::bail!("name an engine and a request, or print one with --example");
    };
    let text = text(json)?;
    let (session_id, request) = args.hook.read(&text)?;
    let session = Session::new(SessionId::new(session_id)?);
    let view = if let EngineRequest::Assemble(request) = &request {
        request.transcript.clone()
    } else {
        Transcript::new()
    };
    let options = ClientOptions {
        on_engine_failure: OnEngineFailure::Fail,
        policy: Policy::Direct,
        ..ClientOptions::default()
    };
    let client = EngineClient::with_options(target, &options)?;
    let deadline = request_args.deadline.unwrap_or_else(|| request.deadline());
    let hook = request.hook();
    let served = client.call(Call::new(session, request, deadline)).await?;
    if served.by == ServedBy::InProcess {
        let why = served.reason.map_or_else(
            || {
                anyhow::anyhow!(
                    "the engine has no {hook}: `contextwire describe` lists its methods"
                )
            },
            anyhow::Error::new,
        );
        return Err(why);
    }
    let answer = answer::json(&served, &view);
    output::line(serde_json::to_string_pretty(&answer)?);
    Ok(())
}

fn text(json: &str) -> anyhow::Result<String> {
    if json != "-" {
        return Ok(json.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("cannot read the request")?;
    Ok(text)
}
