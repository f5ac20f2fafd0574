//! Numbers as people read them.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A span of time in milliseconds with three decimals, in text and in JSON (`12.300`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis {
    micros: u64,
}

impl Millis {
    /// Of a whole number of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    pub(super) fn micros(self) -> u64 {
        self.micros
    }
}

impl From<Duration> for Millis {
    /// Cut to whole microseconds.
    fn from(span: Duration) -> Self {
        Self {
            micros: u64::try_from(span.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.micros / 1000, self.micros % 1000)
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A float would drop the trailing zeros.
        let number = RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?;
        number.serialize(serializer)
    }
}

/// `1,234,567`
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,023 B`, `1.0 KiB`, `16.4 MiB`
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fitting = UNITS.iter().find(|(shift, _)| bytes >> shift > 0);
    let Some((shift, unit)) = fitting else {
        return format!("{} B", grouped(bytes));
    };
    let whole = bytes >> shift;
    let rest = bytes & ((1 << shift) - 1);
    let tenth = (u128::from(rest) * 10) >> shift;
    format!("{}.{tenth} {unit}", grouped(whole))
}

/// `1.04`, or nothing where there is nothing to compare with.
pub(super) fn ratio(value: u64, to: u64) -> String {
    if to == 0 {
        return String::new();
    }
    let hundredths = (u128::from(value) * 100 + u128::from(to) / 2) / u128::from(to);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// `2026-01-31 23:59:59`, in UTC; nothing where there is no time.
pub(super) fn moment(millis: Option<i64>) -> String {
    let Some(millis) = millis else {
        return String::new();
    };
    let text = contextwire_client::store::iso(millis);
    let seconds = text.get(..19).unwrap_or_default();
    seconds.replace('T', " ")
}

/// `3d 4h`, `2h 5m`, `7m 1s`, `12s`: the two largest units.
pub(super) fn span(millis: u64) -> String {
    let seconds = millis / 1000;
    let units = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = units.iter().position(|(count, _)| *count > 0);
    let shown = units.iter().skip(first.unwrap_or(3)).take(2);
    let shown: Vec<String> = shown
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millis_have_three_decimals_in_json_as_well() {
        let millis = [0, 7, 12_300, 1_000_000].map(Millis::from_micros);
        assert_eq!(
            serde_json::to_string(&millis).unwrap(),
            "[0.000,0.007,12.300,1000.000]"
        );
        assert!(serde_json::to_value(millis[2]).unwrap().is_number());
    }

    #[test]
    fn a_span_is_cut_to_microseconds() {
        assert_eq!(
            Millis::from(Duration::from_nanos(1_999)),
            Millis::from_micros(1)
        );
        assert_eq!(Millis::from(Duration::MAX), Millis::from_micros(u64::MAX));
    }

    #[test]
    fn ratios_times_and_spans_are_short() {
        assert_eq!(ratio(104, 100), "1.04");
        assert_eq!(ratio(2, 3), "0.67");
        assert_eq!(ratio(1, 0), "");
        assert_eq!(moment(Some(1_769_903_999_999)), "2026-01-31 23:59:59");
        assert_eq!(moment(None), "");
        let spans = [0, 12_999, 61_000, 3_600_000, 90_000_000].map(span);
        assert_eq!(spans, ["0s", "12s", "1m 1s", "1h 0m", "1d 1h"]);
    }

    #[test]
    fn thousands_are_separated() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn sizes_have_one_decimal_and_are_cut_not_rounded() {
        let cases = [
            (0, "0 B"),
            (1023, "1,023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_575, "1,023.9 KiB"),
            (17_196_646, "16.3 MiB"),
            (u64::MAX, "16,777,215.9 TiB"),
        ];
        for (size, text) in cases {
            assert_eq!(bytes(size), text);
        }
    }
}
