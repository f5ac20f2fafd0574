//! Golden vectors: one file each, for every language.
//!
//! `UPDATE_GOLDEN=1 cargo test -p contextwire-proto` writes them anew. A released vector never
//! changes: a difference in review is a change of the wire.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use contextwire_engine::{Message, header};
use contextwire_proto::{FILE_DESCRIPTOR_SET, v1};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Value, json};

use crate::vectors::{Vector, vectors};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The files of single vectors; those of whole messages are in a folder beside them.
fn files() -> impl Iterator<Item = PathBuf> {
    let paths = fs::read_dir(folder()).unwrap();
    paths
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Canonical proto3 JSON, as any protobuf library writes it; unknown fields do not show.
fn json_view(pool: &DescriptorPool, vector: &Vector) -> Value {
    let message = pool.get_message_by_name(vector.message).unwrap();
    let dynamic = DynamicMessage::decode(message, vector.bytes.as_slice()).unwrap();
    let options = SerializeOptions::new();
    dynamic
        .serialize_with_options(serde_json::value::Serializer, &options)
        .unwrap()
}

fn render(pool: &DescriptorPool, vector: &Vector) -> String {
    let mut file = json!({
        "name": vector.name,
        "why": vector.why,
        "message": vector.message,
        "bytes": hex(&vector.bytes),
        "json": json_view(pool, vector),
    });
    if vector.message == "contextengine.v1.Message" {
        let wire = v1::Message::decode(vector.bytes.as_slice()).unwrap();
        let message = Message::try_from(wire).unwrap();
        let header = message.header();
        // A stub keeps the header of the message that it stands for.
        if message.omitted().is_none() {
            assert_eq!(
                *header,
                header::derive(message.payload()),
                "{}",
                vector.name
            );
        }
        file["header"] = json!({
            "role": header.role,
            "timestamp_ms": header.timestamp_ms,
            "tool_call_ids": header.tool_call_ids,
            "tool_result_for": header.tool_result_for,
        });
        file["digest"] = json!(message.digest().to_string());
    }
    let mut text = serde_json::to_string_pretty(&file).unwrap();
    text.push('\n');
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the switch of every golden test")]
fn the_vectors_are_what_this_crate_writes() {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let update = env::var("UPDATE_GOLDEN").is_ok();
    let mut names = BTreeSet::new();
    for vector in vectors() {
        let file = format!("{}.json", vector.name);
        let path = folder().join(&file);
        assert!(names.insert(file), "{} is there twice", vector.name);
        let text = render(&pool, &vector);
        if update {
            fs::write(&path, &text).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            golden, text,
            "{}: run with UPDATE_GOLDEN=1 and review",
            vector.name
        );
    }
    let files: BTreeSet<_> = files()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(files, names, "a file has no vector");
}

/// Decodes with the generated type and encodes again.
fn again(message: &str, bytes: &[u8]) -> Vec<u8> {
    macro_rules! types {
        ($($name:ident),*) => {
            match message.strip_prefix("contextengine.v1.").unwrap() {
                $(stringify!($name) => v1::$name::decode(bytes).unwrap().encode_to_vec(),)*
                other => unreachable!("{other} is not listed"),
            }
        };
    }
    types!(
        AssembleRequest,
        AssembleResponse,
        DescribeRequest,
        DescribeResponse,
        Message,
        NeedTranscript,
        Segment,
        TranscriptState,
        TranscriptUpdate
    )
}

#[test]
fn generated_types_read_every_vector_and_write_the_same_bytes() {
    for path in files() {
        let text = fs::read_to_string(path).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let bytes = unhex(file["bytes"].as_str().unwrap());
        let (name, message) = (
            file["name"].as_str().unwrap(),
            file["message"].as_str().unwrap(),
        );
        let again = again(message, &bytes);
        if name.ends_with("unknown_tag") {
            // Generated types forget what they do not know, and nothing else.
            assert!(again.len() < bytes.len(), "{name}");
        } else {
            assert_eq!(hex(&again), hex(&bytes), "{name}");
        }
    }
}

#[test]
fn dynamic_and_generated_types_agree() {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    for vector in vectors() {
        let again = Vector {
            bytes: again(vector.message, &vector.bytes),
            ..vector.clone()
        };
        assert_eq!(
            json_view(&pool, &again),
            json_view(&pool, &vector),
            "{}",
            vector.name
        );
    }
}
