//! The corners of a message.

use std::collections::HashMap;

use bytes::Bytes;
use contextwire_proto::limits::PROTOCOL;
use prost::Message as _;
use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage, Value,
};

/// A message at one of its corners.
#[derive(Clone, Debug)]
pub(crate) struct Corner {
    pub(crate) name: String,
    pub(crate) why: String,
    pub(crate) bytes: Vec<u8>,
}

/// A number that no enum has.
const UNKNOWN_NUMBER: i32 = 77;

/// Field 2047, a varint: nobody knows it.
const UNKNOWN_TAG: &[u8] = b"\xf8\x7f\x01";

/// Every corner that the message has, the full ones first.
pub(crate) fn corners(message: &MessageDescriptor) -> Vec<Corner> {
    let mut corners = full_ones(message);
    let corner = |name: &str, why: &str, value: &DynamicMessage| Corner {
        name: name.to_owned(),
        why: why.to_owned(),
        bytes: value.encode_to_vec(),
    };
    let whole = full(message, None);
    corners.push(corner(
        "bare",
        "nothing set: what is optional is absent",
        &DynamicMessage::new(message.clone()),
    ));
    if let Some(zeros) = zeros(message) {
        let why = "optional numbers and texts are there and zero, which is not absent";
        corners.push(corner("zeros", why, &zeros));
    }
    if let Some(newer) = unknown_numbers(message) {
        let why = "enums have a number that nobody knows";
        corners.push(corner("unknown_numbers", why, &newer));
    }
    for (minor, older) in projected(&whole) {
        let why = format!("what an engine of minor {minor} is sent");
        corners.push(corner(&format!("minor_{minor}"), &why, &older));
    }
    let mut unknown = corner("unknown_tag", "a field of a newer minor is skipped", &whole);
    unknown.bytes.extend_from_slice(UNKNOWN_TAG);
    corners.push(unknown);
    corners
}

/// One with everything set; where the message is a choice, one for each.
fn full_ones(message: &MessageDescriptor) -> Vec<Corner> {
    let choices = message.fields().filter(is_choice);
    let choices: Vec<_> = choices.map(|field| field.name().to_owned()).collect();
    if choices.is_empty() {
        return vec![Corner {
            name: "full".to_owned(),
            why: "everything set".to_owned(),
            bytes: full(message, None).encode_to_vec(),
        }];
    }
    let corner = |choice: String| Corner {
        bytes: full(message, Some(&choice)).encode_to_vec(),
        why: format!("everything set, with `{choice}`"),
        name: choice,
    };
    choices.into_iter().map(corner).collect()
}

fn is_choice(field: &FieldDescriptor) -> bool {
    field
        .containing_oneof()
        .is_some_and(|oneof| !oneof.is_synthetic())
}

/// Everything set; of a choice the named field, else the first.
fn full(message: &MessageDescriptor, choice: Option<&str>) -> DynamicMessage {
    let mut value = DynamicMessage::new(message.clone());
    let mut chosen = false;
    for field in message.fields() {
        if is_choice(&field) {
            let wanted = choice.map_or(!chosen, |choice| choice == field.name());
            if !wanted {
                continue;
            }
            chosen = true;
        }
        // Says that there is no list, which rules the other fields out.
        if field.name() != "unavailable" {
            value.set_field(&field, of_field(&field));
        }
    }
    value
}

fn of_field(field: &FieldDescriptor) -> Value {
    if field.is_map() {
        let key = MapKey::String("locale".to_owned());
        return Value::Map(HashMap::from([(key, Value::Bytes(r#""en""#.into()))]));
    }
    let one = single(field);
    if field.is_list() {
        Value::List(vec![one])
    } else {
        one
    }
}

/// Different for every field, so that two that change places are noticed.
fn single(field: &FieldDescriptor) -> Value {
    let number = field.number() * 100 + 7;
    match field.kind() {
        Kind::Bool => Value::Bool(true),
        Kind::Uint32 => Value::U32(number),
        Kind::Uint64 => Value::U64(number.into()),
        Kind::Int64 => Value::I64(number.into()),
        Kind::Double => Value::F64(f64::from(number) / 8.0),
        Kind::String => Value::String(text(field)),
        Kind::Bytes => Value::Bytes(bytes(field)),
        Kind::Enum(numbers) => Value::EnumNumber(last(&numbers)),
        Kind::Message(message) => Value::Message(full(&message, None)),
        other @ (Kind::Float
        | Kind::Int32
        | Kind::Sint32
        | Kind::Sint64
        | Kind::Fixed32
        | Kind::Fixed64
        | Kind::Sfixed32
        | Kind::Sfixed64) => unreachable!("the contract has no {other:?}"),
    }
}

fn text(field: &FieldDescriptor) -> String {
    match field.name() {
        "hook_id" => "019b2e5c-7a10-7c3e-9f4b-2d6f0a1b3c4d".to_owned(),
        "abandoned_hooks" => "019b2e5c-7a10-7c3e-9f4b-2d6f0a1b3c4e".to_owned(),
        "methods" => "CommitTurn".to_owned(),
        name => format!("{}-{}", name.replace('_', "-"), field.number()),
    }
}

fn bytes(field: &FieldDescriptor) -> Bytes {
    match field.name() {
        "chain" | "sha256" | "digest" => Bytes::from(vec![0xc5; 32]),
        "payload" => r#"{"role":"user","content":"one","n":1e400}"#.into(),
        "details" | "prompt_cache" => r#"{"a":[1]}"#.into(),
        other => unreachable!("{other} needs a value"),
    }
}

/// The last number: never the one that stands for absent.
fn last(numbers: &EnumDescriptor) -> i32 {
    numbers
        .values()
        .map(|value| value.number())
        .max()
        .unwrap_or_default()
}

/// Optional numbers and texts present and zero; `None` where the message has none.
fn zeros(message: &MessageDescriptor) -> Option<DynamicMessage> {
    let mut value = DynamicMessage::new(message.clone());
    let optional = |field: &FieldDescriptor| {
        field.supports_presence() && !is_choice(field) && field.kind().as_message().is_none()
    };
    for field in message.fields().filter(optional) {
        value.set_field(&field, Value::default_value_for_field(&field));
    }
    (value.encoded_len() > 0).then_some(value)
}

/// Everything set and the message's own enums unknown; `None` where it has none.
fn unknown_numbers(message: &MessageDescriptor) -> Option<DynamicMessage> {
    let mut value = full(message, None);
    let mut any = false;
    for field in message.fields() {
        if field.kind().as_enum().is_some() {
            value.set_field(&field, Value::EnumNumber(UNKNOWN_NUMBER));
            any = true;
        }
    }
    any.then_some(value)
}

/// The message as each older engine that knows it gets it, with that engine's minor; none where
/// nothing in it is newer, or it never goes to an engine.
fn projected(whole: &DynamicMessage) -> Vec<(u32, DynamicMessage)> {
    let message = whole.descriptor();
    let Some(born) = message.fields().filter_map(|field| since(&field)).min() else {
        return Vec::new();
    };
    let of_minor = |minor| {
        let mut older = whole.clone();
        clear_newer(&mut older, minor);
        (older != *whole).then_some((minor, older))
    };
    (born..PROTOCOL.minor).filter_map(of_minor).collect()
}

fn clear_newer(value: &mut DynamicMessage, minor: u32) {
    for field in value.descriptor().fields() {
        if !value.has_field(&field) {
            continue;
        }
        if since(&field).is_some_and(|since| since > minor) {
            value.clear_field(&field);
            continue;
        }
        if field.is_map() {
            continue;
        }
        let inner = value.get_field_mut(&field);
        if let Value::Message(inner) = inner {
            clear_newer(inner, minor);
        } else if let Value::List(items) = inner {
            let inner = items.iter_mut().filter_map(Value::as_message_mut);
            inner.for_each(|inner| clear_newer(inner, minor));
        }
    }
}

fn since(field: &FieldDescriptor) -> Option<u32> {
    crate::options::since(field)
}
