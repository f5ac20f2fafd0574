//! The order of frames in a stream.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, Verdict, broken, check, ensure};
use crate::probe::{EngineFrame, Probe, Stream, field};
use crate::refusal::{Refused, accepted, refused_as};
use crate::{list, request};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-FRM-03",
        ["R1.3"],
        Must,
        Core,
        [],
        second_start,
        "a second start is CONTRACT_VIOLATION for this call",
        "two calls in one stream have no defined answer"
    ),
    check!(
        "E-FRM-04",
        ["R1.3"],
        Must,
        Core,
        [],
        one_result,
        "every streaming hook ends in exactly one result, then OK, then nothing",
        "a host takes the first result and treats anything after it as a broken engine"
    ),
    check!(
        "E-FRM-08",
        ["R1.4", "R3.6"],
        Must,
        Core,
        [],
        half_closed,
        "after an early half-close a call that has its list ends in a result, and one that lacks it in TRANSCRIPT_UNAVAILABLE",
        "a host that closes at once must not be waited for"
    ),
    check!(
        "E-FRM-09",
        ["R1.3", "R1.6"],
        Must,
        Core,
        [],
        stray_answer,
        "an answer to a call back that was never made is ignored or CONTRACT_VIOLATION",
        "it may be late from an earlier try"
    ),
    check!(
        "E-FRM-19",
        ["R6.2"],
        Must,
        Core,
        [],
        truncated,
        "a truncated message fails its call only",
        "the connection carries everybody's calls"
    ),
    check!(
        "E-FRM-20",
        ["R1.3"],
        Must,
        Core,
        [],
        without_half_close,
        "the result comes without waiting for the host's half-close",
        "hosts close after the result; both would wait for each other"
    ),
    check!(
        "E-FRM-21",
        ["R1.3"],
        Must,
        Core,
        [],
        no_start,
        "a stream that begins with another frame than a start fails",
        "an answer would be to a question that nobody asked"
    ),
    check!(
        "E-FRM-22",
        ["R1.3"],
        Must,
        Core,
        [],
        empty,
        "a stream that ends before its start fails",
        "OK without a result looks like a broken engine"
    ),
    check!(
        "E-FRM-23",
        ["R5.6"],
        Must,
        Core,
        [],
        unknown_frame,
        "a frame of an unknown kind fails the call",
        "a host that waits for its effect would wait for ever"
    ),
];

/// An Assemble that cannot answer yet: more parts of its list are due.
pub(super) async fn waiting(probe: &Probe, session: v1::Session) -> Result<Stream, Verdict> {
    probe.started("Assemble", &unfinished(session)).await
}

pub(super) fn unfinished(session: v1::Session) -> v1::AssembleStart {
    let held = list::conversation(2);
    let update = v1::TranscriptUpdate {
        more: true,
        ..list::full(v1::TranscriptList::View, 1, &held)
    };
    request::assemble_of(session, update)
}

async fn second_start(probe: Probe) -> Checked {
    let mut stream = waiting(&probe, probe.session()).await?;
    stream.start(&unfinished(probe.session())).await;
    let status = stream.failure().await?;
    refused_as::<()>(Err(status), &[Reason::ContractViolation]).map(drop)
}

async fn one_result(probe: Probe) -> Checked {
    let held = list::conversation(4);
    let session = probe.session();
    let mut stream = probe
        .started("Assemble", &request::assemble(session.clone(), &held))
        .await?;
    accepted(
        stream.result::<v1::AssembleResult>(&held).await?,
        "Assemble",
    )?;
    if probe.engine.has("Bootstrap") {
        let start = request::bootstrap(session.clone(), &held);
        let mut stream = probe.started("Bootstrap", &start).await?;
        accepted(
            stream.result::<v1::BootstrapResult>(&held).await?,
            "Bootstrap",
        )?;
    }
    if probe.engine.has("AfterTurn") {
        let start = request::after_turn(session.clone(), &held);
        let mut stream = probe.started("AfterTurn", &start).await?;
        accepted(
            stream.result::<v1::AfterTurnResult>(&held).await?,
            "AfterTurn",
        )?;
    }
    if probe.engine.has("Maintain") {
        let mut stream = probe
            .started("Maintain", &request::maintain(session.clone()))
            .await?;
        accepted(
            stream.result::<v1::MaintainResult>(&held).await?,
            "Maintain",
        )?;
    }
    let mut stream = probe
        .started("Compact", &request::compact(session, false))
        .await?;
    // A Compact that needs its host may fail; it must not end without a word.
    match stream.result::<v1::CompactResult>(&held).await? {
        Ok(_) => Ok(()),
        Err(status) => Refused::read(&status).map(drop),
    }
}

async fn half_closed(probe: Probe) -> Checked {
    let held = list::conversation(4);
    let mut stream = probe
        .started("Assemble", &request::assemble(probe.session(), &held))
        .await?;
    stream.half_close();
    accepted(
        stream.result::<v1::AssembleResult>(&held).await?,
        "a half-closed Assemble",
    )?;
    let unknown = list::conversation(3);
    let update = list::appended(v1::TranscriptList::View, &unknown, &held);
    let start = request::assemble_of(probe.session(), update);
    let mut stream = probe.started("Assemble", &start).await?;
    stream.half_close();
    // The engine may ask before it sees that nobody will answer.
    loop {
        match stream.word().await? {
            Ok(Some(EngineFrame { need: Some(_), .. })) => {}
            Ok(other) => return broken(format!("{other:?} of a list that the engine lacks")),
            Err(status) => {
                let due = [Reason::TranscriptUnavailable];
                return refused_as::<()>(Err(status), &due).map(drop);
            }
        }
    }
}

async fn stray_answer(probe: Probe) -> Checked {
    let held = list::conversation(2);
    let mut stream = waiting(&probe, probe.session()).await?;
    stream
        .host_call_result(&v1::HostCallResult {
            call_id: "nobody".to_owned(),
            outcome: Some(v1::host_call_result::Outcome::LlmComplete(
                v1::LlmCompleteResult::default(),
            )),
        })
        .await;
    stream.transcript(&rest(&held)).await;
    match stream.result::<v1::AssembleResult>(&held).await? {
        Ok(_) => Ok(()),
        Err(status) => refused_as::<()>(Err(status), &[Reason::ContractViolation]).map(drop),
    }
}

/// The last part of an unfinished list, with nothing new.
pub(super) fn rest(held: &[v1::Message]) -> v1::TranscriptUpdate {
    v1::TranscriptUpdate {
        segments: Vec::new(),
        ..list::full(v1::TranscriptList::View, 1, held)
    }
}

async fn truncated(probe: Probe) -> Checked {
    use crate::probe::http2::{Http2, framed};
    let connection = Http2::connect(&probe.address).await?;
    let bytes = list::encoded(&request::ingest(
        probe.session(),
        list::text("e0", "user", "x"),
    ));
    let path = format!("{}Ingest", crate::probe::SERVICE);
    let cut = framed(&bytes, bytes.len() + 100);
    let status = connection.post(&path, "application/grpc", cut).await?;
    probe
        .record
        .note(format!("→ a frame 100 bytes short ← {:?}", status.code()));
    ensure(status.code() != tonic::Code::Ok, || {
        "it is answered with OK".to_owned()
    })?;
    let whole = framed(&bytes, bytes.len());
    let status = connection.post(&path, "application/grpc", whole).await?;
    ensure(status.code() == tonic::Code::Ok, || {
        format!(
            "the next call on the connection ends in {:?}",
            status.code()
        )
    })
}

async fn without_half_close(probe: Probe) -> Checked {
    let held = list::conversation(4);
    let mut stream = probe
        .started("Assemble", &request::assemble(probe.session(), &held))
        .await?;
    // The sender lives until the result is here.
    accepted(
        stream.result::<v1::AssembleResult>(&held).await?,
        "an open Assemble",
    )
    .map(drop)
}

async fn no_start(probe: Probe) -> Checked {
    let held = list::conversation(2);
    let mut stream = probe.open("Assemble")?;
    stream
        .transcript(&list::full(v1::TranscriptList::View, 1, &held))
        .await;
    let status = stream.failure().await?;
    refused_as::<()>(
        Err(status),
        &[Reason::ContractViolation, Reason::InvalidRequest],
    )
    .map(drop)
}

async fn empty(probe: Probe) -> Checked {
    let mut stream = probe.open("Assemble")?;
    stream.half_close();
    let status = stream.failure().await?;
    refused_as::<()>(
        Err(status),
        &[Reason::ContractViolation, Reason::InvalidRequest],
    )
    .map(drop)
}

async fn unknown_frame(probe: Probe) -> Checked {
    let held = list::conversation(2);
    let mut stream = waiting(&probe, probe.session()).await?;
    stream.send_bytes(field(99, b"")).await;
    stream.transcript(&rest(&held)).await;
    let status = stream.failure().await?;
    refused_as::<()>(Err(status), &[Reason::InvalidRequest, Reason::UnknownField]).map(drop)
}
