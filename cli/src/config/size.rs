//! Numbers of bytes as people write them.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// Binary units, the largest first.
const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A number of bytes, at least 1: `65536` or `"64KiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// What is no number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a number of bytes, KiB, MiB or GiB above 0, for instance 512MiB")]
pub struct InvalidSize;

impl FromStr for Size {
    type Err = InvalidSize;

    fn from_str(text: &str) -> Result<Self, InvalidSize> {
        let end = text.find(|letter: char| !letter.is_ascii_digit());
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = match unit.trim() {
            "" | "B" => 1,
            other => {
                let unit = UNITS.into_iter().find(|(name, _)| *name == other);
                unit.ok_or(InvalidSize)?.1
            }
        };
        let count: u64 = digits.parse().map_err(|_| InvalidSize)?;
        let bytes = count.checked_mul(unit).filter(|bytes| *bytes > 0);
        bytes.map(Self).ok_or(InvalidSize)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS
            .into_iter()
            .find(|(_, unit)| self.0.is_multiple_of(*unit));
        match unit {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes such as 65536 or \"512MiB\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Size, E> {
        let bytes = u64::try_from(number).ok().filter(|bytes| *bytes > 0);
        bytes.map(Size).ok_or_else(|| E::custom(InvalidSize))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Size, E> {
        let bytes = Some(number).filter(|bytes| *bytes > 0);
        bytes.map(Size).ok_or_else(|| E::custom(InvalidSize))
    }
}

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB)?$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units_or_none() {
        for (text, bytes) in [("7", 7), ("7B", 7), ("2MiB", 2 << 20), ("3 GiB", 3 << 30)] {
            assert_eq!(text.parse(), Ok(Size(bytes)));
        }
        for odd in ["", "0", "MiB", "1MB", "-1", "1.5GiB", "99999999999GiB"] {
            assert_eq!(odd.parse::<Size>(), Err(InvalidSize), "{odd}");
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_says_it_exactly() {
        for (bytes, text) in [(7, "7"), (1024, "1KiB"), (1 << 30, "1GiB"), (1025, "1025")] {
            assert_eq!(Size(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Size(bytes)));
        }
    }
}
