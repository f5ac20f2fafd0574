//! A JSON value taken apart in one pass, as deep as somebody will look.
//!
//! [`Fields`](super::field::Fields) reads one level and checks all of it; this reads what it has
//! checked already, without going over long texts once a level.

use std::borrow::Cow;
use std::ops::Range;

use contextwire_engine::json::{Cursor, JsonError, Kind};

/// A value as it stands in its source, and what is in it.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    json: &'a str,
    inner: Inner<'a>,
}

#[derive(Clone, Debug)]
enum Inner<'a> {
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
    Array(Vec<Node<'a>>),
    /// No container, or one that lies too deep.
    Leaf,
}

impl<'a> Node<'a> {
    /// Takes a value apart, its containers so deep; `None` for what is no value.
    pub(super) fn parse(json: &'a str, depth: usize) -> Option<Self> {
        let mut cursor = Cursor::new(json.as_bytes());
        let node = node(json, &mut cursor, depth).ok()?;
        cursor.finish().ok()?;
        Some(node)
    }

    /// The value as it stands.
    pub(super) fn json(&self) -> &'a str {
        self.json
    }

    /// The value of a field; of a repeated one the last counts.
    pub(super) fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.fields()
            .rev()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    /// The fields of an object in order, none of anything else.
    pub(super) fn fields(&self) -> impl DoubleEndedIterator<Item = (&str, &Node<'a>)> {
        let fields = match &self.inner {
            Inner::Object(fields) => fields.as_slice(),
            Inner::Array(_) | Inner::Leaf => &[],
        };
        fields.iter().map(|(name, value)| (&**name, value))
    }

    /// The value of a field as it stands.
    pub(super) fn raw(&self, key: &str) -> Option<&'a [u8]> {
        self.get(key).map(|value| value.json.as_bytes())
    }

    /// The text of a field that is a string.
    pub(super) fn text_of(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// The text of a string, lone surrogates replaced; `None` for any other type.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        let text = Cursor::new(self.json.as_bytes()).text().ok()?;
        Some(text.decode())
    }

    /// A whole number that fits, of a field.
    pub(super) fn whole(&self, key: &str) -> Option<u64> {
        self.get(key)?.json.parse().ok()
    }

    /// Whether it is a string.
    pub(super) fn is_text(&self) -> bool {
        self.json.starts_with('"')
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        self.json.starts_with('{')
    }

    /// The elements of an array; `None` for any other type.
    pub(super) fn elements(&self) -> Option<&[Node<'a>]> {
        match &self.inner {
            Inner::Array(elements) => Some(elements),
            Inner::Object(_) | Inner::Leaf => None,
        }
    }
}

fn node<'a>(json: &'a str, cursor: &mut Cursor<'a>, depth: usize) -> Result<Node<'a>, JsonError> {
    let kind = cursor.kind()?;
    let start = cursor.offset();
    let inner = match kind {
        Kind::Object if depth > 0 => {
            let mut fields = Vec::with_capacity(8);
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                fields.push((key.decode(), node(json, cursor, depth - 1)?));
            }
            Inner::Object(fields)
        }
        Kind::Array if depth > 0 => {
            let mut elements = Vec::new();
            cursor.begin_array()?;
            while cursor.next_element()? {
                elements.push(node(json, cursor, depth - 1)?);
            }
            Inner::Array(elements)
        }
        Kind::Object | Kind::Array | Kind::String | Kind::Number | Kind::Bool | Kind::Null => {
            cursor.skip_value()?;
            Inner::Leaf
        }
    };
    Ok(Node {
        json: part(json, start..cursor.offset()),
        inner,
    })
}

/// A value begins and ends with a character of its own.
fn part(json: &str, span: Range<usize>) -> &str {
    json.get(span).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_apart_and_its_parts_keep_their_bytes() {
        let json = r#" { "a" : [ {"b":"\u00e9\ud83d"} , 1e400 ] , "a\u0062":{"c":{"d":[1]}}, "x":1,"x":null } "#;
        let node = Node::parse(json, 3).unwrap();
        let elements = node.get("a").unwrap().elements().unwrap();
        assert_eq!(elements[1].json(), "1e400");
        assert_eq!(elements[0].text_of("b").as_deref(), Some("é\u{fffd}"));
        assert_eq!(elements[0].json(), r#"{"b":"\u00e9\ud83d"}"#);
        assert_eq!(node.raw("x"), Some(&b"null"[..]));
        assert_eq!(node.fields().count(), 4);
        let deep = node.get("ab").unwrap().get("c").unwrap();
        assert_eq!(deep.raw("d"), Some(&b"[1]"[..]));
        assert!(deep.get("d").unwrap().elements().is_none(), "too deep");
    }

    #[test]
    fn what_is_no_value_has_no_parts() {
        for json in ["", "{", "{} {}", "[1,]", "nul"] {
            assert!(Node::parse(json, 9).is_none(), "{json}");
        }
        let text = Node::parse("\"a\"", 0).unwrap();
        assert!(text.is_text() && !text.is_object() && text.get("a").is_none());
    }
}
