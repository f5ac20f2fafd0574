//! Mutants of discovery: what an engine says of itself.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use contextwire_proto::{Reason, v1};
use prost::Message as _;
use tonic::Status;

use super::fields::{refuse_if, typed};
use super::{Change, Exchange, Mutant, NONE, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "no-compact",
        &["R1.2"],
        "Describe does not name Compact",
        &["E-NEG-01"],
        described(|it, _| {
            it.methods.retain(|method| method != "Compact");
        }),
    ),
    mutant(
        "wandering-build",
        &["R1.1"],
        "each Describe names another build",
        &["E-NEG-02"],
        described(|it, _| {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            it.build = format!("build {}", COUNT.fetch_add(1, Ordering::Relaxed));
        }),
    ),
    mutant(
        "hides-a-method",
        &["R1.1"],
        "serves a method that it does not declare",
        &["E-NEG-05"],
        described(|it, _| {
            it.methods.retain(|method| method != "EndSubagent");
        }),
    ),
    mutant(
        "knows-hosts",
        &["R5.1"],
        "answers one host otherwise than the others",
        &["E-NEG-17"],
        described(|it, host| {
            if host.id == "codex" {
                it.name.push_str(" for Codex");
            }
        }),
    ),
    mutant(
        "any-major",
        &["R5.5"],
        "serves hosts of another major",
        &["E-NEG-06"],
        Change {
            request: Some(|exchange, message| {
                vec![asked(exchange, message, |it| {
                    it.protocol = it.protocol.map(|protocol| v1::ProtocolVersion {
                        major: 1,
                        ..protocol
                    });
                })]
            }),
            ..NONE
        },
    ),
    mutant(
        "echoes-the-minor",
        &["R5.5"],
        "claims the host's minor as its own",
        &["E-NEG-07"],
        Change {
            response: Some(echo_minor),
            ..NONE
        },
    ),
    mutant(
        "refuses-capabilities",
        &["R5.1"],
        "refuses hosts with capabilities that it does not know",
        &["E-NEG-09"],
        Change {
            call: Some(|exchange| refuse_describe(exchange, |it| !it.host_capabilities.is_empty())),
            ..NONE
        },
    ),
    mutant(
        "needs-a-host",
        &["R5.5"],
        "refuses a Describe with the fields of minor 0 alone",
        &["E-NEG-18"],
        Change {
            call: Some(|exchange| refuse_describe(exchange, |it| it.host.is_none())),
            ..NONE
        },
    ),
    mutant(
        "any-method",
        &["R1.1"],
        "answers methods that nobody has",
        &["E-ROB-05"],
        Change {
            call: Some(|exchange| (exchange.method == "Foresee").then(|| Ok(Bytes::new()))),
            ..NONE
        },
    ),
    mutant(
        "never-serving",
        &["R1.1"],
        "health says NOT_SERVING while hooks are served",
        &["E-LIF-01"],
        Change {
            response: Some(|exchange, message| {
                let is_health = exchange.method.starts_with("/grpc.health");
                Ok(vec![if is_health {
                    Bytes::from_static(&[8, 2])
                } else {
                    message
                }])
            }),
            ..NONE
        },
    ),
    mutant(
        "disowns-compaction",
        &["R1.2"],
        "does not own compaction, and neither delegates it nor says no",
        &["E-HKS-20"],
        Change {
            response: Some(disown),
            ..NONE
        },
    ),
];

const fn described(change: fn(&mut v1::EngineInfo, &v1::HostIdentity)) -> Change {
    Change {
        info: Some(change),
        ..NONE
    }
}

fn asked(exchange: &Exchange, message: Bytes, change: fn(&mut v1::DescribeRequest)) -> Bytes {
    if exchange.method == "Describe" {
        typed(message, change)
    } else {
        message
    }
}

fn question(exchange: &Exchange) -> v1::DescribeRequest {
    v1::DescribeRequest::decode(exchange.first.clone()).unwrap_or_default()
}

fn refuse_describe(
    exchange: &Exchange,
    refuses: fn(&v1::DescribeRequest) -> bool,
) -> Option<Result<Bytes, Status>> {
    let holds = exchange.method == "Describe" && refuses(&question(exchange));
    refuse_if(holds, Reason::InvalidRequest)
}

#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn echo_minor(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    if exchange.method != "Describe" {
        return Ok(vec![message]);
    }
    let minor = question(exchange).protocol.unwrap_or_default().minor;
    Ok(vec![typed(message, |it: &mut v1::DescribeResponse| {
        it.protocol = it
            .protocol
            .map(|protocol| v1::ProtocolVersion { minor, ..protocol });
    })])
}

#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn disown(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    let message = match exchange.method.as_str() {
        "Describe" => typed(message, |it: &mut v1::DescribeResponse| {
            if let Some(info) = &mut it.engine {
                info.owns_compaction = false;
            }
        }),
        "Compact" => typed(message, |it: &mut v1::CompactResponse| {
            if let Some(v1::compact_response::Frame::Result(result)) = &mut it.frame {
                result.ok = true;
            }
        }),
        _ => message,
    };
    Ok(vec![message])
}
