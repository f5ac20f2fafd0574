//! Totals: what all test binaries said, added up.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::ops::AddAssign;

/// Numbers of tests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Tests that are ignored. Those that a filter left out are in no number.
    pub(crate) skipped: u64,
}

impl Totals {
    /// Reads the closing line of a test binary; any other line is `None`.
    fn read(line: &str) -> Option<Self> {
        let results = line.trim().strip_prefix("test result: ")?;
        let mut totals = Self::default();
        let mut known = 0;
        for part in results.split(';') {
            let mut words = part.split_whitespace().rev();
            let (Some(name), Some(number)) = (words.next(), words.next()) else {
                continue;
            };
            let slot = match name {
                "passed" => &mut totals.passed,
                "failed" => &mut totals.failed,
                "ignored" => &mut totals.skipped,
                _ => continue,
            };
            *slot = number.parse().ok()?;
            known += 1;
        }
        (known == 3).then_some(totals)
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        let Self {
            passed,
            failed,
            skipped,
        } = other;
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed")?;
        if *skipped > 0 {
            write!(f, ", {skipped} skipped")?;
        }
        Ok(())
    }
}

/// Copies `from` to `to` line by line, byte for byte, and adds up the results in it. A reader that fails ends the
/// copy; a writer that fails (a closed pipe) does not, since the numbers still matter.
pub(crate) fn forward(mut from: impl BufRead, mut to: impl Write) -> Totals {
    let mut totals = Totals::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.read_until(b'\n', &mut line) {
            Ok(0) => return totals,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return totals,
        }
        let _written = to.write_all(&line).and_then(|()| to.flush());
        if let Some(more) = Totals::read(&String::from_utf8_lossy(&line)) {
            totals += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 3 tests
test a ... ok
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 7 filtered out; finished in 61.20s
   Doc-tests contextwire_engine
test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s
";

    #[test]
    fn the_lines_of_all_binaries_are_added_up_and_the_output_passes_unchanged() {
        let mut copy = Vec::new();
        let totals = forward(OUTPUT.as_bytes(), &mut copy);
        assert_eq!(
            totals,
            Totals {
                passed: 17,
                failed: 2,
                skipped: 1
            }
        );
        assert_eq!(copy, OUTPUT.as_bytes());
    }

    #[test]
    fn bytes_that_are_no_text_and_a_last_line_without_its_end_are_copied() {
        let output = b"\xff\xfe\ntest result: ok. 1 passed; 0 failed; 0 ignored";
        let mut copy = Vec::new();
        assert_eq!(
            forward(&output[..], &mut copy),
            Totals {
                passed: 1,
                failed: 0,
                skipped: 0
            }
        );
        assert_eq!(copy, output);
    }

    #[test]
    fn other_lines_are_no_result() {
        let lines = [
            "",
            "test result",
            "test result: ok.",
            "test result: ok. 1 passed; 0 failed",
            "test result: ok. many passed; 0 failed; 0 ignored",
            "says test result: ok. 1 passed; 0 failed; 0 ignored",
        ];
        for line in lines {
            assert_eq!(Totals::read(line), None, "{line:?}");
        }
    }

    #[test]
    fn skipped_tests_are_named_only_where_there_are_some() {
        let mut totals = Totals {
            passed: 5,
            failed: 0,
            skipped: 0,
        };
        assert_eq!(totals.to_string(), "5 passed, 0 failed");
        totals.skipped = 2;
        assert_eq!(totals.to_string(), "5 passed, 0 failed, 2 skipped");
    }
}
