//! A tolerant, iterative scanner over JSON bytes, with spans (R2.1, R2.2).
//!
//! It reads what it is asked for and skips the rest: numbers of any size stay text, lone surrogate
//! escapes, duplicate keys, raw control characters, `NaN` and invalid UTF-8 inside strings all
//! pass, nesting is bounded by memory alone. Nothing is ever serialised again: [`splice`] replaces
//! values in the original bytes and leaves every other byte as it was.
//!
//! ```
//! use contextwire_engine::json::Cursor;
//!
//! let mut cursor = Cursor::new(br#"{"n":1e400,"role":"user"}"#);
//! cursor.begin_object()?;
//! while let Some(key) = cursor.next_key()? {
//!     if key.is("role") {
//!         assert_eq!(cursor.text()?.decode(), "user");
//!     } else {
//!         cursor.skip_value()?;
//!     }
//! }
//! cursor.finish()?;
//! # Ok::<(), contextwire_engine::json::JsonError>(())
//! ```

mod error;
mod nesting;
mod object;
mod splice;
mod text;

use std::ops::Range;

pub use error::{JsonError, Problem};
pub use object::ObjectWriter;
pub use splice::{Edit, SpliceError, splice};
pub use text::{Text, quote};

use nesting::{Container, Nesting};

/// What kind of value comes next, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit, `-`, `NaN` or `Infinity`.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

type Result<T> = std::result::Result<T, JsonError>;

/// A pull reader: the caller says what it expects, the cursor stands before the next value.
///
/// After an error the cursor's position is unspecified; what was read before remains good.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    source: &'a [u8],
    at: usize,
    /// Whether the container entered last has not given an entry yet.
    first: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first value of the source.
    pub fn new(source: &'a [u8]) -> Self {
        Self {
            source,
            at: 0,
            first: false,
        }
    }

    /// Offset of the next unread byte.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// The source's bytes of a span; nothing for a span outside it.
    pub fn raw(&self, span: Range<usize>) -> &'a [u8] {
        self.source.get(span).unwrap_or_default()
    }

    /// The kind of the value that comes next, which stays unread.
    ///
    /// # Errors
    /// [`JsonError`] where no value can start.
    pub fn kind(&mut self) -> Result<Kind> {
        match self.peek()? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' => Ok(Kind::String),
            b't' | b'f' => Ok(Kind::Bool),
            b'n' => Ok(Kind::Null),
            b'-' | b'0'..=b'9' | b'N' | b'I' => Ok(Kind::Number),
            _ => Err(self.expected("a value")),
        }
    }

    /// Enters an object; read it with [`Self::next_key`] until that gives `None`.
    ///
    /// # Errors
    /// [`JsonError`] where no object starts.
    pub fn begin_object(&mut self) -> Result<()> {
        self.expect(b'{', "an object")?;
        self.first = true;
        Ok(())
    }

    /// The next key of the object entered last, or `None` once it is closed. The value must be read
    /// or skipped before the next call.
    ///
    /// # Errors
    /// [`JsonError`] where neither a key nor the end follows.
    pub fn next_key(&mut self) -> Result<Option<Text<'a>>> {
        if !self.advance(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        self.key().map(Some)
    }

    /// Enters an array; read it with [`Self::next_element`] until that gives false.
    ///
    /// # Errors
    /// [`JsonError`] where no array starts.
    pub fn begin_array(&mut self) -> Result<()> {
        self.expect(b'[', "an array")?;
        self.first = true;
        Ok(())
    }

    /// Whether the array entered last has another element, which must be read or skipped before
    /// the next call; false once it is closed.
    ///
    /// # Errors
    /// [`JsonError`] where neither an element nor the end follows.
    pub fn next_element(&mut self) -> Result<bool> {
        self.advance(b']', "`,` or `]`")
    }

    /// Reads a string.
    ///
    /// # Errors
    /// [`JsonError`] where no string starts or it does not end.
    pub fn text(&mut self) -> Result<Text<'a>> {
        self.peek()?;
        let start = self.at;
        self.expect(b'"', "a string")?;
        let mut escaped = false;
        loop {
            let rest = self.source.get(self.at..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(self.ended());
            };
            if rest.get(found) == Some(&b'"') {
                let raw = self.raw(start + 1..self.at + found);
                self.at += found + 1;
                self.first = false;
                return Ok(Text::new(raw, start..self.at, escaped));
            }
            escaped = true;
            self.at += found + 2;
        }
    }

    /// Reads a number as the text that it is.
    ///
    /// # Errors
    /// [`JsonError`] where no number starts or it is malformed.
    pub fn number(&mut self) -> Result<&'a str> {
        self.peek()?;
        let start = self.at;
        self.scan_number()?;
        self.first = false;
        // A number is ASCII: the scan accepts nothing else.
        Ok(std::str::from_utf8(self.raw(start..self.at)).unwrap_or_default())
    }

    /// Reads over one value of any kind and depth without recursion; gives its span.
    ///
    /// # Errors
    /// [`JsonError`] at the first malformed byte.
    pub fn skip_value(&mut self) -> Result<Range<usize>> {
        self.peek()?;
        let start = self.at;
        let mut nesting = Nesting::default();
        loop {
            match self.peek()? {
                b'{' => self.open(&mut nesting, Container::Object),
                b'[' => self.open(&mut nesting, Container::Array),
                _ => self.scan_scalar()?,
            }
            if !self.next_entry(&mut nesting)? {
                return Ok(start..self.at);
            }
        }
    }

    /// Checks that nothing but white space follows.
    ///
    /// # Errors
    /// [`Problem::Trailing`] where something does.
    pub fn finish(&mut self) -> Result<()> {
        self.skip_space();
        match self.source.get(self.at) {
            None => Ok(()),
            Some(_) => Err(self.error(Problem::Trailing)),
        }
    }

    /// Moves before the next value of the innermost container that has one; false when all closed.
    fn next_entry(&mut self, nesting: &mut Nesting) -> Result<bool> {
        while let Some(container) = nesting.innermost() {
            let (close, due) = container.close();
            if !self.advance(close, due)? {
                nesting.leave();
                continue;
            }
            if container == Container::Object {
                self.key()?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn open(&mut self, nesting: &mut Nesting, container: Container) {
        self.at += 1;
        self.first = true;
        nesting.enter(container);
    }

    /// Moves to the next entry of a container (true) or out of it (false).
    fn advance(&mut self, close: u8, due: &'static str) -> Result<bool> {
        let first = std::mem::replace(&mut self.first, false);
        match self.peek()? {
            byte if byte == close => {
                self.at += 1;
                Ok(false)
            }
            b',' if !first => {
                self.at += 1;
                Ok(true)
            }
            _ if first => Ok(true),
            _ => Err(self.expected(due)),
        }
    }

    fn key(&mut self) -> Result<Text<'a>> {
        if self.peek()? != b'"' {
            return Err(self.expected("a key"));
        }
        let key = self.text()?;
        self.expect(b':', "`:`")?;
        Ok(key)
    }

    fn scan_scalar(&mut self) -> Result<()> {
        match self.kind()? {
            Kind::String => self.text().map(drop),
            Kind::Number => self.scan_number(),
            Kind::Null => self.scan_word(b"null"),
            Kind::Bool if self.source.get(self.at) == Some(&b't') => self.scan_word(b"true"),
            Kind::Bool => self.scan_word(b"false"),
            Kind::Object | Kind::Array => Err(self.expected("a scalar")),
        }?;
        self.first = false;
        Ok(())
    }

    fn scan_number(&mut self) -> Result<()> {
        if self.source.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.source.get(self.at) {
            // Python writes these; a payload with one is a real payload.
            Some(b'N') => return self.scan_word(b"NaN"),
            Some(b'I') => return self.scan_word(b"Infinity"),
            _ => self.scan_digits()?,
        }
        if self.source.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.scan_digits()?;
        }
        if let Some(b'e' | b'E') = self.source.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.source.get(self.at) {
                self.at += 1;
            }
            self.scan_digits()?;
        }
        Ok(())
    }

    fn scan_digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.source.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.expected("a digit"))
        } else {
            Ok(())
        }
    }

    fn scan_word(&mut self, word: &'static [u8]) -> Result<()> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(())
        } else if word.starts_with(rest) {
            Err(JsonError {
                offset: self.source.len(),
                problem: Problem::Ended,
            })
        } else {
            Err(self.expected("a value"))
        }
    }

    fn expect(&mut self, byte: u8, due: &'static str) -> Result<()> {
        if self.peek()? != byte {
            return Err(self.expected(due));
        }
        self.at += 1;
        Ok(())
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Result<u8> {
        self.skip_space();
        self.source
            .get(self.at)
            .copied()
            .ok_or_else(|| self.ended())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.source.get(self.at) {
            self.at += 1;
        }
    }

    fn expected(&self, due: &'static str) -> JsonError {
        match self.source.get(self.at) {
            Some(_) => self.error(Problem::Expected(due)),
            None => self.ended(),
        }
    }

    fn ended(&self) -> JsonError {
        JsonError {
            offset: self.source.len(),
            problem: Problem::Ended,
        }
    }

    fn error(&self, problem: Problem) -> JsonError {
        JsonError {
            offset: self.at,
            problem,
        }
    }
}

#[cfg(test)]
mod tests;
