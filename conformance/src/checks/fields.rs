//! Fields that an engine does not know, or that hold what they cannot hold.

use contextwire_proto::{Reason, v1};
use prost::Message as _;

use crate::check::{Check, Checked, Need, check, ensure};
use crate::probe::{Probe, field};
use crate::refusal::{accepted, refused_as};
use crate::{list, request};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-FLD-01",
        ["R5.1", "R5.3"],
        Must,
        Core,
        [],
        foreign,
        "an unknown field is ignored, or refused as UNKNOWN_FIELD naming it by its number",
        "a host that is newer learns from the path what to leave out; any other answer fails its turn"
    ),
    check!(
        "E-FLD-06",
        ["R5.6"],
        Must,
        Strict,
        [Need::Strict],
        all_at_once,
        "a strict engine names all unknown fields at once",
        "one try for each unknown field would not fit into the budget of a turn"
    ),
    check!(
        "E-FLD-07",
        ["R5.6"],
        Must,
        Strict,
        [Need::Strict, Need::LogState],
        no_effect,
        "a strict engine refuses before any effect",
        "the host repeats the call without the field; an effect would happen twice"
    ),
    check!(
        "E-FLD-08",
        ["R5.2", "R5.3"],
        Must,
        Core,
        [],
        everything,
        "every field of the contract is accepted, all together",
        "a field that the announced minor has must not cost a turn"
    ),
    check!(
        "E-FLD-10",
        ["R5.6"],
        Must,
        Core,
        [],
        wrong_type,
        "a known field written as another type is INVALID_REQUEST or UNKNOWN_FIELD",
        "a default in its place would be another request"
    ),
    check!(
        "E-FLD-11",
        ["R4.3"],
        Must,
        Core,
        [],
        unknown_numbers,
        "unknown numbers of an enum are mapped where they have a meaning and refused where not",
        "a newer host's value must not become a plausible other one"
    ),
    check!(
        "E-FLD-13",
        ["R4.1"],
        Must,
        Core,
        [],
        no_budget,
        "an absent token budget, or 0, is unknown and yields no empty context",
        "the model would answer without having read anything"
    ),
    check!(
        "E-FLD-18",
        ["R6.2"],
        Must,
        Core,
        [],
        not_text,
        "text that is no UTF-8 is INVALID_REQUEST, and the connection stays usable",
        "one odd message must not end the calls of others"
    ),
    check!(
        "E-FLD-19",
        ["R4.2"],
        Must,
        Core,
        [],
        settings_version,
        "settings of an unknown version are VERSION_UNSUPPORTED and name those that are read",
        "the host sends the highest common version then"
    ),
    check!(
        "E-FLD-21",
        ["R6.2"],
        Must,
        Core,
        [],
        junk,
        "bytes that are no message are INVALID_REQUEST",
        "an INTERNAL without a reason would count against the connection"
    ),
];

fn hello() -> v1::Message {
    list::text("e0", "user", "hello")
}

async fn foreign(probe: Probe) -> Checked {
    let ingest = request::ingest(probe.session(), hello());
    let answer = probe
        .unary("Ingest", request::with_foreign_field(&ingest))
        .await?;
    named_by_number(answer.map(drop))?;
    let start = request::assemble(probe.session(), &[hello()]);
    let mut stream = probe.open("Assemble")?;
    let start = request::with_foreign_field(&start);
    stream.send_bytes(field(1, &start)).await;
    named_by_number(
        stream
            .result::<v1::AssembleResult>(&[hello()])
            .await?
            .map(drop),
    )
}

fn named_by_number(answer: Result<(), tonic::Status>) -> Checked {
    if answer.is_ok() {
        return Ok(());
    }
    let paths = refused_as(answer, &[Reason::UnknownField])?.paths();
    ensure(paths == ["#99"], || {
        format!("the violations name {paths:?}, not [\"#99\"]")
    })
}

async fn all_at_once(probe: Probe) -> Checked {
    let mut bytes = request::with_field(&request::ingest(probe.session(), hello()), 98).to_vec();
    bytes.extend_from_slice(&request::with_foreign_field(&v1::IngestRequest::default()));
    let answer = probe.unary("Ingest", bytes.into()).await?;
    let mut paths = refused_as(answer, &[Reason::UnknownField])?.paths();
    paths.sort_unstable();
    ensure(paths == ["#98", "#99"], || {
        format!("the violations name {paths:?}")
    })
}

async fn no_effect(probe: Probe) -> Checked {
    let session = probe.session();
    let refused = request::ingest(session.clone(), list::text("bad", "user", "never stored"));
    let answer = probe
        .unary("Ingest", request::with_foreign_field(&refused))
        .await?;
    refused_as(answer, &[Reason::UnknownField]).map(drop)?;
    super::log::holds(&probe, session, &[hello()]).await
}

async fn everything(probe: Probe) -> Checked {
    let session = probe.session();
    let call = v1::CallContext {
        scope: Some(v1::Scope {
            agent_dir: Some("/a".to_owned()),
            workspace_dir: Some("/w".to_owned()),
        }),
        operation: Some("agent-run".to_owned()),
        session: Some(v1::Session {
            agent_id: Some("a".to_owned()),
            locator: Some("file:x".to_owned()),
            target: Some(v1::SessionTarget {
                agent_id: Some("a".to_owned()),
                session_id: Some("s".to_owned()),
                ..v1::SessionTarget::default()
            }),
            ..session
        }),
        ..request::call(v1::Session::default())
    };
    let assemble = v1::AssembleStart {
        call: Some(call.clone()),
        runtime_settings: Some(request::settings()),
        runtime_context: Some(request::context()),
        token_budget: Some(50_000),
        available_tools: Some(v1::ToolSet {
            names: vec!["read".to_owned()],
        }),
        citations_mode: Some("auto".to_owned()),
        model: Some("m".to_owned()),
        prompt: Some("p".to_owned()),
        memory_prompt: Some("m".to_owned()),
        ..request::assemble(v1::Session::default(), &[hello()])
    };
    let mut stream = probe.started("Assemble", &assemble).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    accepted(result, "an Assemble with every field")?;
    let message = v1::Message {
        timestamp_ms: Some(1_700_000_000_000),
        estimated_tokens: Some(3),
        log_entry_id: Some("e0".to_owned()),
        ..hello()
    };
    let ingest = v1::IngestRequest {
        call: Some(v1::CallContext {
            hook_id: uuid::Uuid::now_v7().to_string(),
            ..call
        }),
        message: Some(message),
        is_heartbeat: true,
    };
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "an Ingest with every field").map(drop)
}

async fn wrong_type(probe: Probe) -> Checked {
    let ingest = request::ingest(probe.session(), hello());
    let mut bytes = ingest.encode_to_vec();
    bytes.extend_from_slice(&field(5, b"yes"));
    let answer = probe.unary("Ingest", bytes.into()).await?;
    refused_as(answer, &[Reason::InvalidRequest, Reason::UnknownField]).map(drop)?;
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "the same without the defect").map(drop)
}

async fn unknown_numbers(probe: Probe) -> Checked {
    let mut mapped = request::assemble(probe.session(), &[hello()]);
    let mut settings = request::settings();
    settings.runtime = settings
        .runtime
        .map(|it| v1::SettingsRuntime { mode: 77, ..it });
    mapped.runtime_settings = Some(settings);
    let mut stream = probe.started("Assemble", &mapped).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    accepted(result, "an unknown runtime mode")?;
    let mut guessed = request::assemble(probe.session(), &[hello()]);
    guessed.current_turn = 77;
    let mut stream = probe.started("Assemble", &guessed).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    refused_as(result, &[Reason::InvalidRequest]).map(drop)
}

async fn no_budget(probe: Probe) -> Checked {
    let held = list::conversation(6);
    for token_budget in [None, Some(0)] {
        let start = v1::AssembleStart {
            token_budget,
            ..request::assemble(probe.session(), &held)
        };
        let shown = super::assemble::shown(&probe, &start, &held).await?;
        ensure(!shown.is_empty(), || {
            format!("no message is shown with a token budget of {token_budget:?}")
        })?;
    }
    Ok(())
}

async fn not_text(probe: Probe) -> Checked {
    let ingest = request::ingest(probe.session(), hello());
    let mut message = v1::Message {
        entry_id: String::new(),
        ..hello()
    }
    .encode_to_vec();
    message.extend_from_slice(&field(2, b"\xff\xfe"));
    let mut bytes = v1::IngestRequest {
        message: None,
        ..ingest.clone()
    }
    .encode_to_vec();
    bytes.extend_from_slice(&field(4, &message));
    let answer = probe.unary("Ingest", bytes.into()).await?;
    refused_as(answer, &[Reason::InvalidRequest]).map(drop)?;
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "the same as text, on the same connection").map(drop)
}

async fn settings_version(probe: Probe) -> Checked {
    let start = v1::AssembleStart {
        runtime_settings: Some(v1::RuntimeSettings {
            schema_version: 99,
            ..request::settings()
        }),
        ..request::assemble(probe.session(), &[hello()])
    };
    let mut stream = probe.started("Assemble", &start).await?;
    let refused = refused_as::<()>(Err(stream.failure().await?), &[Reason::VersionUnsupported])?;
    ensure(refused.variable("supported").is_some(), || {
        "the metadata lacks `supported`".to_owned()
    })
}

async fn junk(probe: Probe) -> Checked {
    for bytes in [&b"\xff\xff\xff\xff"[..], b"{\"call\":{}}", b"\x0a\x7f"] {
        let answer = probe
            .unary("Ingest", bytes::Bytes::from_static(bytes))
            .await?;
        refused_as(answer, &[Reason::InvalidRequest, Reason::UnknownField]).map(drop)?;
    }
    Ok(())
}
