//! Single messages, of every kind that hosts have.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, Need, check, ensure};
use crate::list::{self, message, text};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-HKS-05",
        ["R2.1"],
        Must,
        Core,
        [],
        kinds,
        "messages of every role and shape are ingested: parts, tool calls and results, empty text, null content",
        "a message that the engine refuses is missing from its memory for ever"
    ),
    check!(
        "E-HKS-06",
        ["R4.3", "R2.1"],
        Must,
        Core,
        [],
        unknown_role,
        "a message of an unknown role is taken as it is",
        "roles are an open set: hosts have private ones"
    ),
    check!(
        "E-HKS-31",
        ["R7.10"],
        Must,
        Core,
        [Need::Method("IngestBatch")],
        batch,
        "IngestBatch takes several messages and counts no more than it got",
        "a host tells from the count what is stored"
    ),
    check!(
        "E-HKS-32",
        ["R2.5"],
        Must,
        Core,
        [],
        omitted,
        "the Ingest of a message whose payload was omitted fails, and an Assemble over it does not",
        "a stub must not be stored as if it were the message, and must not cost the turn"
    ),
    check!(
        "E-HKS-33",
        ["R6.1"],
        Must,
        Core,
        [],
        nothing,
        "an Ingest without call, session or message is INVALID_REQUEST naming the field",
        "the author of a host needs to know which"
    ),
];

async fn ingested(probe: &Probe, message: v1::Message, what: &str) -> Checked {
    let ingest = request::ingest(probe.session(), message);
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, what).map(drop)
}

async fn kinds(probe: Probe) -> Checked {
    for held in list::tool_rounds(1) {
        let what = format!("a message of the role {}", held.role);
        ingested(&probe, held, &what).await?;
    }
    ingested(&probe, text("e0", "system", "be kind"), "a system message").await?;
    ingested(&probe, text("e0", "user", ""), "an empty text").await?;
    ingested(&probe, text("", "user", "hello"), "a message without an id").await?;
    let odd = [
        (r#"{"role":"user","content":null}"#, "null content"),
        (r#"{"role":"user"}"#, "absent content"),
        (r#"{"role":"user","content":[]}"#, "no parts"),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}]}"#,
            "text and image",
        ),
        (
            r#"{"role":"user","content":1e400,"content":"\ud800"}"#,
            "odd JSON",
        ),
    ];
    for (payload, what) in odd {
        ingested(&probe, message("e0", "user", payload), what).await?;
    }
    Ok(())
}

async fn unknown_role(probe: Probe) -> Checked {
    ingested(&probe, text("e0", "x-observer", "seen"), "an unknown role").await?;
    let held = [
        text("e0", "user", "hi"),
        text("e1", "x-observer", "seen"),
        text("e2", "user", "?"),
    ];
    let start = request::assemble(probe.session(), &held);
    super::assemble::shown(&probe, &start, &held)
        .await
        .map(drop)
}

async fn batch(probe: Probe) -> Checked {
    let request = request::ingest_batch(probe.session(), &list::conversation(3));
    let answer = probe
        .ask::<v1::IngestBatchResponse>("IngestBatch", &request)
        .await?;
    let counted = accepted(answer, "a batch of three")?.ingested_count;
    ensure(counted <= 3, || {
        format!("{counted} of 3 messages were ingested")
    })
}

async fn omitted(probe: Probe) -> Checked {
    let stub = v1::Message {
        omitted: Some(v1::OmittedPayload {
            bytes: 20_000_000,
            sha256: vec![7; 32].into(),
        }),
        ..text("e0", "user", "[20000000 bytes omitted]")
    };
    let ingest = request::ingest(probe.session(), stub);
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    let due = [Reason::MessageTooLarge, Reason::InvalidRequest];
    refused_as(answer, &due).map(drop)
}

async fn nothing(probe: Probe) -> Checked {
    let whole = request::ingest(probe.session(), text("e0", "user", "hello"));
    let call = whole.call.clone().unwrap_or_default();
    let no_session = v1::CallContext {
        session: None,
        ..call.clone()
    };
    let no_hook = v1::CallContext {
        hook_id: String::new(),
        ..call
    };
    let broken = [
        (
            v1::IngestRequest {
                call: None,
                ..whole.clone()
            },
            "call",
        ),
        (
            v1::IngestRequest {
                message: None,
                ..whole.clone()
            },
            "message",
        ),
        (
            v1::IngestRequest {
                call: Some(no_session),
                ..whole.clone()
            },
            "call.session",
        ),
        (
            v1::IngestRequest {
                call: Some(no_hook),
                ..whole
            },
            "call.hook_id",
        ),
    ];
    for (request, due) in broken {
        let answer = probe.ask::<v1::IngestResponse>("Ingest", &request).await?;
        let paths = refused_as(answer, &[Reason::InvalidRequest])?.paths();
        ensure(paths.iter().any(|path| path.starts_with(due)), || {
            format!("without `{due}` the violations name {paths:?}")
        })?;
    }
    Ok(())
}
