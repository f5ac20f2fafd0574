//! Selection by the numbers of HOST-SEMANTICS, with engines that nobody will ever reach: what counts
//! is where calls go.

mod turns;

use contextwire_engine::testing::ScriptedEngine;
use contextwire_engine::{
    AnyEngine, Assemble, Compact, HostRequirement, Ingest, Message, TurnAdmission,
};

use super::*;
use crate::call::ServedBy;
use crate::options::{ClientOptions, CompactFallback, OnEngineFailure, Policy, QuarantineOptions};
use crate::quarantine::{QuarantineRecord, Quarantines};
use crate::registry::Lifecycle;
use crate::requirements::HostProfile;
use crate::script::{description, session};
use crate::target::Target;

fn nowhere() -> Target {
    Target::unix("/nobody/listens/here")
}

/// A builder whose quarantine is its own.
fn builder() -> HostBuilder {
    Host::builder().options(ClientOptions {
        quarantine: QuarantineOptions {
            list: Quarantines::new(),
            ..QuarantineOptions::default()
        },
        ..ClientOptions::default()
    })
}

fn host() -> Host {
    builder().engine("lossless", nowhere()).build().unwrap()
}

/// Who serves an Assemble, and why not the engine.
async fn origin(hooks: &Hooks) -> (ServedBy, Option<&'static str>) {
    let transcript = [Message::from_payload(r#"{"role":"user","content":"hi"}"#)];
    let request = Assemble {
        transcript: transcript.into_iter().collect(),
        ..Assemble::default()
    };
    let served = hooks.assemble(&session("s"), request).await.unwrap();
    (
        served.by,
        served.reason.as_ref().map(|reason| reason.code()),
    )
}

fn in_process(reason: &'static str) -> (ServedBy, Option<&'static str>) {
    (ServedBy::InProcess, Some(reason))
}

#[tokio::test]
async fn calls_go_to_the_first_engine_until_another_one_is_selected() {
    let host = builder()
        .engine("a", nowhere())
        .engine("b", nowhere())
        .build()
        .unwrap();
    assert_eq!(origin(&host).await, in_process("UNREACHABLE"));
    host.select(" b ");
    assert_eq!(host.selected(), "b");
    assert_eq!(origin(&host).await, in_process("UNREACHABLE"));
    let seen = |id: &str| host.engine(id).unwrap().status().calls.in_process;
    assert_eq!([seen("a"), seen("b")], [1, 1]);
}

#[tokio::test]
async fn c009_the_built_in_engine_serves_by_its_own_right() {
    let engine = ScriptedEngine::default();
    let host = builder()
        .engine("lossless", nowhere())
        .built_in(AnyEngine::new(engine.clone()))
        .select("legacy")
        .build()
        .unwrap();
    assert_eq!(origin(&host).await, (ServedBy::InProcess, None));
    assert_eq!(engine.assembles(), 1);
    assert_eq!(host.resolution(), Resolution::BuiltIn);
    assert_eq!(host.active_info().unwrap().id, "scripted");
}

#[tokio::test]
async fn c019_c020_a_slot_that_names_nobodys_engine_is_served_and_says_so() {
    let host = host();
    host.select("missing");
    assert_eq!(origin(&host).await, in_process("QUARANTINED"));
    let status = host.status();
    assert_eq!(status.active, "legacy");
    let why = status.inactive_because.unwrap();
    assert!(why.contains("resolve failed: not registered"), "{why}");
    host.register(Registration::new("missing", "me", nowhere()))
        .unwrap();
    assert_eq!(origin(&host).await, in_process("UNREACHABLE"));
    assert_eq!(host.status().active, "missing");
}

#[tokio::test]
async fn c026_an_engine_for_discovery_is_not_called() {
    let host = builder()
        .register(Registration {
            lifecycle: Lifecycle::ReadOnlyDiscovery,
            ..Registration::new("seen", "me", nowhere())
        })
        .build()
        .unwrap();
    assert_eq!(origin(&host).await, in_process("DISCOVERY_ONLY"));
    assert_eq!(host.engine("seen").unwrap().status().calls.in_process, 0);
}

#[tokio::test]
async fn removing_the_selected_engine_empties_the_slot_and_another_ones_does_not() {
    let host = host();
    let other = Registration::new("other", "plugin:other", nowhere());
    host.register(other).unwrap();
    host.select("other");
    assert_eq!(host.remove_owner("nobody"), [""; 0]);
    assert_eq!(host.selected(), "other");
    assert_eq!(host.remove_owner("plugin:other"), ["other"]);
    assert_eq!(host.selected(), "legacy");
    assert_eq!(origin(&host).await, (ServedBy::InProcess, None));
    assert!(host.engine("other").is_err());
}

#[tokio::test]
async fn c002_c003_owners_hold_in_a_host_too() {
    let host = host();
    let thief = Registration::new("lossless", "thief", nowhere());
    assert!(host.register(thief).is_err());
    let reserved = builder().engine("legacy", nowhere()).build().unwrap_err();
    let text = std::error::Error::source(&reserved).unwrap().to_string();
    assert!(text.contains("belongs to `core`"), "{text}");
}

#[tokio::test]
async fn registering_anew_releases_and_forgets() {
    let host = host();
    assert_eq!(origin(&host).await, in_process("UNREACHABLE"));
    let known = || host.engine("lossless").unwrap().status().calls.in_process;
    assert_eq!(known(), 1);
    host.register(Registration::new("lossless", "host", nowhere()))
        .unwrap();
    assert_eq!(known(), 0);
}

#[tokio::test]
async fn r7_5_where_nothing_is_substituted_the_call_fails() {
    let host = builder()
        .engine("lossless", nowhere())
        .on_engine_failure(OnEngineFailure::Fail)
        .build()
        .unwrap();
    let request = Assemble::default();
    let error = host.assemble(&session("s"), request).await.unwrap_err();
    assert_eq!(error.code(), "UNREACHABLE");
    host.select("missing");
    let request = Assemble::default();
    let error = host.assemble(&session("s"), request).await.unwrap_err();
    assert_eq!(error.code(), "QUARANTINED");
}

#[tokio::test]
async fn r7_12_an_engine_that_was_never_seen_is_treated_as_owning_compaction() {
    let compact = async |host: &Host| host.compact(&session("s"), Compact::default()).await;
    let unseen = host();
    assert!(unseen.engine("lossless").unwrap().owns_compaction());
    assert_eq!(compact(&unseen).await.unwrap_err().code(), "UNREACHABLE");

    let folder = tempfile::tempdir().unwrap();
    let remembering = || {
        let host = builder().engine("lossless", nowhere());
        host.state_dir(folder.path()).build().unwrap()
    };
    let file = crate::info_file::path_in(folder.path(), "lossless");
    crate::info_file::InfoFile::new(file.clone()).write(Arc::new(description()));
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    let host = remembering();
    assert_eq!(host.active_info().unwrap().id, "scripted");
    assert!(!host.engine("lossless").unwrap().owns_compaction());
    let served = compact(&host).await.unwrap();
    assert_eq!(served.by, ServedBy::InProcess);
    assert_eq!(served.reason.unwrap().code(), "UNREACHABLE");
}

#[tokio::test]
async fn compact_fallback_legacy_compacts_and_rethrow_does_not() {
    let code = async |who: CompactFallback| {
        let host = builder().engine("lossless", nowhere());
        let host = host.compact_fallback(who).build().unwrap();
        let served = host.compact(&session("s"), Compact::default()).await;
        served.map(|it| it.by).map_err(|error| error.code())
    };
    assert_eq!(code(CompactFallback::Legacy).await, Ok(ServedBy::InProcess));
    assert_eq!(code(CompactFallback::Rethrow).await, Err("UNREACHABLE"));
}

/// A host whose engine was described once and requires more than the host has.
fn refusing(policy: Policy) -> Host {
    let profile = HostProfile {
        id: "cli:generic".to_owned(),
        label: "CLI backend \"generic\"".to_owned(),
        capabilities: vec!["bootstrap".to_owned()],
    };
    let host = builder()
        .engine("lossless", nowhere())
        .profile(profile)
        .policy(policy)
        .build()
        .unwrap();
    let mut engine = description();
    let requirement = HostRequirement {
        capabilities: vec!["runtime-llm-complete".to_owned()],
        unsupported_message: Some("Use the embedded runner.".to_owned()),
    };
    engine
        .info
        .host_requirements
        .insert("agent-run".to_owned(), requirement);
    host.engine("lossless").unwrap().known.learn(engine);
    host
}

#[tokio::test]
async fn c127_an_unmet_requirement_fails_closed_with_the_whole_message() {
    let host = refusing(Policy::Guarded);
    let request = Assemble::default();
    let error = host.assemble(&session("s"), request).await.unwrap_err();
    assert_eq!(error.code(), "CAPABILITY_REQUIRED");
    let text = error.to_string();
    for part in [
        "\"scripted\"",
        "\"agent-run\"",
        "lacks runtime-llm-complete",
        "embedded runner.",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let admission = Admission::Unrecorded("t1".to_owned());
    let error = host.turn(&session("s"), admission).await.unwrap_err();
    assert_eq!(error.code(), "CAPABILITY_REQUIRED");
    // c066: it bars nothing, and what winds up is not judged.
    assert_eq!(host.status().engines[0].quarantine, []);
    let ended = host.end_subagent(&session("s"), <_>::default()).await;
    assert_eq!(ended.unwrap_err().code(), "UNREACHABLE");
}

#[tokio::test]
async fn c127_under_a_lease_an_unmet_requirement_costs_the_turn_its_engine() {
    let host = refusing(Policy::Lease);
    let admission = Admission::Unrecorded("t1".to_owned());
    let turn = host.turn(&session("s"), admission).await.unwrap();
    let engine = turn.engine();
    assert_eq!(engine.mode, TurnMode::LegacyDegraded);
    let reason = engine.reason.unwrap();
    assert!(reason.contains("cli:generic"), "{reason}");
    assert!(reason.contains("runtime-llm-complete"), "{reason}");
    assert_eq!(origin(&turn).await, in_process("TURN_DEGRADED"));
}

fn leasing() -> HostBuilder {
    builder()
        .engine("lossless", nowhere())
        .policy(Policy::Lease)
}

/// A leasing host whose engine is known to say so of itself.
fn leasing_with(change: impl FnOnce(&mut EngineInfo)) -> Host {
    let host = leasing().build().unwrap();
    let mut engine = description();
    change(&mut engine.info);
    host.engine("lossless").unwrap().known.learn(engine);
    host
}

fn recorded() -> Admission {
    Admission::Recorded(TurnAdmission {
        logical_turn_id: "turn-1".to_owned(),
        ..TurnAdmission::default()
    })
}

async fn issue(host: &Host, admission: Admission) -> Option<String> {
    let turn = host.turn(&session("s"), admission).await.unwrap();
    turn.engine().reason
}

fn declare(info: &mut EngineInfo) {
    info.transcript_semantics = Some(contextwire_engine::TranscriptSemantics {
        current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
        turn_advancement_idempotency: Some("atomic-idempotent-v1".to_owned()),
    });
}

#[tokio::test]
async fn c156_c157_an_engine_that_cannot_be_had_costs_the_turn_and_bars_nothing() {
    let host = leasing().build().unwrap();
    let unnamed = || Admission::Unrecorded("t".to_owned());
    let away = issue(&host, unnamed()).await.unwrap();
    assert!(away.contains("cannot be reached"), "{away}");
    host.select("missing");
    let missing = issue(&host, unnamed()).await;
    assert_eq!(missing.as_deref(), Some("not registered"));
    let turn = host.turn(&session("s"), unnamed()).await.unwrap();
    assert_eq!(origin(&turn).await, in_process("TURN_DEGRADED"));
    assert_eq!(host.status().engines[0].quarantine, []);
    host.select("legacy");
    assert_eq!(issue(&host, unnamed()).await, None);
}

#[tokio::test]
async fn c164_to_c166_a_recorded_turn_needs_a_fence_and_a_commit() {
    let reason = async |change: fn(&mut EngineInfo), admission: Admission| {
        issue(&leasing_with(change), admission)
            .await
            .unwrap_or_default()
    };
    let undeclared = |_: &mut EngineInfo| {};
    assert!(reason(undeclared, recorded()).await.contains("fencing"));
    let without_commit = |info: &mut EngineInfo| {
        declare(info);
        info.methods
            .retain(|hook| *hook != contextwire_engine::Hook::CommitTurn);
    };
    assert!(reason(without_commit, recorded()).await.contains("durable"));
    let lost = Admission::WithoutReceipt("turn-1".to_owned());
    assert!(reason(declare, lost).await.contains("receipt"));
    assert_eq!(reason(declare, recorded()).await, "");
    let unrecorded = Admission::Unrecorded("turn-1".to_owned());
    assert_eq!(reason(undeclared, unrecorded).await, "");
}

#[tokio::test]
async fn a_turn_keeps_its_engine_when_the_slot_changes_and_refuses_calls_after_its_end() {
    let host = host();
    let admission = Admission::Unrecorded("t1".to_owned());
    let turn = host.turn(&session("s"), admission).await.unwrap();
    assert_eq!(turn.id(), "t1");
    turn.begin().unwrap();
    host.select("legacy");
    assert_eq!(origin(&turn).await, in_process("UNREACHABLE"));
    assert_eq!(origin(&turn).await, in_process("TURN_DEGRADED"));
    assert_eq!(turn.degrade_before_start("late"), Err(TurnError::Started));
    assert_eq!(origin(&host).await, (ServedBy::InProcess, None));
    turn.clone().end();
    let message = Message::from_payload("{}");
    let request = Ingest {
        message,
        is_heartbeat: false,
    };
    let error = turn.ingest(&session("s"), request).await.unwrap_err();
    assert_eq!(error.code(), "TURN_OVER");
}

#[tokio::test(start_paused = true)]
async fn the_status_file_follows_what_happens_and_is_always_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("status.json");
    let host = builder()
        .id("my-host")
        .engine("lossless", nowhere())
        .status_file(&path)
        .build()
        .unwrap();
    let read = || {
        let bytes = std::fs::read(&path).ok()?;
        let status: HostStatus = serde_json::from_slice(&bytes).expect("whole");
        Some(status)
    };
    let soon = async |what: &dyn Fn(&HostStatus) -> bool| {
        for _ in 0..10_000 {
            if let Some(status) = read().filter(what) {
                return status;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the status was not written")
    };
    let status = soon(&|_| true).await;
    assert_eq!(status.host, "my-host");
    assert_eq!(status.engines[0].calls.in_process, 0);
    assert_eq!(origin(&host).await, in_process("UNREACHABLE"));
    let status = soon(&|it| it.engines[0].calls.in_process == 1).await;
    assert_eq!(status.engines[0].last_errors[0].code, "UNREACHABLE");
    host.select("legacy");
    soon(&|it| it.selected == "legacy").await;
}
