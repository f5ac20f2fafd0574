//! `contextwire call`: one hook by hand, for people who debug an engine.

use std::io::Read;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use clap::{Args, Subcommand};
use contextwire_client::{ClientOptions, EngineClient, OnEngineFailure, Served, Target};
use contextwire_engine::{
    Assemble, AssembleOutcome, Compact, CurrentTurn, Ingest, Message, Segment, Session, SessionId,
    TokenBudget,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

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
More fields: session_id, prompt, current_turn ("included" or "excluded")."#)]
    Assemble(RequestArgs),
    /// Appends one message to the engine's log.
    #[command(after_help = r#"Example:
  --json '{"message": {"role": "user", "content": "hi"}, "entry_id": "e1"}'
More fields: session_id, is_heartbeat."#)]
    Ingest(RequestArgs),
    /// Asks the engine to make room.
    #[command(after_help = r#"Example:
  --json '{"token_budget": 4000, "force": true}'
More fields: session_id, current_token_count, custom_instructions."#)]
    Compact(RequestArgs),
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssembleJson<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
    token_budget: Option<u64>,
    model: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    current_turn: CurrentTurnJson,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CurrentTurnJson {
    #[default]
    Included,
    Excluded,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IngestJson<'a> {
    #[serde(default = "debug_session")]
    session_id: String,
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(default)]
    entry_id: String,
    #[serde(default)]
    is_heartbeat: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompactJson {
    #[serde(default = "debug_session")]
    session_id: String,
    token_budget: Option<u64>,
    #[serde(default)]
    force: bool,
    current_token_count: Option<u64>,
    custom_instructions: Option<String>,
}

fn debug_session() -> String {
    "debug".to_owned()
}

/// Runs the command.
///
/// # Errors
/// When the request cannot be read, the engine cannot be reached, or it answers with an error.
pub async fn run(args: CallArgs) -> anyhow::Result<()> {
    let answer = match &args.hook {
        HookArgs::Assemble(request) => assemble(request).await?,
        HookArgs::Ingest(request) => ingest(request).await?,
        HookArgs::Compact(request) => compact(request).await?,
    };
    output::line(serde_json::to_string_pretty(&answer)?);
    Ok(())
}

async fn assemble(args: &RequestArgs) -> anyhow::Result<Value> {
    let text = text(&args.json)?;
    let request: AssembleJson<'_> = parse(&text)?;
    let messages = request.messages.iter().map(|raw| message(raw));
    let (client, session) = open(args, request.session_id)?;
    let assemble = Assemble {
        transcript: messages.collect(),
        token_budget: request.token_budget.and_then(TokenBudget::new),
        model: request.model,
        prompt: request.prompt,
        current_turn: match request.current_turn {
            CurrentTurnJson::Included => CurrentTurn::Included,
            CurrentTurnJson::Excluded => CurrentTurn::Excluded,
        },
        ..Assemble::default()
    };
    let deadline = args
        .deadline
        .unwrap_or(contextwire_engine::Hook::Assemble.profile().deadline);
    let served = client.assemble_within(&session, assemble, deadline).await?;
    let messages = served.result.messages().map(payload).collect::<Vec<_>>();
    let result = match &served.result.outcome {
        AssembleOutcome::Messages(reply) => json!({
            "messages": messages,
            "segments": reply.messages.segments().iter().map(segment).collect::<Vec<_>>(),
            "estimated_tokens": reply.estimated_tokens,
            "prompt_authority": reply.prompt_authority.map(|authority| format!("{authority:?}")),
            "system_prompt_addition": reply.system_prompt_addition,
            "reasons": reply.reasons,
        }),
        AssembleOutcome::Unchanged(unchanged) => json!({
            "unchanged": true,
            "estimated_tokens": unchanged.estimated_tokens,
        }),
    };
    Ok(answer(&served, &result))
}

async fn ingest(args: &RequestArgs) -> anyhow::Result<Value> {
    let text = text(&args.json)?;
    let request: IngestJson<'_> = parse(&text)?;
    let message = message(request.message).with_entry_id(request.entry_id);
    let (client, session) = open(args, request.session_id)?;
    let ingest = Ingest {
        message,
        is_heartbeat: request.is_heartbeat,
    };
    let served = client.ingest(&session, ingest).await?;
    let result = json!({ "ingested": served.result.ingested });
    Ok(answer(&served, &result))
}

async fn compact(args: &RequestArgs) -> anyhow::Result<Value> {
    let text = text(&args.json)?;
    let request: CompactJson = parse(&text)?;
    let (client, session) = open(args, request.session_id)?;
    let compact = Compact {
        token_budget: request.token_budget.and_then(TokenBudget::new),
        force: request.force,
        current_token_count: request.current_token_count,
        custom_instructions: request.custom_instructions,
        ..Compact::default()
    };
    let served = client.compact(&session, compact).await?;
    let result = json!({
        "ok": served.result.ok,
        "compacted": served.result.compacted,
        "reason": served.result.reason,
    });
    Ok(answer(&served, &result))
}

fn open(args: &RequestArgs, session_id: String) -> anyhow::Result<(EngineClient, Session)> {
    let options = ClientOptions {
        on_engine_failure: OnEngineFailure::Fail,
        ..ClientOptions::default()
    };
    let client = EngineClient::with_options(&args.target, &options)?;
    let session = Session::new(SessionId::new(session_id)?);
    Ok((client, session))
}

fn answer<T>(served: &Served<T>, result: &Value) -> Value {
    json!({
        "served_by": served.by.to_string(),
        "bytes_sent": served.traffic.bytes_sent(),
        "bytes_received": served.traffic.bytes_received(),
        "result": result,
    })
}

fn message(raw: &RawValue) -> Message {
    Message::from_payload(Bytes::copy_from_slice(raw.get().as_bytes()))
}

/// A payload for people to read; what is no JSON is shown as text.
fn payload(message: &Message) -> Value {
    serde_json::from_slice(message.payload())
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(message.payload()).into_owned()))
}

fn segment(segment: &Segment) -> Value {
    match segment {
        Segment::Keep(range) => json!({ "keep": { "start": range.start, "count": range.len() } }),
        Segment::Insert(message) => json!({ "insert": { "synthetic": message.is_synthetic() } }),
    }
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

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> anyhow::Result<T> {
    serde_json::from_str(text).context("the request is not what this hook takes; see --help")
}
