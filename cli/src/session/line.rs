//! Splits a file into numbered lines, one in memory at a time.

use std::io::{self, BufRead, Read};

use bytes::Bytes;

/// Longest line that is read, in bytes; a longer one is skipped without being kept in memory.
pub(super) const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line without its terminator.
pub(super) struct Line {
    /// Counted from 1, blank lines included.
    pub(super) number: u64,
    pub(super) body: Body,
    /// Whether a line feed ended it; only the last line of a file may lack one.
    pub(super) terminated: bool,
}

pub(super) enum Body {
    Text(Bytes),
    /// Longer than the limit; the size in bytes.
    TooLong(u64),
}

impl Line {
    /// Bytes in memory.
    pub(super) fn len(&self) -> usize {
        match &self.body {
            Body::Text(text) => text.len(),
            Body::TooLong(_) => 0,
        }
    }

    /// Whether it holds nothing but white space, which JSON Lines allows.
    pub(super) fn is_blank(&self) -> bool {
        match &self.body {
            Body::Text(text) => text.iter().all(u8::is_ascii_whitespace),
            Body::TooLong(_) => false,
        }
    }
}

/// How much was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Lines or rows that are not blank.
    pub lines: u64,
    /// Their bytes, line feeds included; of a compressed file those that it unpacks to.
    pub bytes: u64,
}

impl Size {
    pub(super) fn add(&mut self, line: &Line) {
        let body = match &line.body {
            Body::Text(text) => text.len() as u64,
            Body::TooLong(bytes) => *bytes,
        };
        self.lines += 1;
        self.bytes += body + u64::from(line.terminated);
    }
}

pub(super) struct Lines<R> {
    input: R,
    number: u64,
    limit: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, limit: u64) -> Self {
        Self {
            input,
            number: 0,
            limit,
        }
    }

    /// The next line; `None` at the end of the input.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line>> {
        // Nearly all lines lie whole in the buffer: copied once, in memory of their size.
        let buffered = self.input.fill_buf()?;
        let end = memchr::memchr(b'\n', buffered).filter(|end| (*end as u64) < self.limit);
        let Some(end) = end else {
            return self.long_line();
        };
        let text = buffered.get(..end).unwrap_or_default();
        let text = Bytes::copy_from_slice(text.strip_suffix(b"\r").unwrap_or(text));
        self.input.consume(end + 1);
        self.number += 1;
        Ok(Some(self.line(text, true)))
    }

    fn line(&self, mut text: Bytes, terminated: bool) -> Line {
        if self.number == 1 && text.starts_with(BYTE_ORDER_MARK) {
            text = text.slice(BYTE_ORDER_MARK.len()..);
        }
        Line {
            number: self.number,
            body: Body::Text(text),
            terminated,
        }
    }

    /// A line that is read in parts, or the last one.
    fn long_line(&mut self) -> io::Result<Option<Line>> {
        let mut text = Vec::new();
        let read = (&mut self.input)
            .take(self.limit)
            .read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let terminated = text.last() == Some(&b'\n');
        if !terminated && text.len() as u64 == self.limit {
            let (rest, terminated) = self.skip_line()?;
            if rest > 0 {
                let body = Body::TooLong(self.limit + rest);
                return Ok(Some(Line {
                    number: self.number,
                    body,
                    terminated,
                }));
            }
        }
        if terminated {
            text.pop();
        }
        if text.last() == Some(&b'\r') {
            text.pop();
        }
        Ok(Some(self.line(Bytes::from(text), terminated)))
    }

    /// Drops everything up to and including the next line feed; how much that was, and whether
    /// there was one.
    fn skip_line(&mut self) -> io::Result<(u64, bool)> {
        let mut skipped = 0;
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok((skipped, false));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.input.consume(used);
            skipped += used as u64;
            if end.is_some() {
                return Ok((skipped, true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], limit: u64) -> Vec<(u64, Result<Vec<u8>, u64>, bool)> {
        let mut lines = Lines::new(input, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let body = match line.body {
                Body::Text(text) => Ok(text.to_vec()),
                Body::TooLong(bytes) => Err(bytes),
            };
            all.push((line.number, body, line.terminated));
        }
        all
    }

    #[test]
    fn terminators_and_a_byte_order_mark_are_not_part_of_a_line() {
        assert_eq!(
            lines(b"\xef\xbb\xbfa\r\n\nb", 100),
            [
                (1, Ok(b"a".to_vec()), true),
                (2, Ok(vec![]), true),
                (3, Ok(b"b".to_vec()), false)
            ]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_one_is_read() {
        assert_eq!(
            lines(b"0123456789\nab\n", 4),
            [(1, Err(11), true), (2, Ok(b"ab".to_vec()), true)]
        );
    }

    #[test]
    fn a_last_line_of_exactly_the_limit_is_kept() {
        assert_eq!(lines(b"0123", 4), [(1, Ok(b"0123".to_vec()), false)]);
    }

    #[test]
    fn a_line_is_the_same_wherever_the_buffer_ends() {
        let input = b"\xef\xbb\xbfabc\r\n\nlong line\r\nend";
        let whole = lines(input, 100);
        for capacity in 1..input.len() {
            let mut lines = Lines::new(io::BufReader::with_capacity(capacity, &input[..]), 100);
            for (number, body, terminated) in &whole {
                let line = lines.next_line().unwrap().unwrap();
                let Body::Text(text) = &line.body else {
                    panic!("{capacity}")
                };
                assert_eq!(
                    (&line.number, &Ok(text.to_vec()), &line.terminated),
                    (number, body, terminated),
                    "{capacity}"
                );
            }
            assert!(lines.next_line().unwrap().is_none());
        }
    }

    #[test]
    fn no_bytes_are_no_lines() {
        assert_eq!(lines(b"", 4), []);
    }
}
