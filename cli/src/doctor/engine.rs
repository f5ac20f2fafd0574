//! An engine: reachable, of a version and a shape that hosts can work with?

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use contextwire_client::handshake::{EngineDescription, EngineState};
use contextwire_client::{ClientOptions, CompactFallback, EngineClient, Target};
use contextwire_engine::{EngineInfo, Hook};
use contextwire_proto::limits;
use tokio::time::Instant;

use super::{compaction, socket, store};
use crate::report::Finding;

/// Smallest message limit that every engine has to bear, in bytes.
const FLOOR_BYTES: u64 = 4 << 20;

/// Start of 2026 in seconds since the Unix epoch: no clock of a user of this program is before it.
const THIS_PROGRAM: u64 = 1_767_225_600;

/// What OpenClaw looks for before it lets an engine keep turns (HOST-SEMANTICS 1.1).
const FENCE: &str = "before-current-turn-entry-v1";
const ADVANCEMENT: &str = "atomic-idempotent-v1";

/// Every finding about the engine at this address; each answer is waited for at most this long.
pub async fn examine_engine(target: &Target, within: Duration) -> Vec<Finding> {
    let mut findings = vec![clock(), socket::examine(target)];
    let options = ClientOptions {
        // What is examined is what the engine does, not what is done in its place.
        compact_fallback: CompactFallback::Rethrow,
        ..ClientOptions::default()
    };
    let client = match EngineClient::with_options(target, &options) {
        Ok(client) => client,
        Err(error) => {
            let advice = "write unix:/path/to/engine.sock or http://127.0.0.1:PORT";
            findings.push(Finding::problem("reach", error.to_string(), advice));
            return findings;
        }
    };
    let started = Instant::now();
    let engine = match client.describe(within).await {
        Ok(engine) => engine,
        Err(error) => {
            findings.push(Finding::problem(
                "reach",
                format!("{}: {error}", error.code()),
                "start the engine, or give it longer with --deadline",
            ));
            return findings;
        }
    };
    let took = started.elapsed();
    let info = &engine.info;
    findings.push(Finding::ok(
        "reach",
        format!("{} {} answers in {took:.1?}", info.id, info.version),
    ));
    findings.extend([
        state(&engine),
        version(&engine),
        methods(info),
        meaning(&engine),
        message_limit(&engine),
        openclaw(info),
    ]);
    findings.extend(requirements(info));
    findings.push(compaction::examine(&client, info.owns_compaction, within).await);
    findings.extend(store::examine(target, within).await);
    findings
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time of day is what is examined"
)]
fn clock() -> Finding {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs());
    if seconds < THIS_PROGRAM {
        return Finding::problem(
            "clock",
            "this machine's clock stands before this program was written",
            "set the clock: hosts number their starts by it, and engines refuse a past one",
        );
    }
    Finding::ok("clock", "plausible")
}

fn state(engine: &EngineDescription) -> Finding {
    match engine.state {
        EngineState::Ready => Finding::ok("state", "READY"),
        EngineState::Starting => Finding::warning("state", "STARTING", "wait until it is READY"),
        EngineState::Draining => Finding::problem(
            "state",
            "DRAINING: new calls are refused",
            "it is being stopped; start it again or use another replica",
        ),
        EngineState::Degraded => Finding::warning(
            "state",
            "DEGRADED: something that the engine depends on is away",
            "look at the engine's log",
        ),
    }
}

fn version(engine: &EngineDescription) -> Finding {
    let (ours, theirs) = (limits::PROTOCOL, engine.protocol);
    let found = format!("protocol {}.{}", theirs.major, theirs.minor);
    match theirs.minor.cmp(&ours.minor) {
        std::cmp::Ordering::Equal => Finding::ok("version", found),
        std::cmp::Ordering::Less => Finding::warning(
            "version",
            format!("{found}, this program speaks {}.{}", ours.major, ours.minor),
            "newer fields are not sent to it; update the engine to use them",
        ),
        std::cmp::Ordering::Greater => Finding::warning(
            "version",
            format!("{found}, this program speaks {}.{}", ours.major, ours.minor),
            "the engine offers more than this program can use; update the host's side",
        ),
    }
}

fn methods(info: &EngineInfo) -> Finding {
    let problems = info.problems();
    if !problems.is_empty() {
        let advice = "its author: Describe, Ingest, Assemble and Compact are required";
        return Finding::problem("methods", problems.join("; "), advice);
    }
    let names: Vec<_> = info.methods.iter().map(|hook| hook.name()).collect();
    Finding::ok("methods", names.join(", "))
}

fn meaning(engine: &EngineDescription) -> Finding {
    if engine.honours_must_understand {
        return Finding::ok("meaning", "refuses what it must understand and does not");
    }
    Finding::warning(
        "meaning",
        "does not honour must_understand",
        "hosts keep calls from it whose meaning an old engine would lose; update its SDK",
    )
}

fn message_limit(engine: &EngineDescription) -> Finding {
    match engine.limits.max_message_bytes {
        Some(bytes) if bytes < FLOOR_BYTES => Finding::problem(
            "limits",
            format!("messages of at most {bytes} bytes"),
            format!("its operator: at least {FLOOR_BYTES} bytes have to be taken"),
        ),
        Some(bytes) => Finding::ok("limits", format!("messages of at most {bytes} bytes")),
        None => Finding::ok("limits", "no limit named; the protocol's holds"),
    }
}

/// Current OpenClaw runs its own engine instead, without a word, where one of these is missing.
fn openclaw(info: &EngineInfo) -> Finding {
    let semantics = info.transcript_semantics.clone().unwrap_or_default();
    let mut missing = Vec::new();
    if semantics.current_turn_fence.as_deref() != Some(FENCE) {
        missing.push(format!("current_turn_fence {FENCE}"));
    }
    if semantics.turn_advancement_idempotency.as_deref() != Some(ADVANCEMENT) {
        missing.push(format!("turn_advancement_idempotency {ADVANCEMENT}"));
    }
    if !info.methods.contains(&Hook::CommitTurn) {
        missing.push("CommitTurn".to_owned());
    }
    if missing.is_empty() {
        return Finding::ok("openclaw", "declares what current OpenClaw looks for");
    }
    Finding::warning(
        "openclaw",
        format!("lacks {}", missing.join(", ")),
        "current OpenClaw would run its own engine instead, silently, unless its plugin makes up \
         for it",
    )
}

/// Hosts that are known by name, and what they can (HOST-SEMANTICS 5).
const HOSTS: [(&str, &[&str]); 2] = [
    (
        "openclaw-embedded",
        &[
            "bootstrap",
            "assemble-before-prompt",
            "after-turn",
            "maintain",
            "compact",
            "runtime-llm-complete",
        ],
    ),
    (
        "codex-app-server",
        &[
            "bootstrap",
            "assemble-before-prompt",
            "after-turn",
            "maintain",
            "compact",
            "runtime-llm-complete",
            "thread-bootstrap-projection",
        ],
    ),
];

/// Known hosts that lack what the engine requires.
fn requirements(info: &EngineInfo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (operation, required) in &info.host_requirements {
        for (host, capabilities) in HOSTS {
            let lacks = |wanted: &&String| !capabilities.contains(&wanted.as_str());
            let missing: Vec<_> = required
                .capabilities
                .iter()
                .filter(lacks)
                .cloned()
                .collect();
            if missing.is_empty() {
                continue;
            }
            let advice = required.unsupported_message.clone();
            findings.push(Finding::warning(
                "host",
                format!("{operation} on {host} lacks {}", missing.join(", ")),
                advice.unwrap_or_else(|| "that host refuses the operation".to_owned()),
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("host", "every known host has what it requires"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{HostRequirement, TranscriptSemantics};

    use super::*;
    use crate::report::Severity;

    #[test]
    fn what_current_openclaw_needs_is_named_piece_by_piece() {
        let mut info = EngineInfo::new("e", "E", "1");
        let found = openclaw(&info);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.found.contains(FENCE) && found.found.ends_with("CommitTurn"));
        info.methods.push(Hook::CommitTurn);
        info.transcript_semantics = Some(TranscriptSemantics {
            current_turn_fence: Some(FENCE.to_owned()),
            turn_advancement_idempotency: Some(ADVANCEMENT.to_owned()),
        });
        assert_eq!(openclaw(&info).severity, Severity::Ok);
    }

    #[test]
    fn a_known_host_that_lacks_a_capability_is_named_with_the_engines_advice() {
        let mut info = EngineInfo::new("e", "E", "1");
        assert_eq!(requirements(&info)[0].severity, Severity::Ok);
        info.host_requirements.insert(
            "agent-run".to_owned(),
            HostRequirement {
                capabilities: vec!["thread-bootstrap-projection".to_owned()],
                unsupported_message: Some("use Codex".to_owned()),
            },
        );
        let found = requirements(&info);
        assert_eq!(found.len(), 1);
        assert!(found[0].found.contains("openclaw-embedded"));
        assert_eq!(found[0].advice.as_deref(), Some("use Codex"));
    }

    #[test]
    fn an_engine_that_lacks_a_required_method_and_one_that_is_stopped_are_problems() {
        let mut info = EngineInfo::new("e", "E", "1");
        info.methods.retain(|hook| *hook != Hook::Compact);
        assert_eq!(methods(&info).severity, Severity::Problem);
        let stopped = EngineDescription {
            state: EngineState::Draining,
            ..EngineDescription::default()
        };
        assert_eq!(state(&stopped).severity, Severity::Problem);
    }
}
