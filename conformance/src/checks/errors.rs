//! The form of failures, whatever their cause.

use contextwire_proto::{Reason, v1};
use tonic::Status;

use crate::check::{Check, Checked, Verdict, check, ensure};
use crate::list;
use crate::probe::Probe;
use crate::refusal::{Refused, refused_as};
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-ERR-01",
        ["R6.1"],
        Must,
        Core,
        [],
        one_error_info,
        "each failure carries exactly one ErrorInfo of this domain with a registered reason",
        "a status without it looks like a proxy's and is judged by its code alone"
    ),
    check!(
        "E-ERR-02",
        ["R6.1"],
        Must,
        Core,
        [],
        code,
        "code, reason and RetryInfo are as the table says",
        "hosts act on the reason; retries without a delay come in a burst"
    ),
    check!(
        "E-ERR-04",
        ["R6.1"],
        Must,
        Core,
        [],
        many,
        "a failure with many causes keeps its details within 4 KiB",
        "trailers beyond about 12 KB vanish, and the reason with them"
    ),
    check!(
        "E-ERR-05",
        ["R6.1"],
        Must,
        Core,
        [],
        canary,
        "no failure quotes a message",
        "statuses are logged; conversations are nobody else's business"
    ),
    check!(
        "E-ERR-12",
        ["R6.1"],
        Must,
        Core,
        [],
        text,
        "the text of a failure is there and has at most 512 bytes",
        "it is what a person sees"
    ),
];

/// Failures that every engine can be made to answer with.
async fn provoked(probe: &Probe) -> Result<Vec<Status>, Verdict> {
    let session = probe.session();
    let mut found = Vec::new();
    let ingest = request::ingest(session.clone(), list::text("e0", "user", "x"));
    let ingest = v1::IngestRequest {
        message: None,
        ..ingest
    };
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    found.extend(answer.err());
    let mut stream = super::frames::waiting(probe, session.clone()).await?;
    stream
        .start(&super::frames::unfinished(session.clone()))
        .await;
    found.push(stream.failure().await?);
    let update = v1::TranscriptUpdate {
        head: Some(list::state(&list::conversation(9))),
        ..list::full(v1::TranscriptList::View, 1, &list::conversation(2))
    };
    let start = request::assemble_of(session, update);
    let mut stream = probe.started("Assemble", &start).await?;
    found.push(stream.failure().await?);
    ensure(found.len() == 3, || {
        "a call without its message is accepted".to_owned()
    })?;
    Ok(found)
}

async fn one_error_info(probe: Probe) -> Checked {
    let found = provoked(&probe).await?;
    found
        .iter()
        .try_for_each(|status| Refused::read(status).map(drop))
}

async fn code(probe: Probe) -> Checked {
    let due = [
        Reason::InvalidRequest,
        Reason::ContractViolation,
        Reason::TranscriptDigestMismatch,
    ];
    let found = provoked(&probe).await?;
    let mut pairs = found.into_iter().zip(due);
    pairs.try_for_each(|(status, due)| refused_as::<()>(Err(status), &[due]).map(drop))
}

async fn many(probe: Probe) -> Checked {
    let mut ingest = request::ingest(probe.session(), list::text("e0", "user", "x"));
    let name = |n: usize| format!("unknown_{n}_{}", "x".repeat(180));
    ingest.call = ingest.call.map(|call| v1::CallContext {
        must_understand: (0..40).map(name).collect(),
        session: None,
        ..call
    });
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    let due = [
        Reason::NotUnderstood,
        Reason::InvalidRequest,
        Reason::UnknownField,
    ];
    refused_as(answer, &due).map(drop)
}

async fn canary(probe: Probe) -> Checked {
    let canary = "canary-of-the-conformance-suite";
    let session = probe.session();
    let mut ingest = request::ingest(session.clone(), list::text("e0", "user", canary));
    ingest.call = None;
    let mut found = Vec::new();
    found.extend(
        probe
            .ask::<v1::IngestResponse>("Ingest", &ingest)
            .await?
            .err(),
    );
    let held = [list::text("e0", "user", canary)];
    let update = v1::TranscriptUpdate {
        head: Some(list::state(&[])),
        ..list::full(v1::TranscriptList::View, 1, &held)
    };
    let start = request::assemble_of(session, update);
    let mut stream = probe.started("Assemble", &start).await?;
    found.push(stream.failure().await?);
    for status in found {
        let details = String::from_utf8_lossy(status.details()).into_owned();
        let quoted = status.message().contains(canary) || details.contains(canary);
        ensure(!quoted, || {
            format!("{:?} quotes the message", status.code())
        })?;
    }
    Ok(())
}

async fn text(probe: Probe) -> Checked {
    for status in provoked(&probe).await? {
        let bytes = status.message().len();
        ensure((1..=512).contains(&bytes), || {
            format!("{:?} has a text of {bytes} bytes", status.code())
        })?;
    }
    Ok(())
}
