//! Values that are written as text.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};
use tracing_subscriber::EnvFilter;

/// A value that is read from text and shown as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<'de, T> Deserialize<'de> for Text<T>
where
    T: FromStr<Err: Display>,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<T> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// A length of time such as `30s` or `1m 30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// What is no length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a time with its unit, for instance 500ms, 30s or 2m")]
pub struct InvalidSpan;

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        humantime::parse_duration(text)
            .map(Self)
            .map_err(|_| InvalidSpan)
    }
}

impl Span {
    /// The same from a flag, which may also be a plain number of seconds.
    ///
    /// # Errors
    /// When it is neither.
    pub fn or_seconds(text: &str) -> Result<Self, InvalidSpan> {
        let seconds = text.parse().map(Duration::from_secs);
        seconds.map(Self).or_else(|_| text.parse())
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// A `tracing` filter such as `info` or `contextwire_server=debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(String);

/// What is no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a log filter, for instance `info` or `info,contextwire_server=debug`")]
pub struct InvalidFilter;

impl FromStr for Filter {
    type Err = InvalidFilter;

    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        EnvFilter::try_new(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|_| InvalidFilter)
    }
}

impl Filter {
    /// The text that it was read from.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_a_flag_may_leave_out_the_seconds() {
        let thirty = Ok(Span(Duration::from_secs(30)));
        assert_eq!("30s".parse(), thirty);
        assert_eq!(Span::or_seconds("30"), thirty);
        assert_eq!("30".parse::<Span>(), Err(InvalidSpan));
        assert_eq!(Span::or_seconds("soon"), Err(InvalidSpan));
        assert_eq!(Span(Duration::from_millis(1500)).to_string(), "1s 500ms");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_refused() {
        assert!("info,contextwire_server=debug".parse::<Filter>().is_ok());
        assert_eq!("a=b=c".parse::<Filter>(), Err(InvalidFilter));
    }
}
