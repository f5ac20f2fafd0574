//! Mutants of stores: what is kept, under which key, in which order, for how long.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use contextwire_proto::{Reason, v1};
use prost::Message as _;
use tonic::Status;

use super::fields::{call_of, edit, has, is_stream, refusal, refuse_if, success, typed};
use super::{Change, Exchange, Mutant, NONE, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "one-session-for-all",
        &["R1.9", "R3.9"],
        "takes all sessions for one",
        &["E-HKS-30", "E-IDM-10", "E-SYN-16"],
        context(|call| {
            if let Some(session) = &mut call.session {
                "the only one".clone_into(&mut session.session_id);
            }
        }),
    ),
    mutant(
        "forgets-lists",
        &["R3.9"],
        "keeps no list",
        &["E-SYN-01", "E-SYN-02", "E-SYN-10"],
        hears(|exchange, message| {
            vec![list_of(exchange, message, |list| {
                if let Some(base) = &mut list.base
                    && base.count > 0
                {
                    base.chain = vec![9; 32].into();
                    list.segments.clear();
                }
            })]
        }),
    ),
    mutant(
        "stores-views",
        &["R3.1"],
        "stores what it was shown for a prompt",
        &["E-HKS-37"],
        Change {
            response: Some(store_views),
            ..NONE
        },
    ),
    mutant(
        "reserialises",
        &["R2.1"],
        "writes numbers in its own way",
        &["E-FLD-17"],
        hears(|exchange, message| {
            vec![ingest(exchange, message, |it| {
                let text = String::from_utf8_lossy(&it.payload).replace("1e400", "1E400");
                it.payload = text.into_bytes().into();
            })]
        }),
    ),
    mutant(
        "stores-copies",
        &["R2.3", "R3.2"],
        "stores each Ingest under an id of its own",
        &["E-HKS-38", "E-HKS-39", "E-IDM-09"],
        hears(|exchange, message| {
            vec![ingest(exchange, message, |it| {
                it.entry_id = uuid::Uuid::now_v7().to_string();
            })]
        }),
    ),
    mutant(
        "forgets-logs",
        &["R3.1"],
        "answers Bootstrap and stores nothing",
        &["E-HKS-01", "E-HKS-40", "E-HKS-38"],
        instead("Bootstrap"),
    ),
    mutant(
        "forgets-commits",
        &["R7.11"],
        "answers COMMITTED and stores nothing",
        &["E-IDM-01", "E-IDM-02", "E-IDM-08"],
        instead("CommitTurn"),
    ),
    mutant(
        "forgets-batches",
        &["R3.2"],
        "answers IngestBatch and stores nothing",
        &["E-HKS-07"],
        instead("IngestBatch"),
    ),
    mutant(
        "no-empty-logs",
        &["R3.1"],
        "refuses an empty log",
        &["E-HKS-02"],
        Change {
            call: Some(|exchange| {
                let start = v1::BootstrapStart::decode(super::fields::start_of(exchange))
                    .unwrap_or_default();
                let is_empty = start.transcript.is_some_and(|it| it.segments.is_empty());
                refuse_if(
                    exchange.method == "Bootstrap" && is_empty,
                    Reason::InvalidRequest,
                )
            }),
            ..NONE
        },
    ),
    mutant(
        "ignores-log-heads",
        &["R3.3"],
        "never catches up",
        &["E-SYN-13"],
        context(|call| call.log_head = None),
    ),
    mutant(
        "insists-on-the-log",
        &["R3.3"],
        "fails where the log cannot be served",
        &["E-SYN-14"],
        Change {
            request: Some(|exchange, message| {
                exchange.is_marked |= is_stream(&exchange.method) && is_unavailable(&message);
                vec![message]
            }),
            response: Some(|exchange, message| {
                if exchange.is_marked && has(&message, 1) {
                    return Err(refusal(Reason::TranscriptUnavailable));
                }
                Ok(vec![message])
            }),
            ..NONE
        },
    ),
    mutant(
        "ignores-keys",
        &["R7.8", "R7.10"],
        "does under every key what it is asked",
        &["E-IDM-03", "E-IDM-05", "E-IDM-14"],
        Change {
            context: Some(|call| call.hook_id = uuid::Uuid::now_v7().to_string()),
            request: Some(|exchange, message| {
                if exchange.method != "CommitTurn" {
                    return vec![message];
                }
                vec![typed(message, |it: &mut v1::CommitTurnRequest| {
                    it.advancement_key = uuid::Uuid::now_v7().to_string();
                })]
            }),
            ..NONE
        },
    ),
    mutant(
        "ignores-order",
        &["R7.9"],
        "does what a delayed call asks",
        &["E-IDM-12"],
        context(|call| {
            call.host_epoch = 0;
            call.session_seq = None;
        }),
    ),
    mutant(
        "ignores-tombstones",
        &["R7.2"],
        "does what an abandoned call asks",
        &["E-FEN-01", "E-FEN-02", "E-FEN-03"],
        context(|call| {
            call.abandoned_hooks.clear();
        }),
    ),
    mutant(
        "never-prepares",
        &["R9.1"],
        "prepares no spawn",
        &["E-SUB-01"],
        Change {
            response: Some(unprepared),
            ..NONE
        },
    ),
    mutant(
        "ignores-spawn-ids",
        &["R9.1", "R9.2"],
        "takes each Prepare for another",
        &["E-SUB-03", "E-SUB-07"],
        prepares(|it| {
            it.spawn_id = uuid::Uuid::now_v7().to_string();
        }),
    ),
    mutant(
        "never-expires",
        &["R9.1", "R9.2"],
        "keeps preparations for ever",
        &["E-SUB-09"],
        prepares(|it| it.ttl_ms = None),
    ),
    mutant(
        "refuses-rollbacks",
        &["R9.2"],
        "refuses to roll back",
        &["E-SUB-04", "E-SUB-06"],
        Change {
            call: Some(|exchange| {
                let request = v1::ResolveSubagentSpawnRequest::decode(exchange.first.clone());
                let is_rollback =
                    request.is_ok_and(|it| it.outcome() == v1::SpawnOutcome::RolledBack);
                refuse_if(
                    exchange.method == "ResolveSubagentSpawn" && is_rollback,
                    Reason::InvalidRequest,
                )
            }),
            ..NONE
        },
    ),
    mutant(
        "closed-end-reasons",
        &["R4.3"],
        "refuses reasons that it does not know",
        &["E-SUB-12"],
        Change {
            call: Some(|exchange| {
                let request = v1::EndSubagentRequest::decode(exchange.first.clone());
                let is_unknown = request.is_ok_and(|it| it.reason.starts_with("x-"));
                refuse_if(
                    exchange.method == "EndSubagent" && is_unknown,
                    Reason::InvalidRequest,
                )
            }),
            ..NONE
        },
    ),
];

const fn context(context: fn(&mut v1::CallContext)) -> Change {
    Change {
        context: Some(context),
        ..NONE
    }
}

const fn hears(request: super::OnRequest) -> Change {
    Change {
        request: Some(request),
        ..NONE
    }
}

/// Answers a method with its plainest success, and the engine hears of none.
const fn instead(method: &'static str) -> Change {
    Change {
        instead: Some(method),
        ..NONE
    }
}

const fn prepares(change: fn(&mut v1::PrepareSubagentSpawnRequest)) -> Change {
    Change {
        prepare: Some(change),
        ..NONE
    }
}

/// What a mutant says that does nothing in this method.
pub(super) fn answered(method: &str, exchange: &Exchange) -> Option<Result<Bytes, Status>> {
    (exchange.method == method).then(|| Ok(success(exchange)))
}

fn list_of(exchange: &Exchange, message: Bytes, change: fn(&mut v1::TranscriptUpdate)) -> Bytes {
    if exchange.method != "Assemble" {
        return message;
    }
    let change = |list: Bytes| typed(list, change);
    edit(&edit(&message, &[1, 4], &change), &[2], &change)
}

fn ingest(exchange: &Exchange, message: Bytes, change: fn(&mut v1::Message)) -> Bytes {
    if exchange.method != "Ingest" {
        return message;
    }
    edit(&message, &[4], &|it| typed(it, change))
}

fn is_unavailable(message: &Bytes) -> bool {
    let frame = v1::AssembleRequest::decode(message.clone()).unwrap_or_default();
    matches!(frame.frame, Some(v1::assemble_request::Frame::Transcript(it)) if it.unavailable)
}

#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn unprepared(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    if exchange.method != "PrepareSubagentSpawn" {
        return Ok(vec![message]);
    }
    Ok(vec![typed(
        message,
        |it: &mut v1::PrepareSubagentSpawnResponse| it.prepared = false,
    )])
}

/// The log of a session that was shown something holds more than it was told.
#[expect(clippy::unnecessary_wraps, reason = "every change has this signature")]
fn store_views(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let session = call_of(exchange).session.unwrap_or_default().session_id;
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if exchange.method == "Assemble" {
        shown.insert(session);
    } else if exchange.method == "Ingest" && shown.contains(&session) {
        return Ok(vec![typed(message, |it: &mut v1::IngestResponse| {
            if let Some(state) = it.reply.as_mut().and_then(|it| it.log_state.as_mut()) {
                state.count += 1;
            }
        })]);
    }
    Ok(vec![message])
}
