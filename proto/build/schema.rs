//! Writes the tables of `src/schema.rs`: what the contract says of every method and of every message
//! that a host can send.
//!
//! Written at build time, the tables cost a process nothing: no descriptor is decoded at its start,
//! and no walk over a request waits for one.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use protox::prost_reflect::{
    DescriptorPool, EnumDescriptor, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor,
    MethodDescriptor, Value,
};

const PACKAGE: &str = "contextengine.v1";
const SERVICE: &str = "contextengine.v1.ContextEngineService";

/// A table has a place for every number up to the largest one of its message.
const LARGEST_NUMBER: u32 = 1000;

/// The tables as Rust items.
pub(crate) fn tables(pool: &DescriptorPool) -> Result<String, Box<dyn Error>> {
    let service = pool.get_service_by_name(SERVICE).ok_or("no service")?;
    let mut tables = Tables::new(pool)?;
    for method in service.methods() {
        tables.reach(&method.input(), &mut Vec::new())?;
    }
    let mut code = String::new();
    for (index, values) in tables.enums.values().enumerate() {
        let names: Vec<_> = values
            .values()
            .map(|it| format!("{:?}", it.name()))
            .collect();
        writeln!(code, "static E{index}: &[&str] = &[{}];", names.join(", "))?;
    }
    for (index, message) in tables.messages.values().enumerate() {
        let table = tables.message(message)?;
        writeln!(code, "static M{index}: Message = {table};")?;
    }
    let mut arms = String::new();
    for (index, method) in service.methods().enumerate() {
        let table = tables.method(&method)?;
        writeln!(code, "static S{index}: Method = {table};")?;
        writeln!(arms, "        Hook::{} => &S{index},", method.name())?;
    }
    // A match, so that a hook without an RPC and an RPC without a hook break the build.
    writeln!(
        code,
        "pub(crate) fn method(hook: Hook) -> &'static Method {{\n    match hook {{\n{arms}    }}\n}}"
    )?;
    Ok(code)
}

struct Tables {
    messages: BTreeMap<String, MessageDescriptor>,
    enums: BTreeMap<String, EnumDescriptor>,
    since: ExtensionDescriptor,
    critical: ExtensionDescriptor,
    method_since: ExtensionDescriptor,
}

impl Tables {
    fn new(pool: &DescriptorPool) -> Result<Self, Box<dyn Error>> {
        let option = |name: &str| {
            pool.get_extension_by_name(&format!("{PACKAGE}.{name}"))
                .ok_or(format!("no option {name}"))
        };
        Ok(Self {
            messages: BTreeMap::new(),
            enums: BTreeMap::new(),
            since: option("since")?,
            critical: option("critical")?,
            method_since: option("method_since")?,
        })
    }

    /// Takes in a message and everything inside of it. One inside itself would have endless paths.
    fn reach(
        &mut self,
        message: &MessageDescriptor,
        outer: &mut Vec<String>,
    ) -> Result<(), String> {
        let name = message.full_name().to_owned();
        if outer.contains(&name) {
            return Err(format!("{name} is inside itself"));
        }
        self.messages.insert(name.clone(), message.clone());
        outer.push(name);
        for field in message.fields() {
            let kind = field.kind();
            if let Some(inner) = kind.as_message() {
                self.reach(inner, outer)?;
            } else if let Some(values) = kind.as_enum() {
                let name = values.full_name().to_owned();
                self.enums.insert(name, values.clone());
            }
        }
        outer.pop();
        Ok(())
    }

    fn message(&self, message: &MessageDescriptor) -> Result<String, Box<dyn Error>> {
        let largest = message
            .fields()
            .map(|field| field.number())
            .max()
            .unwrap_or(0);
        if largest > LARGEST_NUMBER {
            return Err(format!("{}: {largest} is too large", message.full_name()).into());
        }
        let mut fields = String::new();
        for number in 0..=largest {
            match message.get_field(number) {
                Some(field) => write!(fields, "Some({}), ", self.field(&field)?)?,
                None => fields.push_str("None, "),
            }
        }
        Ok(format!("Message {{ fields: &[{fields}] }}"))
    }

    fn field(&self, field: &FieldDescriptor) -> Result<String, Box<dyn Error>> {
        let repeated = field.is_list() || field.is_map();
        let kind = field.kind();
        if field.is_group() {
            return Err(format!("{}: a group", field.full_name()).into());
        }
        let wire = wire(&kind);
        let kind = self.kind(field)?;
        let since = number(&field.options(), &self.since);
        // The two fields of a map's entry can have no options.
        let in_map = field.parent_message().is_map_entry();
        let since = since.or(in_map.then_some(0));
        let critical = field.options().get_extension(&self.critical).as_ref() == &Value::Bool(true);
        Ok(format!(
            "Field {{ name: {:?}, wire: WireType::{wire}, repeated: {repeated}, kind: {kind}, \
             since: {}, critical: {critical} }}",
            field.name(),
            since.ok_or(format!("{}: since when?", field.full_name()))?,
        ))
    }

    fn kind(&self, field: &FieldDescriptor) -> Result<String, Box<dyn Error>> {
        let kind = field.kind();
        Ok(if let Some(inner) = kind.as_message() {
            let variant = if field.is_map() { "Map" } else { "Message" };
            let place = place(&self.messages, inner.full_name())?;
            format!("Kind::{variant}(&M{place})")
        } else if let Some(values) = kind.as_enum() {
            let place = place(&self.enums, values.full_name())?;
            format!("Kind::Enum(E{place})")
        } else {
            "Kind::Scalar".to_owned()
        })
    }

    fn method(&self, method: &MethodDescriptor) -> Result<String, Box<dyn Error>> {
        let request = method.input();
        let start = request.get_field_by_name("start").map(|field| field.kind());
        let root = match &start {
            Some(Kind::Message(start)) if method.is_client_streaming() => start,
            _ => &request,
        };
        Ok(format!(
            "Method {{ since: {}, request: &M{}, root: &M{} }}",
            number(&method.options(), &self.method_since).ok_or("a method without a minor")?,
            place(&self.messages, request.full_name())?,
            place(&self.messages, root.full_name())?,
        ))
    }
}

/// Position of an item, which is its number in the names of the tables.
fn place<T>(items: &BTreeMap<String, T>, name: &str) -> Result<usize, String> {
    items
        .keys()
        .position(|key| key == name)
        .ok_or(format!("{name} is of another package"))
}

fn number(
    options: &protox::prost_reflect::DynamicMessage,
    option: &ExtensionDescriptor,
) -> Option<u32> {
    let set = options.has_extension(option);
    set.then(|| options.get_extension(option).as_u32())
        .flatten()
}

/// How one value of the field is written; a repeated number may be packed as well.
fn wire(kind: &Kind) -> &'static str {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => "SixtyFourBit",
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => "ThirtyTwoBit",
        Kind::String | Kind::Bytes | Kind::Message(_) => "LengthDelimited",
        Kind::Int32
        | Kind::Int64
        | Kind::Uint32
        | Kind::Uint64
        | Kind::Sint32
        | Kind::Sint64
        | Kind::Bool
        | Kind::Enum(_) => "Varint",
    }
}
