//! Edits single fields of an object; every other byte stays.

use bytes::Bytes;
use contextwire_engine::json::{Cursor, Edit, JsonError, quote, splice};

/// The object with this value for the field: in the place of the one that counts, else as the first
/// field. What is no object stays as it is.
pub(super) fn with(json: &Bytes, key: &str, value: &str) -> Bytes {
    let edit = match find(json, key) {
        Ok(Place::At(span)) => Edit::new(span, value),
        Ok(Place::Before { start, is_empty }) => {
            let separator = if is_empty { "" } else { "," };
            Edit::new(start..start, format!("{}:{value}{separator}", quote(key)))
        }
        Err(_) => return json.clone(),
    };
    splice(json, &[edit]).map_or_else(|_| json.clone(), Bytes::from)
}

enum Place {
    /// The value that counts.
    At(std::ops::Range<usize>),
    /// The start of an object that has no such field.
    Before { start: usize, is_empty: bool },
}

fn find(json: &[u8], key: &str) -> Result<Place, JsonError> {
    let mut cursor = Cursor::new(json);
    cursor.begin_object()?;
    let start = cursor.offset();
    let (mut found, mut is_empty) = (None, true);
    while let Some(name) = cursor.next_key()? {
        is_empty = false;
        let is_it = name.is(key);
        let span = cursor.skip_value()?;
        if is_it {
            found = Some(span);
        }
    }
    Ok(match found {
        Some(span) => Place::At(span),
        None => Place::Before { start, is_empty },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_replaced_or_put_first_and_the_rest_stays() {
        let cases = [
            (r#"{ "a" : 1e400 ,"b":2}"#, r#"{ "a" : 1e400 ,"b":null}"#),
            (r#"{"a":1}"#, r#"{"b":null,"a":1}"#),
            (r#"{"b":1,"b":2}"#, r#"{"b":1,"b":null}"#),
            ("{}", r#"{"b":null}"#),
            ("[1]", "[1]"),
        ];
        for (before, after) in cases {
            let json = Bytes::from_static(before.as_bytes());
            assert_eq!(with(&json, "b", "null"), after);
        }
    }
}
