//! From a measured number to a row with a verdict.

use super::measure::Measured;
use crate::report::BenchRow;

/// What a number has to be. A number that is none meets no target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    /// The ratio to the baseline, at most.
    RatioAtMost(f64),
    /// The ratio to the baseline, at least.
    RatioAtLeast(f64),
    /// The value, below this.
    Under(f64),
    /// The value, at least this.
    AtLeast(f64),
    /// The value, both ends included.
    Within(f64, f64),
}

impl Target {
    fn is_met(self, measured: &Measured) -> bool {
        let ratio = measured.ratio.unwrap_or(f64::NAN);
        match self {
            Self::RatioAtMost(most) => ratio <= most,
            Self::RatioAtLeast(least) => ratio >= least,
            Self::Under(limit) => measured.value < limit,
            Self::AtLeast(least) => measured.value >= least,
            Self::Within(least, most) => (least..=most).contains(&measured.value),
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::RatioAtMost(most) => format!("at most {most}x"),
            Self::RatioAtLeast(least) => format!("at least {least}x"),
            Self::Under(limit) => format!("under {limit} {unit}"),
            Self::AtLeast(least) => format!("at least {least} {unit}"),
            Self::Within(least, most) => format!("{least} to {most} {unit}"),
        }
    }
}

/// The rows of one group.
#[derive(Debug)]
pub(super) struct Rows {
    group: &'static str,
    rows: Vec<BenchRow>,
}

impl Rows {
    /// No row yet.
    pub(super) fn of(group: &'static str) -> Self {
        Self {
            group,
            rows: Vec::new(),
        }
    }

    /// Judges a number.
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        unit: &str,
        measured: Measured,
        target: Target,
    ) {
        self.rows.push(BenchRow {
            group: self.group.to_owned(),
            name: name.into(),
            value: rounded(measured.value),
            unit: unit.to_owned(),
            baseline: measured.baseline.map(rounded),
            ratio: measured.ratio.map(rounded),
            target: target.text(unit),
            // The unrounded number decides.
            ok: target.is_met(&measured),
        });
    }

    /// All of them, in order.
    pub(super) fn into_rows(self) -> Vec<BenchRow> {
        self.rows
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(measured: Measured, target: Target) -> (String, bool) {
        let mut rows = Rows::of("hooks");
        rows.add("a call", "ms", measured, target);
        let row = rows.into_rows().remove(0);
        (row.target, row.ok)
    }

    fn ratio(ratio: f64) -> Measured {
        Measured {
            value: 1.0,
            baseline: Some(1.0),
            ratio: Some(ratio),
        }
    }

    #[test]
    fn a_target_says_what_it_wants_and_its_border_belongs_to_it() {
        for (measured, target, text, met) in [
            (ratio(1.3), Target::RatioAtMost(1.3), "at most 1.3x", true),
            (
                ratio(1.3004),
                Target::RatioAtMost(1.3),
                "at most 1.3x",
                false,
            ),
            (
                ratio(30.0),
                Target::RatioAtLeast(30.0),
                "at least 30x",
                true,
            ),
            (
                ratio(29.9),
                Target::RatioAtLeast(30.0),
                "at least 30x",
                false,
            ),
            (
                Measured::alone(1.0),
                Target::Under(1.0),
                "under 1 ms",
                false,
            ),
            (
                Measured::alone(200.0),
                Target::AtLeast(200.0),
                "at least 200 ms",
                true,
            ),
            (
                Measured::alone(199.9),
                Target::AtLeast(200.0),
                "at least 200 ms",
                false,
            ),
            (
                Measured::alone(75.0),
                Target::Within(75.0, 100.0),
                "75 to 100 ms",
                true,
            ),
            (
                Measured::alone(74.9),
                Target::Within(75.0, 100.0),
                "75 to 100 ms",
                false,
            ),
        ] {
            assert_eq!(verdict(measured, target), (text.to_owned(), met));
        }
    }

    #[test]
    fn a_number_that_is_none_meets_no_target() {
        assert!(!verdict(Measured::alone(1.0), Target::RatioAtMost(9.0)).1);
        assert!(!verdict(ratio(f64::NAN), Target::RatioAtLeast(0.0)).1);
        assert!(!verdict(Measured::alone(f64::NAN), Target::Under(9.0)).1);
        assert!(!verdict(Measured::alone(f64::NAN), Target::AtLeast(9.0)).1);
    }
}
