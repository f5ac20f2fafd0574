//! Starts, stops and deaths of the engine's process, by the operator's control command.

use std::time::Duration;

use contextwire_proto::{Reason, reason_of, v1};
use tonic::Code;

use super::log::{holds, ingested, same};
use crate::check::{Check, Checked, Need, Verdict, broken, check, ensure};
use crate::control::Control;
use crate::list::{self, text};
use crate::probe::Probe;
use crate::refusal::accepted;
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-LIF-03",
        ["R6.1"],
        Must,
        Lifecycle,
        [Need::Control],
        stopped,
        "a stop ends the process although a hook hangs, refuses new hooks as DRAINING meanwhile, and a start serves again",
        "a supervisor waits for the end, and hosts for the reason"
    ),
    check!(
        "E-LIF-07",
        ["R6.2"],
        Must,
        Lifecycle,
        [Need::Control],
        killed,
        "after a kill and a start the next hook works",
        "processes die"
    ),
    check!(
        "E-LIF-08",
        ["R1.1"],
        Must,
        Lifecycle,
        [Need::Control],
        instance,
        "after a start the instance differs and the build does not",
        "hosts tell a restart from an upgrade by it"
    ),
    check!(
        "E-IDM-07",
        ["R7.11"],
        Must,
        Lifecycle,
        [Need::Control, Need::LogState, Need::Method("CommitTurn")],
        durable,
        "a turn that was COMMITTED is there after a kill",
        "the host has forgotten it"
    ),
    check!(
        "E-SUB-11",
        ["R9.1"],
        Must,
        Lifecycle,
        [
            Need::Control,
            Need::Method("PrepareSubagentSpawn"),
            Need::Method("ResolveSubagentSpawn")
        ],
        spawn,
        "a preparation is there after a kill",
        "the child may be running already"
    ),
    check!(
        "E-TIM-12",
        ["R6.2"],
        Must,
        Lifecycle,
        [Need::Control],
        paused,
        "a process that was paused for a second goes on where it was",
        "laptops sleep"
    ),
];

fn control(probe: &Probe) -> Result<Control, Verdict> {
    let missing = || Verdict::NotApplicable("no --control-cmd was given".to_owned());
    probe.control.clone().ok_or_else(missing)
}

/// Describes until it is answered, for thirty seconds.
async fn up(probe: &Probe) -> Result<v1::EngineInfo, Verdict> {
    for _ in 0..300 {
        let probe = probe.another_connection()?;
        let answer = probe
            .ask::<v1::DescribeResponse>("Describe", &request::describe())
            .await;
        if let Ok(Ok(described)) = answer {
            return Ok(described.engine.unwrap_or_default());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    broken("the engine does not answer within 30 s of its start")
}

async fn restarted(probe: &Probe, stop: &str) -> Result<Probe, Verdict> {
    let control = control(probe)?;
    control.run(stop).await?;
    control.run("start").await?;
    up(probe).await?;
    probe.another_connection()
}

async fn stopped(probe: Probe) -> Checked {
    let control = control(&probe)?;
    let hanging = super::frames::waiting(&probe, probe.session()).await?;
    let stopping = tokio::spawn(async move { control.run("stop").await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ingest = request::ingest(probe.session(), text("e0", "user", "too late"));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    drop(hanging);
    let ended = stopping.await;
    self::control(&probe)?.run("start").await?;
    up(&probe).await?;
    ended.map_err(|error| Verdict::Inconclusive(error.to_string()))??;
    match answer {
        Ok(_) => broken("a new hook is served while the engine stops"),
        Err(status) => {
            let reason = reason_of(&status);
            let is_due = reason == Some(Reason::Draining)
                || (reason.is_none() && status.code() == Code::Unavailable);
            ensure(is_due, || {
                format!("a new hook during a stop is {:?}", status.code())
            })
        }
    }
}

async fn killed(probe: Probe) -> Checked {
    let _hanging = super::frames::waiting(&probe, probe.session()).await?;
    let probe = restarted(&probe, "kill").await?;
    let held = list::conversation(4);
    let start = request::assemble(probe.session(), &held);
    super::assemble::messages(&probe, &start, &held)
        .await
        .map(drop)
}

async fn instance(probe: Probe) -> Checked {
    let before = up(&probe).await?;
    restarted(&probe, "stop").await?;
    let after = up(&probe).await?;
    ensure(before.instance_id != after.instance_id, || {
        format!("the instance is still `{}`", after.instance_id)
    })?;
    ensure(before.build == after.build, || {
        format!("the build `{}` became `{}`", before.build, after.build)
    })
}

async fn durable(probe: Probe) -> Checked {
    let (session, turn) = (probe.session(), list::tool_rounds(1));
    let commit = request::commit(session.clone(), "turn-1", &turn);
    let answer = probe
        .ask::<v1::CommitTurnResponse>("CommitTurn", &commit)
        .await?;
    accepted(answer, "CommitTurn")?;
    let probe = restarted(&probe, "kill").await?;
    let more = text("more", "user", "more");
    let mut due = turn;
    due.push(more.clone());
    same(ingested(&probe, &session, more).await?.as_ref(), &due)
}

async fn spawn(probe: Probe) -> Checked {
    let session = probe.session();
    let prepare = request::prepare(session.clone(), &session.session_id);
    let method = "PrepareSubagentSpawn";
    let answer = probe
        .ask::<v1::PrepareSubagentSpawnResponse>(method, &prepare)
        .await?;
    accepted(answer, "Prepare")?;
    let probe = restarted(&probe, "kill").await?;
    let other = v1::PrepareSubagentSpawnRequest {
        child_session_key: "another child".to_owned(),
        ..prepare
    };
    let answer = probe
        .ask::<v1::PrepareSubagentSpawnResponse>(method, &other)
        .await?;
    crate::refusal::refused_as(answer, &[Reason::IdempotencyConflict]).map(drop)
}

async fn paused(probe: Probe) -> Checked {
    let control = control(&probe)?;
    control.run("pause").await?;
    let (session, message) = (probe.session(), text("e0", "user", "during a pause"));
    let ingest = request::ingest(session.clone(), message.clone());
    let asked = probe.ask::<v1::IngestResponse>("Ingest", &ingest);
    let resumed = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        control.run("resume").await
    };
    let (answer, resumed) = tokio::join!(asked, resumed);
    resumed?;
    accepted(answer?, "a call during a pause")?;
    if probe.engine.tells_log_state {
        return holds(&probe, session, &[message]).await;
    }
    Ok(())
}
