//! Compaction, as far as it can be judged without reading summaries.

use contextwire_proto::v1;

use crate::check::{Check, Checked, Need, check, ensure};
use crate::list;
use crate::probe::Probe;
use crate::refusal::accepted;
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-HKS-16",
        ["R1.2"],
        Must,
        Core,
        [],
        reasoned,
        "a Compact that compacts nothing says why",
        "a silent no-op lets the host retry for ever while the list grows"
    ),
    check!(
        "E-HKS-20",
        ["R1.2"],
        Must,
        Core,
        [Need::DelegatesCompaction],
        delegates,
        "an engine that does not own compaction delegates it, or answers ok = false with a reason",
        "the host would wait for room that nobody makes"
    ),
    check!(
        "E-HKS-36",
        ["R4.3"],
        Must,
        Core,
        [],
        unknown_target,
        "an unknown compaction target is served as BUDGET",
        "a newer host's target must not stop compaction"
    ),
];

async fn reasoned(probe: Probe) -> Checked {
    let held = list::conversation(4);
    for force in [false, true] {
        let start = request::compact(probe.session(), force);
        let mut stream = probe.started("Compact", &start).await?;
        let result = stream.result::<v1::CompactResult>(&held).await?;
        let result = accepted(result, "Compact")?;
        let reason = result.reason.unwrap_or_default();
        ensure(result.compacted || !reason.trim().is_empty(), || {
            format!("ok = {}, nothing compacted, and no reason", result.ok)
        })?;
    }
    Ok(())
}

async fn delegates(probe: Probe) -> Checked {
    let mut stream = probe
        .started("Compact", &request::compact(probe.session(), true))
        .await?;
    let held = list::conversation(4);
    let mut has_delegated = false;
    loop {
        let frame = match stream.word().await? {
            Ok(Some(frame)) => frame,
            Ok(None) => return crate::check::broken("OK trailers without a result"),
            Err(status) => return accepted::<()>(Err(status), "Compact"),
        };
        if let Some(call) = frame.host_call {
            has_delegated |= matches!(call.call, Some(v1::host_call::Call::DelegateCompaction(_)));
            stream.refuse(&call).await;
        } else if let Some(need) = frame.need {
            stream.serve(&need, &held).await;
        } else if let Some(result) = frame.result {
            let result: v1::CompactResult = prost::Message::decode(result).unwrap_or_default();
            let says_no = !result.ok && result.reason.is_some();
            return ensure(has_delegated || says_no, || {
                format!("ok = {}, and the host was not asked", result.ok)
            });
        }
    }
}

async fn unknown_target(probe: Probe) -> Checked {
    let mut start = request::compact(probe.session(), false);
    start.compaction_target = 77;
    let mut stream = probe.started("Compact", &start).await?;
    let result = stream.result::<v1::CompactResult>(&[]).await?;
    accepted(result, "an unknown compaction target").map(drop)
}
