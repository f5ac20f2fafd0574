//! What the contract says of its own fields: names, numbers, since when, and whether losing one
//! changes what a call does (PROTOCOL 5).
//!
//! The tables are written from the compiled `.proto` files when this crate is built.
//!
//! A path is proto names from the request of a unary method, and from the `start` of a streaming
//! one: `call.session.target`. An item of a list goes by the name of its list.

use contextwire_engine::Hook;
use prost::encoding::WireType;

pub(crate) use tables::method;

/// A field that a host can send in the request of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestField {
    /// Its path, without indexes.
    pub path: String,
    /// The protocol minor that introduced it.
    pub since: u32,
    /// Losing it in silence would change what the call does (R5.4).
    pub critical: bool,
}

/// The protocol minor that introduced the method of a hook.
pub fn method_since(hook: Hook) -> u32 {
    method(hook).since
}

/// Every field of the request of a hook, the fields inside of messages included, each after the
/// message that it is in.
pub fn fields(hook: Hook) -> Vec<RequestField> {
    let mut found = Vec::new();
    collect(method(hook).root, "", &mut found, &|_| Take::AndInside);
    found
}

/// The fields of the request of a hook that an engine of this minor does not have, the outermost
/// ones: a message that is newer stands for what is inside of it.
///
/// A field is newer only where it is newer than its method too: the fields that a method was born
/// with are known to every engine that has the method.
pub fn newer_than(hook: Hook, minor: u32) -> Vec<RequestField> {
    let known = minor.max(method_since(hook));
    let mut found = Vec::new();
    collect(method(hook).root, "", &mut found, &|field| {
        if field.since > known {
            Take::Alone
        } else {
            Take::Inside
        }
    });
    found
}

/// The field that a path names, also one of a violation (R5.3): with indexes (`segments[3]`) and
/// numbers (`call.session.#3`). `None` where this contract has no such field. What is inside of a
/// map belongs to nobody and has no path.
pub fn field(hook: Hook, path: &str) -> Option<RequestField> {
    let mut message = Some(method(hook).root);
    let mut names = Vec::new();
    let mut found = None;
    for part in path.split('.') {
        let field = message?.part(part)?;
        message = match field.kind {
            Kind::Message(inner) => Some(inner),
            Kind::Scalar | Kind::Map(_) | Kind::Enum(_) => None,
        };
        names.push(field.name);
        found = Some(field);
    }
    found.map(|field| field.at(names.join(".")))
}

/// The numbers of a path, from the outermost field; `None` where this contract has no such field.
pub(crate) fn numbers(hook: Hook, path: &str) -> Option<Vec<u32>> {
    let mut message = Some(method(hook).root);
    let mut numbers = Vec::new();
    for part in path.split('.') {
        let (number, field) = message?.numbered(part)?;
        message = match field.kind {
            Kind::Message(inner) => Some(inner),
            Kind::Scalar | Kind::Map(_) | Kind::Enum(_) => None,
        };
        numbers.push(number);
    }
    Some(numbers)
}

/// The number of the start in the frames of a streaming hook; `None` for a unary one.
pub(crate) fn start(hook: Hook) -> Option<u32> {
    let method = method(hook);
    let is_unary = std::ptr::eq(method.request, method.root);
    let (number, _) = method.request.numbered("start").filter(|_| !is_unary)?;
    Some(number)
}

/// Whether a name of `must_understand` is known (R5.4): a path, or `path=VALUE` for a value of an
/// enum. Judged by the name alone, whatever the request holds.
pub fn knows(hook: Hook, name: &str) -> bool {
    let (path, value) = match name.split_once('=') {
        Some((path, value)) => (path, Some(value)),
        None => (name, None),
    };
    let Some(found) = leaf(method(hook).root, path) else {
        return false;
    };
    match (value, &found.kind) {
        (None, _) => true,
        (Some(value), Kind::Enum(values)) => values.contains(&value),
        (Some(_), Kind::Scalar | Kind::Map(_) | Kind::Message(_)) => false,
    }
}

/// The field of a path without indexes and numbers.
fn leaf(root: &'static Message, path: &str) -> Option<&'static Field> {
    match path.split_once('.') {
        None => root.named(path),
        Some((name, rest)) => match root.named(name)?.kind {
            Kind::Message(inner) => leaf(inner, rest),
            Kind::Scalar | Kind::Map(_) | Kind::Enum(_) => None,
        },
    }
}

/// What of a field goes into a list of fields.
enum Take {
    /// The field and what is inside.
    AndInside,
    /// The field.
    Alone,
    /// What is inside.
    Inside,
}

fn collect(
    message: &'static Message,
    outer: &str,
    found: &mut Vec<RequestField>,
    take: &dyn Fn(&Field) -> Take,
) {
    for field in message.fields.iter().flatten() {
        let path = if outer.is_empty() {
            field.name.to_owned()
        } else {
            format!("{outer}.{}", field.name)
        };
        let inside = match take(field) {
            Take::Alone => {
                found.push(field.at(path));
                continue;
            }
            Take::AndInside => {
                found.push(field.at(path.clone()));
                path
            }
            Take::Inside => path,
        };
        if let Kind::Message(inner) = field.kind {
            collect(inner, &inside, found, take);
        }
    }
}

/// An RPC.
pub(crate) struct Method {
    pub(crate) since: u32,
    /// What a host sends.
    pub(crate) request: &'static Message,
    /// Where paths begin.
    pub(crate) root: &'static Message,
}

/// A message.
pub(crate) struct Message {
    /// By number.
    fields: &'static [Option<Field>],
}

impl Message {
    /// The field of that number.
    pub(crate) fn field(&self, number: u32) -> Option<&'static Field> {
        let number = usize::try_from(number).ok()?;
        self.fields.get(number)?.as_ref()
    }

    fn named(&self, name: &str) -> Option<&'static Field> {
        let mut fields = self.fields.iter().flatten();
        fields.find(|field| field.name == name)
    }

    fn numbered(&self, name: &str) -> Option<(u32, &'static Field)> {
        let mut numbered = (0..).zip(self.fields);
        numbered.find_map(|(number, field)| {
            let field = field.as_ref().filter(|field| field.name == name)?;
            Some((number, field))
        })
    }

    /// The field of one part of a violation's path.
    fn part(&self, part: &str) -> Option<&'static Field> {
        if let Some(number) = part.strip_prefix('#') {
            return self.field(number.parse().ok()?);
        }
        match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((name, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.named(name)
            }
            Some(_) => None,
            None => self.named(part),
        }
    }
}

/// A field of a message.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// How one value is written.
    pub(crate) wire: WireType,
    /// A list or a map; a list of numbers may be packed as well.
    pub(crate) repeated: bool,
    pub(crate) kind: Kind,
    pub(crate) since: u32,
    critical: bool,
}

impl Field {
    fn at(&self, path: String) -> RequestField {
        RequestField {
            path,
            since: self.since,
            critical: self.critical,
        }
    }
}

/// What a field holds.
pub(crate) enum Kind {
    Scalar,
    /// By the names of its values.
    Enum(&'static [&'static str]),
    Message(&'static Message),
    /// By the message of its entries.
    Map(&'static Message),
}

/// Written by the build script.
mod tables {
    use contextwire_engine::Hook;
    use prost::encoding::WireType;

    use super::{Field, Kind, Message, Method};

    include!(concat!(env!("OUT_DIR"), "/schema.rs"));
}

#[cfg(test)]
mod tests;
