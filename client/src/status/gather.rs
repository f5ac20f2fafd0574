//! The status of one engine, from what the layers of its client share.

use std::sync::Arc;

use contextwire_engine::{Hook, TranscriptState};
use contextwire_proto::handshake::Protocol;
use contextwire_proto::limits;
use contextwire_proto::sync::List;

use super::{
    BreakerStatus, CallsStatus, DescribedStatus, EndpointStatus, EngineStatus, ErrorStatus,
    LearnedStatus, ListStatus, QuarantineStatus, StateStatus,
};
use crate::breaker::{self, Position};
use crate::client::EngineClient;
use crate::endpoint::Endpoint;
use crate::quarantine::QuarantineRecord;
use crate::spawned::Spawned;
use crate::stack::Gauges;
use crate::sync::KnownList;

/// Lists that a status shows.
const LISTS: usize = 100;

impl EngineClient {
    /// What is known of the engine. A client of one engine has it selected; it is active unless it is
    /// barred.
    pub fn status(&self) -> EngineStatus {
        let gauges = &self.gauges;
        let bar = self.known.bar();
        let endpoints = &gauges.endpoints;
        let lists: Vec<_> = endpoints
            .iter()
            .flat_map(|it| it.book.known_lists())
            .collect();
        let lists_in_all = lists.len() as u64;
        let degraded = gauges.turns.degraded().into_iter();
        EngineStatus {
            id: bar.engine_id().to_owned(),
            owner: bar.owner().map(str::to_owned),
            target: self.known.target().to_string(),
            selected: true,
            active: bar.record().is_none(),
            described: self.described(),
            breaker: best(endpoints),
            quarantine: bar.records().into_iter().map(quarantine).collect(),
            learned: learned(gauges),
            lists: lists.iter().take(LISTS).map(list).collect(),
            lists_in_all,
            degraded_turns: degraded
                .map(|(session, reason)| (session.as_str().to_owned(), reason))
                .collect(),
            calls: calls(gauges),
            last_errors: last_errors(gauges),
            endpoints: endpoints.iter().map(|it| endpoint(it)).collect(),
        }
    }

    fn described(&self) -> Option<DescribedStatus> {
        let engine = self.known.last()?;
        let left_out = Hook::ALL.into_iter().filter_map(|hook| {
            let left_out = self.gauges.memory.adaptation(hook, &engine).left_out();
            (!left_out.is_empty()).then(|| (hook.name().to_owned(), left_out))
        });
        let ours = limits::RUNTIME_SETTINGS_VERSIONS.into_iter();
        let settings = ours.filter(|it| engine.runtime_settings_versions.contains(it));
        let (info, protocol) = (&engine.info, engine.protocol);
        Some(DescribedStatus {
            id: info.id.clone(),
            version: info.version.clone(),
            build: info.build.clone(),
            owns_compaction: info.owns_compaction,
            is_current: self.known().is_some(),
            protocol: format!("{}.{}", protocol.major, protocol.minor),
            negotiated_minor: protocol.minor.min(limits::PROTOCOL.minor),
            settings_version: settings.max(),
            left_out: left_out.collect(),
        })
    }
}

/// The circuit that calls go through first.
fn best(endpoints: &[Arc<Endpoint>]) -> BreakerStatus {
    let closed =
        |at: &&Arc<Endpoint>| matches!(breaker::position(&at.circuit), Position::Closed { .. });
    let best = endpoints.iter().find(closed).or(endpoints.first());
    let position = best.map(|it| breaker::position(&it.circuit));
    circuit(position.unwrap_or(Position::Closed { failures: 0 }))
}

fn endpoint(endpoint: &Endpoint) -> EndpointStatus {
    let said = endpoint.known.last();
    let (answered, passed_on) = endpoint.tries();
    EndpointStatus {
        target: endpoint.known.target().to_string(),
        health: endpoint.health().name().to_owned(),
        breaker: circuit(breaker::position(&endpoint.circuit)),
        described: said.map(|it| {
            let Protocol { major, minor } = it.protocol;
            format!("{}, {major}.{minor}", it.info.version)
        }),
        running: endpoint.running() as u64,
        answered,
        passed_on,
        process: endpoint.line.spawned().map(Spawned::status),
    }
}

fn circuit(position: Position) -> BreakerStatus {
    let (state, failures, retry_in) = match position {
        Position::Closed { failures } => ("closed", failures, None),
        Position::Open { retry_in } => ("open", 0, Some(retry_in)),
        Position::HalfOpen => ("half-open", 0, None),
    };
    BreakerStatus {
        state: state.to_owned(),
        failures,
        retry_in_ms: retry_in.and_then(|it| u64::try_from(it.as_millis()).ok()),
    }
}

fn quarantine(record: QuarantineRecord) -> QuarantineStatus {
    QuarantineStatus {
        operation: record.operation,
        reason: record.reason,
        failed_at_ms: record.failed_at,
        session: record.session.map(|id| id.as_str().to_owned()),
    }
}

fn learned(gauges: &Gauges) -> Vec<LearnedStatus> {
    let builds = gauges.memory.learned().into_iter();
    builds
        .map(
            |([id, version, build], stripped, not_understood)| LearnedStatus {
                id,
                version,
                build,
                stripped,
                not_understood,
            },
        )
        .collect()
}

fn list(known: &KnownList) -> ListStatus {
    ListStatus {
        session: known.session.as_str().to_owned(),
        list: match known.list {
            List::Log => "log",
            List::View => "view",
        }
        .to_owned(),
        base: known.base.map(state),
        head: known.head.map(state),
    }
}

/// Eight bytes of a chain tell states apart.
fn state(state: TranscriptState) -> StateStatus {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(state.chain) {
        *to = from;
    }
    StateStatus {
        count: state.count,
        chain: format!("{:016x}", u64::from_be_bytes(first)),
    }
}

fn calls(gauges: &Gauges) -> CallsStatus {
    let (journal, load) = (gauges.observer.journal(), gauges.admit.load());
    CallsStatus {
        by_engine: journal.by_engine,
        in_process: journal.in_process,
        failed: journal.failed,
        running: load.calls as u64,
        running_bytes: load.bytes,
        waiting: load.waiting as u64,
    }
}

fn last_errors(gauges: &Gauges) -> Vec<ErrorStatus> {
    let errors = gauges.observer.journal().last_errors.into_iter();
    let status = |error: crate::observer::NotedError| ErrorStatus {
        hook: error.hook.name().to_owned(),
        code: error.code.to_owned(),
        text: error.text,
        at_ms: error.at_ms,
    };
    errors.map(status).collect()
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{Assemble, Message};

    use crate::client::EngineClient;
    use crate::options::ClientOptions;
    use crate::script::session;

    #[tokio::test]
    async fn a_status_tells_what_failed_and_nothing_of_what_was_said() {
        let target = "unix:/nobody/listens/here".parse().unwrap();
        let options = ClientOptions {
            engine_id: Some("lossless".to_owned()),
            ..ClientOptions::default()
        };
        let client = EngineClient::with_options(&target, &options).unwrap();
        let request = Assemble {
            transcript: [Message::from_payload(
                r#"{"role":"user","content":"secret"}"#,
            )]
            .into_iter()
            .collect(),
            ..Assemble::default()
        };
        for _ in 0..3 {
            let request = request.clone();
            client.assemble(&session("s"), request).await.unwrap();
        }
        let status = client.status();
        assert_eq!(status.breaker.state, "open");
        assert_eq!(status.calls.in_process, 3);
        let codes: Vec<_> = status.last_errors.iter().map(|it| &*it.code).collect();
        assert_eq!(codes, ["UNREACHABLE", "UNREACHABLE", "BREAKER_OPEN"]);
        assert_eq!(status.degraded_turns["s"], "BREAKER_OPEN");
        assert_eq!(status.described, None);
        let json = serde_json::to_string(&status).unwrap();
        assert!(!json.contains("secret"));
        let read = serde_json::from_str(&json);
        assert!(read.is_ok_and(|read: super::EngineStatus| read == status));
    }
}
