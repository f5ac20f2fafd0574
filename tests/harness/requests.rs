//! Requests from the smallest that means something to one that says everything.

mod fields;

use contextwire_engine::{Hook, HookId};
use contextwire_proto::{CallContext, FILE_DESCRIPTOR_SET, limits, schema, v1};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, Kind, Value};

pub(crate) use fields::{body, settings};

use super::bare::field;
use super::{message, session, start, transcript};

/// A message and bytes after it.
pub(crate) fn with(message: &impl Message, more: &[u8]) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    bytes.extend(more);
    bytes
}

/// The first frame of a stream.
pub(crate) fn frame(start: &impl Message) -> Vec<u8> {
    field(1, &start.encode_to_vec())
}

pub(crate) fn call() -> v1::CallContext {
    CallContext::new(HookId::mint(), session("raw")).into()
}

pub(crate) fn ingest() -> v1::IngestRequest {
    let message = Some(message(0).into());
    v1::IngestRequest {
        call: Some(call()),
        message,
        is_heartbeat: false,
    }
}

pub(crate) fn assemble() -> v1::AssembleStart {
    start(&transcript(1))
}

pub(crate) fn compact() -> v1::CompactStart {
    v1::CompactStart {
        call: Some(call()),
        ..v1::CompactStart::default()
    }
}

/// The list that a hook carries.
pub(crate) fn list_of(hook: Hook) -> v1::TranscriptList {
    if hook == Hook::Assemble {
        v1::TranscriptList::View
    } else {
        v1::TranscriptList::Log
    }
}

/// The request as it is sent: the `start` of a stream in its frame.
pub(crate) fn framed(hook: Hook, request: &[u8]) -> Vec<u8> {
    if hook.profile().streaming {
        field(1, request)
    } else {
        request.to_vec()
    }
}

/// A request with every field, as it is sent.
pub(crate) fn everything(hook: Hook) -> Vec<u8> {
    framed(hook, &body(hook, true))
}

fn reflect(hook: Hook, request: &[u8]) -> DynamicMessage {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let service = pool
        .get_service_by_name("contextengine.v1.ContextEngineService")
        .unwrap();
    let input = service
        .methods()
        .find(|it| it.name() == hook.name())
        .unwrap()
        .input();
    let start = input.get_field_by_name("start").map(|it| it.kind());
    let root = match start {
        Some(Kind::Message(start)) => start,
        _ => input,
    };
    DynamicMessage::decode(root, request).unwrap()
}

/// The smallest request of a hook without one of its fields, and without its frame.
pub(crate) fn without(hook: Hook, field: &str) -> Vec<u8> {
    let mut request = reflect(hook, &body(hook, false));
    clear(&mut request, &[field]);
    request.encode_to_vec()
}

/// Messages that are one value: a half of one means nothing.
const WHOLE: [&str; 2] = ["call.log_head.", "known_projection."];

/// The smallest request with one more field, for every field that is set in the largest one and is
/// not inside of a list: paths and requests as they are sent.
pub(crate) fn one_by_one(hook: Hook) -> Vec<(String, Vec<u8>)> {
    let (least, most) = (
        reflect(hook, &body(hook, false)),
        reflect(hook, &body(hook, true)),
    );
    let paths = schema::fields(hook).into_iter().map(|field| field.path);
    let paths = paths.filter(|path| !WHOLE.iter().any(|whole| path.starts_with(whole)));
    let requests = paths.filter_map(|path| {
        let mut request = least.clone();
        let names: Vec<_> = path.split('.').collect();
        copy(&most, &mut request, &names)?;
        Some((path, framed(hook, &request.encode_to_vec())))
    });
    requests.collect()
}

/// Copies the field of a path; `None` where there is none to copy.
fn copy(from: &DynamicMessage, to: &mut DynamicMessage, names: &[&str]) -> Option<()> {
    let (name, rest) = names.split_first()?;
    if !from.has_field_by_name(name) {
        return None;
    }
    let value = from.get_field_by_name(name)?;
    if rest.is_empty() {
        to.set_field_by_name(name, value.into_owned());
        return Some(());
    }
    copy(
        value.as_message()?,
        to.get_field_by_name_mut(name)?.as_message_mut()?,
        rest,
    )
}

/// The largest request without what an engine of a minor does not have, for each minor that has the
/// method.
pub(crate) fn projections(hook: Hook) -> Vec<(u32, Vec<u8>)> {
    let minors = schema::method_since(hook)..=limits::PROTOCOL.minor;
    let requests = minors.map(|minor| {
        let mut request = reflect(hook, &body(hook, true));
        for newer in schema::newer_than(hook, minor) {
            let names: Vec<_> = newer.path.split('.').collect();
            clear(&mut request, &names);
        }
        (minor, framed(hook, &request.encode_to_vec()))
    });
    requests.collect()
}

fn clear(message: &mut DynamicMessage, names: &[&str]) {
    let (name, rest) = names.split_first().unwrap();
    if rest.is_empty() {
        assert!(
            message.has_field_by_name(name),
            "{name} is not in the largest request"
        );
        message.clear_field_by_name(name);
    } else {
        let inner = message
            .get_field_by_name_mut(name)
            .and_then(Value::as_message_mut);
        clear(inner.expect("a newer field in a list"), rest);
    }
}
