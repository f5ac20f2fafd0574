//! Every message of the contract in its corners, derived from the descriptor: one file a message in
//! `vectors/every/`, so that a field without a vector cannot exist.

mod domain;
mod make;
mod types;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use contextwire_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::{Value, json};

pub(crate) use make::Corner;
use make::corners;
use types::{TYPES, again};

use crate::golden::hex;

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/every")
}

fn pool() -> DescriptorPool {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap()
}

/// The contract's own messages, in the order of their names.
fn messages(pool: &DescriptorPool) -> Vec<MessageDescriptor> {
    let ours = pool
        .all_messages()
        .filter(|message| message.package_name() == "contextengine.v1" && !message.is_map_entry());
    let mut ours: Vec<_> = ours.collect();
    ours.sort_by(|a, b| a.name().cmp(b.name()));
    ours
}

/// `AfterTurn` as `after_turn`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn json_view(message: &MessageDescriptor, bytes: &[u8]) -> Value {
    let dynamic = DynamicMessage::decode(message.clone(), bytes).unwrap();
    dynamic
        .serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new())
        .unwrap()
}

fn render(message: &MessageDescriptor) -> String {
    let vector = |corner: Corner| {
        json!({
            "name": corner.name,
            "why": corner.why,
            "bytes": hex(&corner.bytes),
            "json": json_view(message, &corner.bytes),
        })
    };
    let vectors: Vec<_> = corners(message).into_iter().map(vector).collect();
    let file = json!({ "message": message.full_name(), "vectors": vectors });
    let mut text = serde_json::to_string_pretty(&file).unwrap();
    text.push('\n');
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the switch of every golden test")]
fn every_message_has_its_golden_vectors() {
    let update = env::var("UPDATE_GOLDEN").is_ok();
    let mut names = BTreeSet::new();
    for message in messages(&pool()) {
        let file = format!("{}.json", snake(message.name()));
        let path = folder().join(&file);
        let text = render(&message);
        if update {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(golden, text, "{file}: run with UPDATE_GOLDEN=1 and review");
        names.insert(file);
    }
    let files = fs::read_dir(folder()).unwrap();
    let files: BTreeSet<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, names, "a file has no message");
}

#[test]
fn the_listed_types_are_those_of_the_descriptor() {
    let pool = pool();
    let names: Vec<_> = messages(&pool)
        .iter()
        .map(|message| message.name().to_owned())
        .collect();
    assert_eq!(TYPES, names);
}

#[test]
fn generated_types_write_the_bytes_of_every_message_again() {
    for message in messages(&pool()) {
        for corner in corners(&message) {
            let again = again(message.name(), &corner.bytes).unwrap();
            let (name, corner_name) = (message.name(), &corner.name);
            if corner.name == "unknown_tag" {
                // Generated types forget what they do not know, and nothing else.
                assert!(corner.bytes.starts_with(&again), "{name} {corner_name}");
                assert!(again.len() < corner.bytes.len(), "{name} {corner_name}");
            } else {
                assert_eq!(hex(&again), hex(&corner.bytes), "{name} {corner_name}");
            }
        }
    }
}
