//! Timestamps as hosts write them: milliseconds, or ISO 8601 text in older rows.

const DAY_MS: i64 = 86_400_000;

/// Milliseconds of a JSON number; none beyond 64 bits, as `1e400`.
pub(super) fn from_number(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| whole_part(text.parse().ok()?))
}

fn whole_part(value: f64) -> Option<i64> {
    /// 2^63: the first magnitude that does not fit.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "inside the range of i64, as checked"
    )]
    let whole = value as i64;
    (value.abs() < LIMIT).then_some(whole)
}

/// Milliseconds of ISO 8601 text; none where it is malformed or no such day or time exists.
pub(super) fn from_iso(text: &str) -> Option<i64> {
    let mut text = Digits(text.trim().as_bytes());
    let year = text.number(4)?;
    text.skip(b"-")?;
    let month = text.number(2)?;
    text.skip(b"-")?;
    let day = text.number(2)?;
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let date = days_since_epoch(year, month, day) * DAY_MS;
    if text.0.is_empty() {
        return Some(date);
    }
    text.skip(b"Tt ")?;
    let time = time_of_day(&mut text)?;
    let offset = offset(&mut text)?;
    text.0.is_empty().then_some(date + time - offset)
}

fn time_of_day(text: &mut Digits<'_>) -> Option<i64> {
    let hour = text.number(2)?;
    text.skip(b":")?;
    let minute = text.number(2)?;
    let (mut second, mut millis) = (0, 0);
    if text.skip(b":").is_some() {
        second = text.number(2)?;
        if text.skip(b".,").is_some() {
            millis = text.fraction()?;
        }
    }
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then_some(((hour * 60 + minute) * 60 + second) * 1000 + millis)
}

fn offset(text: &mut Digits<'_>) -> Option<i64> {
    if text.0.is_empty() || text.skip(b"Zz").is_some() {
        return Some(0);
    }
    let sign = if text.skip(b"+-")? == b'+' { 1 } else { -1 };
    let hours = text.number(2)?;
    let _colon = text.skip(b":");
    let minutes = text.number(2)?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar, for years from 0 on.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Counting years from March puts the leap day at the end of the year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn number(&mut self, len: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(len)?;
        let value = digits.iter().try_fold(0, |value, byte| {
            char::from(*byte)
                .to_digit(10)
                .map(|digit| value * 10 + i64::from(digit))
        })?;
        self.0 = rest;
        Some(value)
    }

    /// Reads over one byte of the given ones.
    fn skip(&mut self, any: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        any.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    /// Milliseconds of a fraction of a second, of any length from one digit.
    fn fraction(&mut self) -> Option<i64> {
        let len = self
            .0
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (digits, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let padded = digits.iter().copied().chain([b'0'; 3]).take(3);
        let millis = padded.fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
        (len > 0).then_some(millis)
    }
}
