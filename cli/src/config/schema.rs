//! The JSON Schema of the file, for editors and other programs.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Options;
use super::key::parts;
use super::layers::by_key;

/// The schema: every key with its type, its meaning and its built-in value.
pub fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Options>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
    for (key, value) in by_key(&Options::defaults()) {
        let (section, name) = parts(key);
        let place = format!("/properties/{section}/properties/{name}");
        if let Some(Value::Object(of_key)) = schema.pointer_mut(&place) {
            of_key.insert("default".to_owned(), value);
        }
    }
    schema
}

/// TOML has no null: a key without a value is not there.
fn tidy(schema: &mut Value) {
    let Value::Object(map) = schema else {
        return;
    };
    map.remove("default");
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    without_null(map);
    for value in map.values_mut() {
        if let Value::Array(all) = value {
            all.iter_mut().for_each(tidy);
        } else {
            tidy(value);
        }
    }
}

/// One of a type and null is the type.
fn without_null(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(one)] = choices.as_slice() {
        let mut one = one.clone();
        map.remove("anyOf");
        one.append(map);
        *map = one;
    }
}
