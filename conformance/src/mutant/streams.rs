//! Mutants of streams: frames, cancels and calls back.

use bytes::Bytes;
use contextwire_proto::{Reason, v1};
use prost::Message as _;
use tonic::Status;

use super::fields::{edit, has, is_stream, refusal, typed};
use super::{Change, Exchange, Mutant, NONE, mutant};
use crate::probe::field;

const RESULT: u32 = 1;
const HOST_CALL: u32 = 2;
const NEED: u32 = 4;

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "two-results",
        &["R1.3"],
        "says its result twice",
        &["E-FRM-04"],
        says(|exchange, message| {
            let is_result = is_result(exchange, &message);
            Ok(if is_result {
                vec![message.clone(), message]
            } else {
                vec![message]
            })
        }),
    ),
    mutant(
        "no-result",
        &["R1.3"],
        "ends with OK and no result",
        &["E-FRM-04"],
        says(|exchange, message| {
            Ok(if is_result(exchange, &message) {
                Vec::new()
            } else {
                vec![message]
            })
        }),
    ),
    mutant(
        "speaks-after-its-result",
        &["R1.3"],
        "reports progress after its result",
        &["E-FRM-04"],
        says(|exchange, message| {
            let progress = field(3, &v1::Progress::default().encode_to_vec());
            Ok(if is_result(exchange, &message) {
                vec![message, progress]
            } else {
                vec![message]
            })
        }),
    ),
    mutant(
        "fails-on-stray-answers",
        &["R1.6"],
        "an answer that nobody waits for is an engine failure",
        &["E-FRM-09"],
        Change {
            request: Some(|exchange, message| {
                exchange.is_marked |= is_stream(&exchange.method) && has(&message, 3);
                vec![message]
            }),
            response: Some(|exchange, message| {
                if exchange.is_marked && is_result(exchange, &message) {
                    return Err(refusal(Reason::EngineFailure));
                }
                Ok(vec![message])
            }),
            ..NONE
        },
    ),
    mutant(
        "waits-for-half-close",
        &["R1.3"],
        "answers only after the host has closed its side",
        &["E-FRM-20"],
        Change {
            waits_for_half_close: true,
            ..NONE
        },
    ),
    mutant(
        "never-hears-half-close",
        &["R1.4", "R3.6"],
        "asks a host that has closed its side, and waits",
        &["E-CBK-08", "E-FRM-08"],
        Change {
            hides_half_close: true,
            ..NONE
        },
    ),
    mutant(
        "ignores-cancels",
        &["R1.5"],
        "hears no cancel",
        &["E-TIM-04", "E-TIM-05", "E-TIM-07", "E-TIM-08"],
        Change {
            request: Some(|exchange, message| {
                let is_cancel =
                    is_stream(&exchange.method) && has(&message, 4) && !has(&message, 1);
                if is_cancel { Vec::new() } else { vec![message] }
            }),
            ..NONE
        },
    ),
    mutant(
        "no-deadlines",
        &["R7.1"],
        "has all the time of the world",
        &["E-TIM-01"],
        Change {
            context: Some(|call| call.budget_ms = 0),
            ..NONE
        },
    ),
    mutant(
        "calls-without-bound",
        &["R1.6"],
        "opens five calls back at once",
        &["E-CBK-01"],
        says(|exchange, message| {
            if !is_call(exchange, &message) {
                return Ok(vec![message]);
            }
            let other = |n: usize| named(&message, &format!("another call {n}"));
            Ok((1..5).map(other).chain([message.clone()]).collect())
        }),
    ),
    mutant(
        "forwards-host-errors",
        &["R6.5"],
        "a failed call back becomes the hook's own status",
        &["E-CBK-04"],
        Change {
            request: Some(|exchange, message| {
                exchange.is_marked |= is_stream(&exchange.method) && has(&message, 3);
                vec![message]
            }),
            response: Some(|exchange, message| {
                if exchange.is_marked {
                    return Err(Status::unavailable("the model is away"));
                }
                Ok(vec![message])
            }),
            ..NONE
        },
    ),
    mutant(
        "fresh-call-ids",
        &["R1.6"],
        "asks for equal work under another id",
        &["E-CBK-06"],
        says(|exchange, message| {
            if is_call(exchange, &message) {
                return Ok(vec![named(&message, &uuid::Uuid::now_v7().to_string())]);
            }
            Ok(vec![message])
        }),
    ),
    mutant(
        "patient-calls",
        &["R7.1"],
        "gives a call back an hour",
        &["E-CBK-11"],
        says(|exchange, message| {
            if !is_call(exchange, &message) {
                return Ok(vec![message]);
            }
            Ok(vec![edit(&message, &[HOST_CALL], &|call| {
                typed(call, |it: &mut v1::HostCall| it.timeout_ms = 3_600_000)
            })])
        }),
    ),
    mutant(
        "asks-with-a-wrong-seq",
        &["R3.6"],
        "asks for a list with another seq than the next",
        &["E-SYN-05"],
        says(|exchange, message| Ok(vec![needing(exchange, &message, 3)])),
    ),
    mutant(
        "asks-for-ever",
        &["R3.6"],
        "asks three times for one list",
        &["E-SYN-09"],
        says(|exchange, message| {
            if !(is_stream(&exchange.method) && has(&message, NEED)) {
                return Ok(vec![message]);
            }
            Ok((0..3)
                .map(|more| needing(exchange, &message, more))
                .collect())
        }),
    ),
];

const fn says(response: super::OnResponse) -> Change {
    Change {
        response: Some(response),
        ..NONE
    }
}

fn is_result(exchange: &Exchange, message: &Bytes) -> bool {
    is_stream(&exchange.method) && has(message, RESULT)
}

fn is_call(exchange: &Exchange, message: &Bytes) -> bool {
    is_stream(&exchange.method) && has(message, HOST_CALL)
}

fn named(message: &Bytes, id: &str) -> Bytes {
    edit(message, &[HOST_CALL], &|call| {
        typed(call, |it: &mut v1::HostCall| id.clone_into(&mut it.call_id))
    })
}

fn needing(exchange: &Exchange, message: &Bytes, more: u32) -> Bytes {
    if !is_stream(&exchange.method) {
        return message.clone();
    }
    edit(message, &[NEED], &|need| {
        typed(need, |it: &mut v1::NeedTranscript| it.seq += more)
    })
}
