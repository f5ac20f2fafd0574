//! Changes inside of messages that leave everything else as it is, unknown fields included.

use bytes::{Buf, Bytes, BytesMut};
use contextwire_proto::{Reason, Refusal, v1};
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;

use super::{Change, Exchange};
use crate::probe::field;

/// Whether a method is a stream of frames.
pub(super) fn is_stream(method: &str) -> bool {
    ["Bootstrap", "Assemble", "Compact", "AfterTurn", "Maintain"].contains(&method)
}

/// The fields of a message as they are: number, type, everything with the key, the value alone.
pub(super) fn split(message: &Bytes) -> Vec<(u32, WireType, Bytes, Bytes)> {
    let mut found = Vec::new();
    let mut rest = message.clone();
    while rest.has_remaining() {
        let whole = rest.clone();
        let Ok((number, kind)) = decode_key(&mut rest) else {
            return found;
        };
        let mut inside = rest.clone();
        if kind == WireType::LengthDelimited && decode_varint(&mut inside).is_err() {
            return found;
        }
        if skip_field(kind, number, &mut rest, DecodeContext::default()).is_err() {
            return found;
        }
        let len = whole.len() - rest.len();
        let inner = inside.len() - rest.len();
        found.push((number, kind, whole.slice(..len), inside.slice(..inner)));
    }
    found
}

/// Whether a field is there.
pub(super) fn has(message: &Bytes, number: u32) -> bool {
    split(message).iter().any(|(found, ..)| *found == number)
}

/// The message with the value at this path changed.
pub(super) fn edit(message: &Bytes, path: &[u32], change: &dyn Fn(Bytes) -> Bytes) -> Bytes {
    let Some((number, rest)) = path.split_first() else {
        return change(message.clone());
    };
    let mut out = BytesMut::new();
    for (found, kind, whole, value) in split(message) {
        if found == *number && kind == WireType::LengthDelimited {
            out.extend_from_slice(&field(found, &edit(&value, rest, change)));
        } else {
            out.extend_from_slice(&whole);
        }
    }
    out.freeze()
}

/// The message without a field at its top.
pub(super) fn without(message: &Bytes, number: u32) -> Bytes {
    let kept = split(message)
        .into_iter()
        .filter(|(found, ..)| *found != number);
    kept.fold(BytesMut::new(), |mut out, (_, _, whole, _)| {
        out.extend_from_slice(&whole);
        out
    })
    .freeze()
}

/// The same bytes with a value of a type changed.
pub(super) fn typed<M: Message + Default>(bytes: Bytes, change: impl FnOnce(&mut M)) -> Bytes {
    let Ok(mut message) = M::decode(bytes.clone()) else {
        return bytes;
    };
    change(&mut message);
    message.encode_to_vec().into()
}

/// A request with its call changed.
pub(super) fn edit_call(
    exchange: &Exchange,
    message: &Bytes,
    change: fn(&mut v1::CallContext),
) -> Bytes {
    let path: &[u32] = if is_stream(&exchange.method) {
        &[1, 1]
    } else if exchange.method == "Describe" || exchange.method.starts_with('/') {
        return message.clone();
    } else {
        &[1]
    };
    edit(message, path, &|call| typed(call, change))
}

/// The call of the first message.
pub(super) fn call_of(exchange: &Exchange) -> v1::CallContext {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Request {
        #[prost(message, optional, tag = "1")]
        call: Option<v1::CallContext>,
    }
    let root = if is_stream(&exchange.method) {
        start_of(exchange)
    } else {
        exchange.first.clone()
    };
    Request::decode(root)
        .ok()
        .and_then(|it| it.call)
        .unwrap_or_default()
}

/// The start of a stream's first frame.
pub(super) fn start_of(exchange: &Exchange) -> Bytes {
    let fields = split(&exchange.first);
    let start = fields.into_iter().find(|(number, ..)| *number == 1);
    start.map(|(.., value)| value).unwrap_or_default()
}

/// The Assemble that began the call.
pub(super) fn assemble_of(exchange: &Exchange) -> Option<v1::AssembleStart> {
    let is_assemble = exchange.method == "Assemble";
    is_assemble.then(|| v1::AssembleStart::decode(start_of(exchange)).unwrap_or_default())
}

/// The message that an Ingest carries.
pub(super) fn ingest_of(exchange: &Exchange) -> Option<v1::Message> {
    if exchange.method != "Ingest" {
        return None;
    }
    v1::IngestRequest::decode(exchange.first.clone())
        .ok()?
        .message
}

/// A failure of ours.
pub(super) fn refusal(reason: Reason) -> Status {
    Refusal::new(reason, "as the mutant wants").into_status()
}

/// A refusal where it holds.
pub(super) fn refuse_if(holds: bool, reason: Reason) -> Option<Result<Bytes, Status>> {
    holds.then(|| Err(refusal(reason)))
}

/// The plainest success of the call.
pub(super) fn success(exchange: &Exchange) -> Bytes {
    let method = exchange.method.as_str();
    if let Some(start) = assemble_of(exchange) {
        let head = start.transcript.and_then(|it| it.head).unwrap_or_default();
        let keep = (head.count > 0).then(|| crate::list::keep(0, head.count));
        let messages = v1::AssembledMessages {
            segments: keep.into_iter().collect(),
            estimated_tokens: 1,
            ..v1::AssembledMessages::default()
        };
        let result = v1::AssembleResult {
            outcome: Some(v1::assemble_result::Outcome::Messages(messages)),
            ..v1::AssembleResult::default()
        };
        return field(1, &result.encode_to_vec());
    }
    if is_stream(method) {
        return field(1, b"");
    }
    match method {
        "CommitTurn" => v1::CommitTurnResponse {
            status: v1::CommitStatus::Committed.into(),
            ..v1::CommitTurnResponse::default()
        }
        .encode_to_vec()
        .into(),
        "Ingest" => v1::IngestResponse {
            ingested: true,
            ..v1::IngestResponse::default()
        }
        .encode_to_vec()
        .into(),
        _ => Bytes::new(),
    }
}

/// A word of the engine with its description or its shown messages changed.
pub(super) fn told(change: Change, exchange: &Exchange, message: Bytes) -> Bytes {
    if let Some(change) = change.info.filter(|_| exchange.method == "Describe") {
        let asked = v1::DescribeRequest::decode(exchange.first.clone()).unwrap_or_default();
        return typed(message, |it: &mut v1::DescribeResponse| {
            change(
                it.engine.get_or_insert_default(),
                &asked.host.unwrap_or_default(),
            );
        });
    }
    let (Some(change), Some(start)) = (change.shown, assemble_of(exchange)) else {
        return message;
    };
    typed(message, |it: &mut v1::AssembleResponse| {
        if let Some(v1::assemble_response::Frame::Result(result)) = &mut it.frame
            && let Some(v1::assemble_result::Outcome::Messages(messages)) = &mut result.outcome
        {
            change(messages, &start);
        }
    })
}
