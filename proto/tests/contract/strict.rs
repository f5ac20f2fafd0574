//! The walk of a strict engine against the descriptor: what is known passes, what is not is found
//! where a reflecting decoder finds it.

use std::collections::BTreeSet;

use contextwire_engine::Hook;
use contextwire_proto::limits::PROTOCOL;
use contextwire_proto::schema::{self, RequestField};
use contextwire_proto::strict::{self, Fault, Findings};
use proptest::prelude::*;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, UnknownField, Value,
};

use crate::options::{is_critical, pool, root, service, since};

fn method(hook: Hook) -> MethodDescriptor {
    let service = service(&pool());
    let found = service.methods().find(|it| it.name() == hook.name());
    found.unwrap()
}

fn start(hook: Hook) -> MessageDescriptor {
    root(&method(hook))
}

fn paths(findings: &Findings) -> Vec<String> {
    findings.kept().map(|it| it.path.clone()).collect()
}

fn delimited(number: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut bytes);
    encode_varint(value.len() as u64, &mut bytes);
    bytes.extend(value);
    bytes
}

/// A field with this number or these bytes as its value.
fn scalar(field: &FieldDescriptor, number: u64, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match field.kind() {
        Kind::String | Kind::Bytes | Kind::Message(_) => return delimited(field.number(), text),
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => {
            encode_key(field.number(), WireType::SixtyFourBit, &mut bytes);
            bytes.extend(number.to_le_bytes());
        }
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => {
            encode_key(field.number(), WireType::ThirtyTwoBit, &mut bytes);
            bytes.extend([1, 2, 3, 4]);
        }
        Kind::Int32
        | Kind::Int64
        | Kind::Uint32
        | Kind::Uint64
        | Kind::Sint32
        | Kind::Sint64
        | Kind::Bool
        | Kind::Enum(_) => {
            encode_key(field.number(), WireType::Varint, &mut bytes);
            encode_varint(number, &mut bytes);
        }
    }
    bytes
}

/// A message with the fields whose paths are wanted.
fn of_paths(message: &MessageDescriptor, outer: &str, wanted: &dyn Fn(&str) -> bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in message.fields() {
        let dot = if outer.is_empty() { "" } else { "." };
        let path = format!("{outer}{dot}{}", field.name());
        if !wanted(&path) {
            continue;
        }
        let kind = field.kind();
        bytes.extend(match kind.as_message() {
            Some(entry) if field.is_map() => {
                delimited(field.number(), &of_paths(entry, "", &|_| true))
            }
            Some(inner) => delimited(field.number(), &of_paths(inner, &path, wanted)),
            None => scalar(&field, 1, b"x"),
        });
    }
    bytes
}

/// A request, or the start of one, with the fields whose paths are wanted.
fn sent(hook: Hook, wanted: &dyn Fn(&str) -> bool) -> Vec<u8> {
    let fields = of_paths(&start(hook), "", wanted);
    if hook.profile().streaming {
        delimited(1, &fields)
    } else {
        fields
    }
}

fn is_at_or_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn walk(hook: Hook, minor: u32, bytes: &[u8]) -> Vec<String> {
    paths(&strict::unknown_fields(hook, minor, bytes).unwrap())
}

#[test]
fn the_tables_say_what_the_descriptor_says() {
    fn collect(message: &MessageDescriptor, outer: &str, found: &mut Vec<RequestField>) {
        let mut fields: Vec<_> = message.fields().collect();
        fields.sort_by_key(FieldDescriptor::number);
        for field in fields {
            let path = format!("{outer}{}", field.name());
            found.push(RequestField {
                path: path.clone(),
                since: since(&field).unwrap(),
                critical: is_critical(&field),
            });
            if let (Kind::Message(inner), false) = (field.kind(), field.is_map()) {
                collect(&inner, &format!("{path}."), found);
            }
        }
    }
    for hook in Hook::ALL {
        let mut described = Vec::new();
        collect(&start(hook), "", &mut described);
        assert_eq!(schema::fields(hook), described, "{hook}");
    }
}

#[test]
fn e_fld_08_every_declared_field_passes_alone_and_all_together() {
    for hook in Hook::ALL {
        assert_eq!(
            walk(hook, PROTOCOL.minor, &sent(hook, &|_| true)),
            [""; 0],
            "{hook}"
        );
        for field in schema::fields(hook) {
            let alone = sent(hook, &|path| is_at_or_inside(&field.path, path));
            assert_eq!(
                walk(hook, PROTOCOL.minor, &alone),
                [""; 0],
                "{hook}: {}",
                field.path
            );
        }
    }
}

#[test]
fn e_fld_09_a_request_without_what_is_newer_passes_an_old_strict_engine() {
    for (hook, minor) in Hook::ALL
        .into_iter()
        .flat_map(|hook| (0..=3).map(move |it| (hook, it)))
    {
        // An engine of an older minor does not have the method at all.
        let minor = minor.max(schema::method_since(hook));
        let newer = schema::newer_than(hook, minor);
        let known = |path: &str| !newer.iter().any(|it| is_at_or_inside(path, &it.path));
        assert_eq!(
            walk(hook, minor, &sent(hook, &known)),
            [""; 0],
            "{hook} {minor}"
        );
        for field in &newer {
            let alone = sent(hook, &|path| is_at_or_inside(&field.path, path));
            let found = walk(hook, minor, &alone);
            let resolved: Vec<_> = found.iter().map(|path| schema::field(hook, path)).collect();
            assert_eq!(resolved, [Some(field.clone())], "{hook} {minor}: {found:?}");
        }
    }
}

/// Where a decoder that keeps unknown fields has them.
fn reflected(hook: Hook, message: &DynamicMessage) -> Vec<String> {
    fn collect(message: &DynamicMessage, outer: &str, found: &mut Vec<String>) {
        let numbers = message.unknown_fields().map(UnknownField::number);
        found.extend(numbers.map(|number| format!("{outer}#{number}")));
        for (field, value) in message.fields() {
            if let Some(inner) = value.as_message() {
                collect(inner, &format!("{outer}{}.", field.name()), found);
            }
            let items = value.as_list().unwrap_or_default();
            let items = items.iter().filter_map(Value::as_message).enumerate();
            for (index, item) in items {
                collect(item, &format!("{outer}{}[{index}].", field.name()), found);
            }
        }
    }
    let mut found = Vec::new();
    collect(message, "", &mut found);
    if hook.profile().streaming {
        found = found
            .into_iter()
            .map(|path| match path.strip_prefix("start.") {
                Some(path) => path.to_owned(),
                None if path.starts_with('#') => format!("frame.{path}"),
                None => path,
            })
            .collect();
    }
    found.sort_unstable();
    found
}

/// What the walk finds, without what such a decoder drops: unknown fields of the entries of maps.
fn walked(hook: Hook, bytes: &[u8]) -> Option<(Vec<String>, bool)> {
    let findings = strict::unknown_fields(hook, PROTOCOL.minor, bytes).ok()?;
    let wrong = findings.kept().any(|it| it.fault != Fault::Unknown);
    let mut paths = paths(&findings);
    paths.retain(|path| !path.contains("extra["));
    paths.sort_unstable();
    Some((paths, wrong))
}

/// Numbers that a test takes one after the other, zeros at the end.
struct Dice(std::vec::IntoIter<u8>);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % limit
    }
}

/// A field that no message has, of any type.
fn foreign(dice: &mut Dice) -> Vec<u8> {
    let number = 60_000 + u32::try_from(dice.below(3)).unwrap();
    let mut bytes = Vec::new();
    match dice.below(4) {
        0 => return delimited(number, b"\xff\xff"),
        1 => {
            encode_key(number, WireType::Varint, &mut bytes);
            encode_varint(u64::MAX, &mut bytes);
        }
        2 => {
            encode_key(number, WireType::ThirtyTwoBit, &mut bytes);
            bytes.extend([0; 4]);
        }
        _ => {
            encode_key(number, WireType::StartGroup, &mut bytes);
            bytes.extend(delimited(1, b"inside"));
            encode_key(number, WireType::EndGroup, &mut bytes);
        }
    }
    bytes
}

/// A message of random fields, each at most once unless it is a list, with foreign ones among them.
fn random(message: &MessageDescriptor, dice: &mut Dice, depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chosen = BTreeSet::new();
    for field in message.fields() {
        let alternative = field
            .containing_oneof()
            .map(|oneof| oneof.name().to_owned());
        let mut times = match dice.below(4) {
            3 if field.is_list() || field.is_map() => 3,
            0 => 0,
            _ => 1,
        };
        if alternative.is_some_and(|name| times > 0 && !chosen.insert(name)) {
            times = 0;
        }
        for _ in 0..times {
            bytes.extend(match field.kind().as_message() {
                Some(inner) if depth > 0 => {
                    delimited(field.number(), &random(inner, dice, depth - 1))
                }
                Some(_) => delimited(field.number(), &[]),
                None => scalar(&field, dice.below(200) as u64, b"text"),
            });
        }
        if dice.below(8) == 1 {
            bytes.extend(foreign(dice));
        }
    }
    bytes
}

fn dice() -> impl Strategy<Value = Dice> {
    prop::collection::vec(any::<u8>(), 0..300).prop_map(|rolls| Dice(rolls.into_iter()))
}

fn hooks() -> impl Strategy<Value = Hook> {
    prop::sample::select(Hook::ALL.to_vec())
}

impl std::fmt::Debug for Dice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Dice").field(&self.0.as_slice()).finish()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_walk_finds_what_a_reflecting_decoder_finds(hook in hooks(), mut dice in dice()) {
        let request = method(hook).input();
        let bytes = random(&request, &mut dice, 5);
        let decoded = DynamicMessage::decode(request, &*bytes).unwrap();
        let (found, wrong) = walked(hook, &bytes).unwrap();
        // More are counted than kept.
        prop_assume!(found.len() < 100);
        prop_assert!(!wrong);
        prop_assert_eq!(found, reflected(hook, &decoded));
    }

    #[test]
    fn nothing_unknown_gets_past_the_walk_in_bytes_that_were_changed(
        hook in hooks(),
        mut dice in dice(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let request = method(hook).input();
        let mut bytes = random(&request, &mut dice, 5);
        prop_assume!(!bytes.is_empty());
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let walked = walked(hook, &bytes);
        // What cannot be decoded has values that are not the walk's business: texts that are no
        // UTF-8, packed numbers.
        if let Ok(decoded) = DynamicMessage::decode(request, &*bytes) {
            let (found, wrong) = walked.expect("a decoder can read it");
            prop_assert!(!wrong);
            let found: BTreeSet<_> = found.into_iter().collect();
            // An earlier alternative of a oneof is lost in decoding, with what is unknown in it.
            for path in reflected(hook, &decoded) {
                prop_assert!(found.contains(&path), "{path}");
            }
        }
    }
}
