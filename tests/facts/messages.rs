//! What prost does with messages of newer and of hostile peers.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;

use super::service::Note;

/// A message as an older peer knows it, and as a newer one does.
#[derive(Clone, PartialEq, prost::Message)]
struct Older {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(enumeration = "Colour", tag = "2")]
    colour: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Newer {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    colour: i32,
    #[prost(string, tag = "3")]
    added: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum Colour {
    Unspecified = 0,
    Red = 1,
}

#[test]
fn fields_of_a_newer_peer_are_dropped_and_do_not_go_on() {
    let newer = Newer {
        name: "n".to_owned(),
        colour: 1,
        added: "lost".to_owned(),
    };
    let older = Older::decode(&*newer.encode_to_vec()).unwrap();
    let passed_on = Newer::decode(&*older.encode_to_vec()).unwrap();
    let added = String::new();
    assert_eq!(passed_on, Newer { added, ..newer });
}

#[test]
fn an_unknown_enum_number_is_kept_and_only_its_accessor_makes_it_the_default() {
    let newer = Newer {
        colour: 77,
        ..Newer::default()
    };
    let older = Older::decode(&*newer.encode_to_vec()).unwrap();
    assert_eq!((older.colour, older.colour()), (77, Colour::Unspecified));
    assert_eq!(Newer::decode(&*older.encode_to_vec()), Ok(newer));
    assert!(Colour::try_from(77).is_err() && Colour::try_from(1) == Ok(Colour::Red));
}

#[derive(Clone, PartialEq, prost::Message)]
struct Nested {
    #[prost(message, optional, boxed, tag = "1")]
    inner: Option<Box<Nested>>,
}

#[test]
fn messages_nest_a_hundred_deep_and_no_deeper() {
    let nested = |levels: usize| {
        let inside = |inner: Nested, _| Nested {
            inner: Some(Box::new(inner)),
        };
        (0..levels).fold(Nested::default(), inside).encode_to_vec()
    };
    assert!(Nested::decode(&*nested(100)).is_ok());
    let error = Nested::decode(&*nested(101)).unwrap_err();
    assert!(error.to_string().contains("recursion limit"), "{error}");
}

#[derive(Clone, PartialEq, prost::Message)]
struct Mapped {
    #[prost(map = "string, string", tag = "1")]
    entries: HashMap<String, String>,
}

#[test]
fn equal_maps_encode_to_different_bytes() {
    let mapped = || {
        let entries = (0..64).map(|n| (n.to_string(), String::new())).collect();
        Mapped { entries }
    };
    let (one, other) = (mapped(), mapped());
    assert_eq!(one, other);
    assert_ne!(one.encode_to_vec(), other.encode_to_vec());
}

#[test]
fn of_a_field_that_comes_twice_the_last_one_counts() {
    let bytes = |text: &'static str| Note {
        body: Bytes::from_static(text.as_bytes()),
    };
    let twice = [
        bytes("first").encode_to_vec(),
        bytes("last").encode_to_vec(),
    ]
    .concat();
    assert_eq!(Note::decode(&*twice), Ok(bytes("last")));
}
