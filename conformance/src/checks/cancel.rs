//! Cancels and deadlines.

use std::time::Duration;

use contextwire_proto::{Reason, v1};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::check::{Check, Checked, broken, check, ensure};
use crate::list;
use crate::probe::{EngineFrame, Probe, Stream};
use crate::refusal::{accepted, refused_as};
use crate::request;

/// The second of R1.5, and two for a loaded machine.
const GRACE: Duration = Duration::from_secs(3);

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-TIM-01",
        ["R7.1"],
        Must,
        Core,
        [],
        budget,
        "a call ends by itself when its budget is spent",
        "the host has answered from its fallback; work that goes on is for nobody"
    ),
    check!(
        "E-TIM-04",
        ["R1.5"],
        Must,
        Core,
        [],
        every_reason,
        "a cancel of any reason, a new one included, is answered by a result or CANCELLED within a second",
        "the host resets the stream otherwise, and a burst of resets ends the connection"
    ),
    check!(
        "E-TIM-05",
        ["R1.5"],
        Must,
        Core,
        [],
        every_hook,
        "every streaming hook that waits for its list can be cancelled",
        "a Bootstrap may be minutes long when a user leaves"
    ),
    check!(
        "E-TIM-08",
        ["R1.5", "R6.3"],
        Must,
        Core,
        [],
        burst,
        "25 hooks cancelled at once end each by themselves, and the next hook works",
        "a user who stops a run stops all of its calls"
    ),
    check!(
        "E-TIM-09",
        ["R7.8", "R6.3"],
        Must,
        Core,
        [],
        second_attempt,
        "after a cancel the same hook id with attempt 2 is served",
        "a call that was given up is tried again under its key"
    ),
];

/// The stream has to end soon, in a result or CANCELLED.
async fn ends(stream: &mut Stream, held: &[v1::Message]) -> Checked {
    loop {
        let Ok(word) = timeout(GRACE, stream.word()).await else {
            return broken(format!(
                "neither a result nor a status within {GRACE:?} of the cancel"
            ));
        };
        match word? {
            Ok(Some(EngineFrame {
                result: Some(_), ..
            })) => return Ok(()),
            Ok(Some(EngineFrame {
                need: Some(need), ..
            })) => stream.serve(&need, held).await,
            Ok(Some(_)) => {}
            Ok(None) => return broken("OK trailers without a result"),
            Err(status) => {
                return refused_as::<()>(Err(status), &[Reason::Cancelled]).map(drop);
            }
        }
    }
}

async fn budget(probe: Probe) -> Checked {
    let mut start = super::frames::unfinished(probe.session());
    start.call = start.call.map(|call| v1::CallContext {
        budget_ms: 300,
        ..call
    });
    let mut stream = probe.started("Assemble", &start).await?;
    let Ok(word) = timeout(Duration::from_secs(5), stream.failure()).await else {
        return broken("a call with a budget of 300 ms still runs after 5 s");
    };
    let due = [Reason::DeadlineExceeded, Reason::Cancelled];
    refused_as::<()>(Err(word?), &due).map(drop)
}

async fn every_reason(probe: Probe) -> Checked {
    for reason in [1, 2, 3, 0, 77] {
        let mut stream = super::frames::waiting(&probe, probe.session()).await?;
        stream.cancel(reason).await;
        ends(&mut stream, &[]).await?;
    }
    Ok(())
}

async fn every_hook(probe: Probe) -> Checked {
    let log = v1::TranscriptUpdate {
        more: true,
        ..list::full(v1::TranscriptList::Log, 1, &list::conversation(2))
    };
    if probe.engine.has("Bootstrap") {
        let start = v1::BootstrapStart {
            transcript: Some(log.clone()),
            ..request::bootstrap(probe.session(), &[])
        };
        let mut stream = probe.started("Bootstrap", &start).await?;
        stream.cancel(1).await;
        ends(&mut stream, &[]).await?;
    }
    if probe.engine.has("AfterTurn") {
        let start = v1::AfterTurnStart {
            transcript: Some(log),
            ..request::after_turn(probe.session(), &[])
        };
        let mut stream = probe.started("AfterTurn", &start).await?;
        stream.cancel(1).await;
        ends(&mut stream, &[]).await?;
    }
    let mut stream = probe
        .started("Compact", &request::compact(probe.session(), true))
        .await?;
    stream.cancel(1).await;
    ends(&mut stream, &[]).await
}

async fn burst(probe: Probe) -> Checked {
    let probe = probe.another_connection()?;
    let one = |probe: Probe| async move {
        let mut stream = super::frames::waiting(&probe, probe.session()).await?;
        stream.cancel(1).await;
        ends(&mut stream, &[]).await
    };
    let ended = join_all((0..25).map(|_| one(probe.clone()))).await;
    ended.into_iter().collect::<Checked>()?;
    let held = list::conversation(2);
    let start = request::assemble(probe.session(), &held);
    super::assemble::shown(&probe, &start, &held)
        .await
        .map(drop)
}

async fn second_attempt(probe: Probe) -> Checked {
    let session = probe.session();
    let start = super::frames::unfinished(session.clone());
    let mut stream = probe.started("Assemble", &start).await?;
    stream.cancel(1).await;
    ends(&mut stream, &[]).await?;
    let held = list::conversation(2);
    let again = v1::AssembleStart {
        call: start.call.as_ref().map(request::again),
        ..request::assemble(session, &held)
    };
    ensure(again.call.is_some(), || "no call".to_owned())?;
    let mut stream = probe.started("Assemble", &again).await?;
    let result = stream.result::<v1::AssembleResult>(&held).await?;
    accepted(result, "the second attempt").map(drop)
}
