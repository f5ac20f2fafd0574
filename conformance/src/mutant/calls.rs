//! Mutants of requests: fields, sizes and ids that an engine takes or refuses wrongly.

use bytes::Bytes;
use contextwire_proto::{Reason, v1};
use prost::Message as _;
use tonic::Status;

use super::fields::{
    assemble_of, call_of, has, ingest_of, is_stream, refusal, refuse_if, start_of, without,
};
use super::{Change, Exchange, Mutant, NONE, mutant};
use crate::request::FOREIGN;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "fails-on-unknown-fields",
        &["R5.1"],
        "an unknown field is an engine failure",
        &["E-FLD-01"],
        calls(|exchange| refuse_if(has_foreign(exchange), Reason::EngineFailure)),
    ),
    Mutant {
        is_strict: true,
        ..mutant(
            "names-one-field",
            &["R5.6"],
            "names the first unknown field alone",
            &["E-FLD-06"],
            Change {
                failure: Some(name_one),
                ..NONE
            },
        )
    },
    Mutant {
        is_strict: true,
        ..mutant(
            "acts-before-it-refuses",
            &["R5.4", "R5.6"],
            "refuses a call after its effect",
            &["E-FLD-05", "E-FLD-07"],
            Change {
                request: Some(strip),
                response: Some(refuse_late),
                ..NONE
            },
        )
    },
    mutant(
        "refuses-settings",
        &["R5.3"],
        "refuses runtime settings",
        &["E-FLD-08"],
        calls(|exchange| {
            let holds = assemble_of(exchange).is_some_and(|it| it.runtime_settings.is_some());
            refuse_if(holds, Reason::InvalidRequest)
        }),
    ),
    mutant(
        "ignores-must-understand",
        &["R5.4"],
        "serves calls that it does not understand",
        &["E-FLD-02", "E-FLD-04"],
        Change {
            context: Some(|call| call.must_understand.clear()),
            ..NONE
        },
    ),
    mutant(
        "understands-nothing",
        &["R5.4"],
        "refuses every name in must_understand",
        &["E-FLD-03"],
        calls(|exchange| {
            refuse_if(
                !call_of(exchange).must_understand.is_empty(),
                Reason::NotUnderstood,
            )
        }),
    ),
    mutant(
        "refuses-empty-texts",
        &["R2.1"],
        "refuses a message without a text",
        &["E-HKS-05"],
        ingests(|it| contains(it, br#""content":"""#)),
    ),
    mutant(
        "closed-roles",
        &["R4.3"],
        "refuses roles that it does not know",
        &["E-HKS-06"],
        ingests(|it| it.role.starts_with("x-")),
    ),
    mutant(
        "strict-json",
        &["R2.1", "R2.2"],
        "parses payloads strictly",
        &["E-SIZ-13", "E-HKS-05"],
        ingests(|it| contains(it, br"\ud800")),
    ),
    mutant(
        "shallow-json",
        &["R2.1"],
        "refuses payloads that nest deeply",
        &["E-SIZ-11"],
        ingests(|it| contains(it, &[b'['; 200])),
    ),
    mutant(
        "small-messages",
        &["R2.5"],
        "takes one megabyte and no more",
        &["E-SIZ-01"],
        calls(|exchange| refuse_if(exchange.first.len() > 1 << 20, Reason::MessageTooLarge)),
    ),
    mutant(
        "small-metadata",
        &["R1.10"],
        "refuses metadata of 4 KiB",
        &["E-SIZ-12"],
        calls(|exchange| refuse_if(exchange.metadata_bytes > 4096, Reason::InvalidRequest)),
    ),
    mutant(
        "ids-are-file-names",
        &["R1.9"],
        "fails on ids with a path in them",
        &["E-SEC-10"],
        calls(|exchange| {
            let session = call_of(exchange).session.unwrap_or_default();
            refuse_if(session.session_id.contains(".."), Reason::EngineFailure)
        }),
    ),
    mutant(
        "no-empty-lists",
        &["R3.10"],
        "refuses an empty list",
        &["E-HKS-34"],
        calls(|exchange| {
            let list = assemble_of(exchange).and_then(|it| it.transcript);
            refuse_if(
                list.is_some_and(|it| it.segments.is_empty() && it.base == it.head),
                Reason::InvalidRequest,
            )
        }),
    ),
    mutant(
        "closed-targets",
        &["R4.3"],
        "refuses compaction targets that it does not know",
        &["E-HKS-36"],
        calls(|exchange| {
            let start = v1::CompactStart::decode(start_of(exchange)).unwrap_or_default();
            refuse_if(
                exchange.method == "Compact" && start.compaction_target == 77,
                Reason::InvalidRequest,
            )
        }),
    ),
    mutant(
        "burns-hook-ids",
        &["R7.8"],
        "serves no second attempt",
        &["E-TIM-09"],
        calls(|exchange| refuse_if(call_of(exchange).attempt > 1, Reason::HookClosed)),
    ),
    mutant(
        "orders-reads",
        &["R7.9"],
        "refuses reads that carry a pair",
        &["E-IDM-13"],
        calls(|exchange| {
            let holds = exchange.method == "Assemble" && call_of(exchange).session_seq.is_some();
            refuse_if(holds, Reason::GenerationConflict)
        }),
    ),
    mutant(
        "no-parts",
        &["R3.4"],
        "takes no list in parts",
        &["E-SYN-03"],
        calls(|exchange| {
            let list = assemble_of(exchange).and_then(|it| it.transcript);
            refuse_if(list.is_some_and(|it| it.more), Reason::InvalidRequest)
        }),
    ),
];

const fn calls(call: super::OnCall) -> Change {
    Change {
        call: Some(call),
        ..NONE
    }
}

/// Refuses an Ingest and an Assemble of such a message.
const fn ingests(refuses: fn(&v1::Message) -> bool) -> Change {
    Change {
        refuses: Some(refuses),
        ..NONE
    }
}

fn contains(message: &v1::Message, part: &[u8]) -> bool {
    message
        .payload
        .windows(part.len())
        .any(|window| window == part)
}

/// What a mutant that refuses such messages says of a call.
pub(super) fn refused(
    refuses: fn(&v1::Message) -> bool,
    exchange: &Exchange,
) -> Option<Result<Bytes, Status>> {
    refuse_if(
        ingest_of(exchange).is_some_and(|it| refuses(&it)),
        Reason::InvalidRequest,
    )
}

fn has_foreign(exchange: &Exchange) -> bool {
    if is_stream(&exchange.method) {
        has(&start_of(exchange), FOREIGN)
    } else {
        has(&exchange.first, FOREIGN)
    }
}

fn strip(exchange: &mut Exchange, message: Bytes) -> Vec<Bytes> {
    let call = call_of(exchange);
    exchange.is_marked =
        exchange.method == "Ingest" && (has(&message, FOREIGN) || !call.must_understand.is_empty());
    if !exchange.is_marked {
        return vec![message];
    }
    let message = without(&message, FOREIGN);
    vec![super::fields::edit_call(exchange, &message, |call| {
        call.must_understand.clear();
    })]
}

fn refuse_late(exchange: &Exchange, message: Bytes) -> Result<Vec<Bytes>, Status> {
    if !exchange.is_marked {
        return Ok(vec![message]);
    }
    Err(refusal(if has_foreign(exchange) {
        Reason::UnknownField
    } else {
        Reason::NotUnderstood
    }))
}

fn name_one(_: &Exchange, status: Status) -> Result<Vec<Bytes>, Status> {
    let mut named = contextwire_proto::status::violations(&status);
    if named.len() < 2 {
        return Err(status);
    }
    named.truncate(1);
    let refusal = contextwire_proto::Refusal::new(Reason::UnknownField, status.message());
    let refusal = named.into_iter().fold(refusal, |it, named| {
        it.violation(named.field, named.description)
    });
    Err(refusal.into_status())
}
