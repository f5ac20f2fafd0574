//! Fields that an engine must not ignore.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, Need, check};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::{list, request};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-FLD-02",
        ["R5.4"],
        Must,
        Core,
        [Need::HonoursMustUnderstand],
        unknown,
        "a name in must_understand that the engine does not know is NOT_UNDERSTOOD, in unary calls and streams",
        "the call would mean something else than the host asked for"
    ),
    check!(
        "E-FLD-03",
        ["R5.4"],
        Must,
        Core,
        [Need::HonoursMustUnderstand],
        known,
        "a known path and a known value in must_understand are served, set or not",
        "names are judged by themselves: a host lists what it sets, and an engine has nothing to object"
    ),
    check!(
        "E-FLD-04",
        ["R5.4"],
        Must,
        Core,
        [Need::HonoursMustUnderstand],
        unknown_value,
        "an unknown value of a known enum in must_understand is NOT_UNDERSTOOD",
        "a new mode must not be served as an old one"
    ),
    check!(
        "E-FLD-05",
        ["R5.4"],
        Must,
        Store,
        [Need::HonoursMustUnderstand, Need::LogState],
        no_effect,
        "what is not understood is refused before any effect",
        "the host falls back; an effect of the refused call would be one too many"
    ),
];

fn hello() -> v1::Message {
    list::text("e0", "user", "hello")
}

fn ingest_naming(session: v1::Session, names: &[&str]) -> v1::IngestRequest {
    let mut ingest = request::ingest(session, hello());
    ingest.call = ingest.call.map(|call| v1::CallContext {
        must_understand: names.iter().map(|&name| name.to_owned()).collect(),
        ..call
    });
    ingest
}

fn assemble_naming(session: v1::Session, names: &[&str]) -> v1::AssembleStart {
    v1::AssembleStart {
        call: ingest_naming(session.clone(), names).call,
        ..request::assemble(session, &[hello()])
    }
}

async fn refuses(probe: &Probe, name: &str) -> Checked {
    let ingest = ingest_naming(probe.session(), &[name]);
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    refused_as(answer, &[Reason::NotUnderstood]).map(drop)?;
    let start = assemble_naming(probe.session(), &[name]);
    let mut stream = probe.started("Assemble", &start).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    refused_as(result, &[Reason::NotUnderstood]).map(drop)
}

async fn unknown(probe: Probe) -> Checked {
    refuses(&probe, "telepathy").await?;
    refuses(&probe, "call.session.aura").await
}

async fn known(probe: Probe) -> Checked {
    let names = [
        "message",
        "call.session.session_id",
        "call.session.agent_id",
    ];
    let answer = probe
        .ask::<v1::IngestResponse>("Ingest", &ingest_naming(probe.session(), &names))
        .await?;
    accepted(answer, "an Ingest that names known paths")?;
    let names = [
        "token_budget",
        "site=ASSEMBLE_SITE_BEFORE_PROMPT",
        "transcript.segments",
    ];
    let start = assemble_naming(probe.session(), &names);
    let mut stream = probe.started("Assemble", &start).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    accepted(result, "an Assemble that names known paths and values").map(drop)
}

async fn unknown_value(probe: Probe) -> Checked {
    let start = assemble_naming(probe.session(), &["site=ASSEMBLE_SITE_UNDERWATER"]);
    let mut stream = probe.started("Assemble", &start).await?;
    let result = stream.result::<v1::AssembleResult>(&[hello()]).await?;
    refused_as(result, &[Reason::NotUnderstood]).map(drop)
}

async fn no_effect(probe: Probe) -> Checked {
    let session = probe.session();
    let mut ingest = ingest_naming(session.clone(), &["telepathy"]);
    ingest.message = Some(list::text("bad", "user", "never stored"));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    refused_as(answer, &[Reason::NotUnderstood]).map(drop)?;
    super::log::holds(&probe, session, &[hello()]).await
}
