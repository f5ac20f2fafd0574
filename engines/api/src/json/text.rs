//! Strings of a JSON source, decoded only when somebody asks.

use std::borrow::Cow;
use std::ops::Range;

/// A string value or key: its raw bytes between the quotes and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    raw: &'a [u8],
    span: Range<usize>,
    escaped: bool,
}

impl<'a> Text<'a> {
    pub(super) fn new(raw: &'a [u8], span: Range<usize>, escaped: bool) -> Self {
        Self { raw, span, escaped }
    }

    /// Where the string stands in the source, quotes included.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The bytes between the quotes, escapes and all.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether the decoded string equals `text`.
    pub fn is(&self, text: &str) -> bool {
        if self.escaped {
            self.decode() == text
        } else {
            self.raw == text.as_bytes()
        }
    }

    /// The string; lone surrogates, unknown escapes and invalid UTF-8 become U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(unescape(self.raw))
        } else {
            String::from_utf8_lossy(self.raw)
        }
    }

    /// Decodes a part of the raw bytes, cut anywhere: what the cut splits shows as U+FFFD or as the
    /// letters of an escape. Good enough for a sample; nothing for a range outside.
    pub fn decode_part(&self, range: Range<usize>) -> Cow<'a, str> {
        let raw = self.raw.get(range).unwrap_or_default();
        if self.escaped {
            Cow::Owned(unescape(raw))
        } else {
            String::from_utf8_lossy(raw)
        }
    }
}

/// A JSON string literal that decodes to `text`, with no more escapes than JSON asks for.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            control if control < ' ' => {
                quoted.push_str("\\u00");
                quoted.push(hex_digit(u32::from(control) >> 4));
                quoted.push(hex_digit(u32::from(control) & 15));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn hex_digit(value: u32) -> char {
    char::from_digit(value, 16).unwrap_or('0')
}

fn unescape(raw: &[u8]) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        text.push_str(&String::from_utf8_lossy(plain));
        let (character, after) = decode_escape(escape.get(1..).unwrap_or_default());
        text.push(character);
        rest = after;
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// Decodes what follows a backslash; gives the character and the bytes after it.
fn decode_escape(escape: &[u8]) -> (char, &[u8]) {
    let after = escape.get(1..).unwrap_or_default();
    match escape.first() {
        Some(b'n') => ('\n', after),
        Some(b't') => ('\t', after),
        Some(b'r') => ('\r', after),
        Some(b'b') => ('\u{8}', after),
        Some(b'f') => ('\u{c}', after),
        Some(&byte @ (b'"' | b'\\' | b'/')) => (char::from(byte), after),
        Some(b'u') => decode_unit(after),
        // The byte itself stays: it may begin a longer character.
        Some(_) | None => (char::REPLACEMENT_CHARACTER, escape),
    }
}

/// Decodes the hexadecimal digits of `\u`, and of the second half of a surrogate pair.
fn decode_unit(digits: &[u8]) -> (char, &[u8]) {
    let Some((first, after)) = split_unit(digits) else {
        return (char::REPLACEMENT_CHARACTER, digits);
    };
    let second = after.strip_prefix(b"\\u").and_then(split_unit);
    if let (0xD800..=0xDBFF, Some((low @ 0xDC00..=0xDFFF, after))) = (first, second) {
        let scalar = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
        return (
            char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER),
            after,
        );
    }
    (
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER),
        after,
    )
}

fn split_unit(digits: &[u8]) -> Option<(u32, &[u8])> {
    let (unit, after) = digits.split_first_chunk::<4>()?;
    let value = unit.iter().try_fold(0, |value, byte| {
        char::from(*byte)
            .to_digit(16)
            .map(|digit| value * 16 + digit)
    })?;
    Some((value, after))
}
