//! `contextwire call`: one hook by hand, for people who debug an engine.

mod answer;
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
    #[command(after_help = r#"Example:
  --json '{"messages": [{"role": "user", "content": "hi"}], "token_budget": 4000, "model": "gpt-5"}'
More fields: session_id, entry_ids, prompt, current_turn ("included" or "excluded")."#)]
    Assemble(RequestArgs),
    /// Appends one message to the engine's log.
    #[command(after_help = r#"Example:
  --json '{"message": {"role": "user", "content": "hi"}, "entry_id": "e1"}'
More fields: session_id, is_heartbeat."#)]
    Ingest(RequestArgs),
    /// Appends several messages to the engine's log, all or none.
    #[command(after_help = r#"Example:
  --json '{"messages": [{"role": "user", "content": "hi"}], "entry_ids": ["e1"]}'
More fields: session_id, is_heartbeat."#)]
    IngestBatch(RequestArgs),
    /// Asks the engine to make room.
    #[command(after_help = r#"Example:
  --json '{"token_budget": 4000, "force": true}'
More fields: session_id, current_token_count, target ("budget" or "threshold"), custom_instructions."#)]
    Compact(RequestArgs),
    /// Hands the engine the log of a session that already had one.
    #[command(after_help = r#"Example:
  --json '{"messages": [{"role": "user", "content": "hi"}], "entry_ids": ["e1"]}'
More fields: session_id, background."#)]
    Bootstrap(RequestArgs),
    /// Shows the engine the log after a turn.
    #[command(after_help = r#"Example:
  --json '{"messages": [{"role": "user", "content": "hi"}], "pre_prompt_message_count": 0}'
More fields: session_id, entry_ids, background, auto_compaction_summary, is_heartbeat, token_budget."#)]
    AfterTurn(RequestArgs),
    /// Stores a closed turn; its first message is the user's.
    #[command(after_help = r#"Example:
  --json '{"advancement_key": "t1", "messages": [{"role": "user", "content": "hi"}], "entry_ids": ["e1"]}'
More fields: session_id, is_heartbeat. The anchors are made of the first and the last message."#)]
    CommitTurn(RequestArgs),
    /// Lets the engine tidy up.
    #[command(after_help = r#"Example:
  --json '{"reason": "turn"}'
More fields: session_id, background. The reason is "bootstrap", "turn" or "compaction"."#)]
    Maintain(RequestArgs),
    /// Prepares what a child session inherits.
    #[command(after_help = r#"Example:
  --json '{"spawn_id": "s1", "parent_session_key": "parent", "child_session_key": "child"}'
More fields: session_id (the parent's), child_session_id, context_mode ("isolated" or "fork"), ttl_ms."#)]
    PrepareSubagentSpawn(RequestArgs),
    /// Says what became of a prepared spawn.
    #[command(after_help = r#"Example:
  --json '{"spawn_id": "s1", "outcome": "started"}'
More fields: session_id (the parent's). The outcome is "started" or "rolled_back"."#)]
    ResolveSubagentSpawn(RequestArgs),
    /// Says that a child session ended.
    #[command(after_help = r#"Example:
  --json '{"child_session_key": "child", "reason": "completed"}'
More fields: session_id (the child's), spawn_id."#)]
    EndSubagent(RequestArgs),
    /// Says that a host goes away.
    #[command(after_help = r#"Example:
  --json '{"host_instance": "h1"}'"#)]
    Dispose(RequestArgs),
}

#[derive(Debug, Args)]
struct RequestArgs {
    /// The engine: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    target: Target,
    /// The request as JSON, or `-` to read it from standard input.
    #[arg(long, value_name = "JSON")]
    json: String,
    /// When it must be answered; by default the hook's own deadline.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    deadline: Option<Duration>,
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
    let text = text(&request_args.json)?;
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
    let client = EngineClient::with_options(&request_args.target, &options)?;
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
