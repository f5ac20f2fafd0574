//! Calls back to the host, where a compaction makes some.

use std::collections::BTreeSet;
use std::time::Duration;

use contextwire_proto::v1;
use tokio::time::timeout;

use crate::check::{Check, Checked, Need, Verdict, broken, check, ensure};
use crate::list;
use crate::probe::{Probe, Stream};
use crate::refusal::Refused;
use crate::request;

/// How long an engine that waits for its host is listened to.
const QUIET: Duration = Duration::from_millis(700);

/// How long a hook may go on that nobody can answer; its budget is longer.
const UNSERVED: Duration = Duration::from_secs(5);

const BOOTSTRAP: Need = Need::Method("Bootstrap");

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-CBK-01",
        ["R1.6"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        at_most_four,
        "at most four calls back are open at once, under ids of their own",
        "a host serves no more, and tells them apart by the id alone"
    ),
    check!(
        "E-CBK-04",
        ["R1.6", "R6.5"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        failed,
        "a failed call back ends in a result or in a failure of the engine's own, never in silence",
        "models fail every day; the hook has to end"
    ),
    check!(
        "E-CBK-06",
        ["R1.6"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        same_id,
        "equal work in attempt 2 asks under the same call id",
        "the host answers from what it remembers; a second bill and a second rewrite otherwise"
    ),
    check!(
        "E-CBK-08",
        ["R1.4"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        half_closed,
        "a host that closed its side is not called: the hook finishes or fails as HOST_CALL_UNAVAILABLE",
        "nobody would ever answer"
    ),
    check!(
        "E-CBK-11",
        ["R7.1"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        timeouts,
        "a call back has no longer than the hook",
        "the host would pay for an answer that comes too late"
    ),
    check!(
        "E-TIM-07",
        ["R1.5"],
        Must,
        Callbacks,
        [BOOTSTRAP],
        cancelled,
        "a cancel that crosses a call back ends the hook",
        "the host may be unable to answer any more"
    ),
];

/// A compaction of a session that has something to compact, up to its first call back.
struct Calling {
    stream: Stream,
    call: v1::HostCall,
    start: v1::CompactStart,
}

fn long_log() -> Vec<v1::Message> {
    list::tool_rounds(60)
}

async fn prepared(probe: &Probe) -> Result<v1::CompactStart, Verdict> {
    let session = probe.session();
    let log = long_log();
    let mut stream = probe
        .started("Bootstrap", &request::bootstrap(session.clone(), &log))
        .await?;
    let result = stream.result::<v1::BootstrapResult>(&log).await?;
    crate::refusal::accepted(result, "Bootstrap")?;
    Ok(v1::CompactStart {
        current_token_count: Some(20_000),
        ..request::compact(session, true)
    })
}

async fn calling(probe: &Probe) -> Result<Calling, Verdict> {
    let start = prepared(probe).await?;
    let mut stream = probe.started("Compact", &start).await?;
    loop {
        match stream.word().await? {
            Ok(Some(frame)) => {
                if let Some(need) = &frame.need {
                    stream.serve(need, &long_log()).await;
                } else if let Some(call) = frame.host_call {
                    return Ok(Calling {
                        stream,
                        call,
                        start,
                    });
                } else {
                    return Err(Verdict::NotApplicable(
                        "a forced compaction of 240 messages calls nobody back".to_owned(),
                    ));
                }
            }
            Ok(None) => return broken("OK trailers without a result"),
            Err(status) => {
                Refused::read(&status)?;
                return Err(Verdict::NotApplicable(
                    "a forced compaction fails before it calls back".to_owned(),
                ));
            }
        }
    }
}

async fn at_most_four(probe: Probe) -> Checked {
    let Calling {
        mut stream, call, ..
    } = calling(&probe).await?;
    let mut open = BTreeSet::from([call.call_id.clone()]);
    ensure(!call.call_id.is_empty(), || {
        "a call back without an id".to_owned()
    })?;
    while let Ok(word) = timeout(QUIET, stream.word()).await {
        let Ok(Some(frame)) = word? else {
            return broken("the hook ends while its call back is open");
        };
        if let Some(call) = frame.host_call {
            ensure(open.insert(call.call_id.clone()), || {
                format!("the call id {} is used twice", call.call_id)
            })?;
            ensure(open.len() <= 4, || {
                format!("{} calls back are open", open.len())
            })?;
        }
    }
    stream.cancel(1).await;
    Ok(())
}

async fn failed(probe: Probe) -> Checked {
    let Calling {
        mut stream, call, ..
    } = calling(&probe).await?;
    stream.refuse(&call).await;
    match stream.result::<v1::CompactResult>(&long_log()).await? {
        Ok(_) => Ok(()),
        Err(status) => Refused::read(&status).map(drop),
    }
}

async fn same_id(probe: Probe) -> Checked {
    let Calling {
        mut stream,
        call,
        start,
    } = calling(&probe).await?;
    stream.cancel(2).await;
    match stream.result::<v1::CompactResult>(&long_log()).await? {
        Ok(_) => {
            let why = "the compaction ends in a result although it is cancelled".to_owned();
            return Err(Verdict::NotApplicable(why));
        }
        Err(status) => Refused::read(&status)?,
    };
    let again = v1::CompactStart {
        call: start.call.as_ref().map(request::again),
        ..start
    };
    let mut stream = probe.started("Compact", &again).await?;
    loop {
        let Ok(Some(frame)) = stream.word().await? else {
            return broken("attempt 2 ends without the call back of attempt 1");
        };
        if let Some(need) = &frame.need {
            stream.serve(need, &long_log()).await;
        } else if let Some(second) = frame.host_call {
            stream.cancel(1).await;
            return ensure(second.call_id == call.call_id, || {
                format!(
                    "`{}` in attempt 1, `{}` in attempt 2",
                    call.call_id, second.call_id
                )
            });
        } else {
            return broken("attempt 2 ends without the call back of attempt 1");
        }
    }
}

async fn half_closed(probe: Probe) -> Checked {
    calling(&probe).await?.stream.cancel(1).await;
    let start = prepared(&probe).await?;
    let mut stream = probe.started("Compact", &start).await?;
    stream.half_close();
    let log = long_log();
    let Ok(ended) = timeout(UNSERVED, stream.result::<v1::CompactResult>(&log)).await else {
        return broken(format!(
            "the hook still waits for its host after {UNSERVED:?}"
        ));
    };
    match ended? {
        Ok(_) => Ok(()),
        Err(status) => Refused::read(&status).map(drop),
    }
}

async fn timeouts(probe: Probe) -> Checked {
    let Calling {
        stream,
        call,
        start,
    } = calling(&probe).await?;
    stream.cancel(1).await;
    let budget = start.call.map(|call| call.budget_ms).unwrap_or_default();
    ensure(call.timeout_ms <= budget, || {
        format!(
            "{} ms for a call back in a hook of {budget} ms",
            call.timeout_ms
        )
    })
}

async fn cancelled(probe: Probe) -> Checked {
    let Calling { mut stream, .. } = calling(&probe).await?;
    stream.cancel(1).await;
    let Ok(ended) = timeout(Duration::from_secs(2), stream.word()).await else {
        return broken("the hook still waits for its host 2 s after the cancel");
    };
    match ended? {
        Ok(Some(frame)) if frame.result.is_some() => Ok(()),
        Ok(other) => broken(format!("{other:?} after the cancel")),
        Err(status) => Refused::read(&status).map(drop),
    }
}
