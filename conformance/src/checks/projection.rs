//! Projection onto threads of a backend.

use contextwire_proto::v1;

use crate::check::{Check, Checked, Verdict, check, ensure};
use crate::list;
use crate::probe::Probe;
use crate::refusal::accepted;
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-RES-09",
        ["R10.2"],
        Must,
        Projection,
        [],
        unchanged,
        "a known projection is answered by `unchanged` or by messages, never by nothing",
        "the thread has the text already; nothing else may stand in for it"
    ),
    check!(
        "E-RES-10",
        ["R10.1"],
        Must,
        Projection,
        [],
        epoch,
        "appended messages do not change the epoch, and THREAD_BOOTSTRAP has one",
        "each change makes the host begin a new thread"
    ),
];

async fn projection(
    probe: &Probe,
    session: &v1::Session,
    held: &[v1::Message],
) -> Result<v1::ContextProjection, Verdict> {
    let start = request::assemble(session.clone(), held);
    let messages = super::assemble::messages(probe, &start, held).await?;
    let projection = messages.context_projection.unwrap_or_default();
    if projection.mode() == v1::ProjectionMode::ThreadBootstrap {
        return Ok(projection);
    }
    let why = "the engine projects per turn".to_owned();
    Err(Verdict::NotApplicable(why))
}

async fn epoch(probe: Probe) -> Checked {
    let session = probe.session();
    let one = projection(&probe, &session, &list::conversation(4))
        .await?
        .epoch;
    let two = projection(&probe, &session, &list::conversation(8))
        .await?
        .epoch;
    let is_set = one.as_ref().is_some_and(|epoch| !epoch.trim().is_empty());
    ensure(is_set, || "THREAD_BOOTSTRAP without an epoch".to_owned())?;
    ensure(one == two, || {
        format!("the epoch {one:?} became {two:?} by appended messages")
    })
}

async fn unchanged(probe: Probe) -> Checked {
    let (session, held) = (probe.session(), list::conversation(4));
    let known = projection(&probe, &session, &held).await?;
    let start = v1::AssembleStart {
        known_projection: Some(v1::KnownProjection {
            epoch: known.epoch.unwrap_or_default(),
            fingerprint: known.fingerprint,
        }),
        ..request::assemble(session, &held)
    };
    let mut stream = probe.started("Assemble", &start).await?;
    let result = stream.result::<v1::AssembleResult>(&held).await?;
    let outcome = accepted(result, "an Assemble with a known projection")?.outcome;
    ensure(outcome.is_some(), || {
        "neither messages nor `unchanged`".to_owned()
    })
}
