//! Preparations of subagents.

use std::time::Duration;

use contextwire_proto::{Reason, v1};
use tonic::Status;
use uuid::Uuid;

use crate::check::{Check, Checked, Need, Verdict, check, ensure};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::request;

const PREPARE: Need = Need::Method("PrepareSubagentSpawn");
const RESOLVE: Need = Need::Method("ResolveSubagentSpawn");

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-SUB-01",
        ["R9.1"],
        Must,
        Subagent,
        [PREPARE],
        prepared,
        "Prepare answers prepared, and again under the same id with the same content",
        "a host renews it while the spawn waits"
    ),
    check!(
        "E-SUB-03",
        ["R7.10", "R9.1"],
        Must,
        Subagent,
        [PREPARE],
        conflict,
        "the same spawn id with another child is IDEMPOTENCY_CONFLICT",
        "two children would share what one of them inherits"
    ),
    check!(
        "E-SUB-04",
        ["R9.2"],
        Must,
        Subagent,
        [PREPARE, RESOLVE],
        resolved,
        "Resolve STARTED and ROLLED_BACK are idempotent",
        "the outbox repeats them"
    ),
    check!(
        "E-SUB-06",
        ["R9.2"],
        Must,
        Subagent,
        [RESOLVE],
        unknown,
        "Resolve and End of an unknown spawn succeed",
        "a host resolves what it finds in its journal after a crash"
    ),
    check!(
        "E-SUB-07",
        ["R9.2"],
        Must,
        Subagent,
        [PREPARE, RESOLVE],
        rolled_back_first,
        "a Prepare that comes after its rollback is not prepared",
        "a delayed Prepare would leave something behind that nobody resolves"
    ),
    check!(
        "E-SUB-09",
        ["R9.1", "R9.2"],
        Must,
        Subagent,
        [PREPARE, RESOLVE],
        expired,
        "STARTED after the ttl is PREPARATION_EXPIRED",
        "the host runs the child isolated then, rather than with half of what it was promised"
    ),
    check!(
        "E-SUB-12",
        ["R4.3", "R9.2"],
        Must,
        Subagent,
        [Need::Method("EndSubagent")],
        ended,
        "EndSubagent takes every reason, an unknown one too, and again",
        "end reasons are an open set"
    ),
];

fn spawn_id() -> String {
    Uuid::now_v7().to_string()
}

async fn prepare(
    probe: &Probe,
    request: &v1::PrepareSubagentSpawnRequest,
) -> Result<Result<v1::PrepareSubagentSpawnResponse, Status>, Verdict> {
    probe.ask("PrepareSubagentSpawn", request).await
}

async fn resolve(
    probe: &Probe,
    session: &v1::Session,
    spawn_id: &str,
    outcome: v1::SpawnOutcome,
) -> Result<Result<v1::ResolveSubagentSpawnResponse, Status>, Verdict> {
    let request = request::resolve(session.clone(), spawn_id, outcome);
    probe.ask("ResolveSubagentSpawn", &request).await
}

async fn prepared(probe: Probe) -> Checked {
    let request = request::prepare(probe.session(), &spawn_id());
    for what in ["Prepare", "the same Prepare again"] {
        let answer = accepted(prepare(&probe, &request).await?, what)?;
        ensure(answer.prepared, || format!("{what} is not prepared"))?;
    }
    Ok(())
}

async fn conflict(probe: Probe) -> Checked {
    let request = request::prepare(probe.session(), &spawn_id());
    accepted(prepare(&probe, &request).await?, "Prepare")?;
    let other = v1::PrepareSubagentSpawnRequest {
        child_session_key: "another child".to_owned(),
        ..request
    };
    refused_as(
        prepare(&probe, &other).await?,
        &[Reason::IdempotencyConflict],
    )
    .map(drop)
}

async fn resolved(probe: Probe) -> Checked {
    for outcome in [v1::SpawnOutcome::Started, v1::SpawnOutcome::RolledBack] {
        let (session, id) = (probe.session(), spawn_id());
        let request = request::prepare(session.clone(), &id);
        accepted(prepare(&probe, &request).await?, "Prepare")?;
        for _ in 0..2 {
            let answer = resolve(&probe, &session, &id, outcome).await?;
            accepted(answer, &format!("Resolve {outcome:?}"))?;
        }
    }
    Ok(())
}

async fn unknown(probe: Probe) -> Checked {
    let session = probe.session();
    let answer = resolve(&probe, &session, &spawn_id(), v1::SpawnOutcome::RolledBack).await?;
    accepted(answer, "Resolve of an unknown spawn")?;
    if probe.engine.has("EndSubagent") {
        let request = request::end(session, "a child that nobody knows", "completed");
        let answer = probe
            .ask::<v1::EndSubagentResponse>("EndSubagent", &request)
            .await?;
        accepted(answer, "End of an unknown child")?;
    }
    Ok(())
}

async fn rolled_back_first(probe: Probe) -> Checked {
    let (session, id) = (probe.session(), spawn_id());
    let answer = resolve(&probe, &session, &id, v1::SpawnOutcome::RolledBack).await?;
    accepted(answer, "Resolve")?;
    let answer = prepare(&probe, &request::prepare(session, &id)).await?;
    let answer = accepted(answer, "a late Prepare")?;
    ensure(!answer.prepared, || {
        "a Prepare after its rollback is prepared".to_owned()
    })
}

async fn expired(probe: Probe) -> Checked {
    let (session, id) = (probe.session(), spawn_id());
    let request = v1::PrepareSubagentSpawnRequest {
        ttl_ms: Some(1),
        ..request::prepare(session.clone(), &id)
    };
    accepted(prepare(&probe, &request).await?, "Prepare")?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = resolve(&probe, &session, &id, v1::SpawnOutcome::Started).await?;
    refused_as(answer, &[Reason::PreparationExpired]).map(drop)
}

async fn ended(probe: Probe) -> Checked {
    for reason in ["deleted", "completed", "swept", "released", "x-abducted"] {
        let request = request::end(probe.session(), &format!("child {}", spawn_id()), reason);
        for _ in 0..2 {
            let answer = probe
                .ask::<v1::EndSubagentResponse>("EndSubagent", &request)
                .await?;
            accepted(answer, &format!("an end by `{reason}`"))?;
        }
    }
    Ok(())
}
