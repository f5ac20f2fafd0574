//! Says what a file is that holds no session.

use std::fmt;

use super::field::Fields;

/// What a file looks like that is not a session of OpenClaw, pi or Codex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// No bytes, or only white space.
    Empty,
    /// A directory.
    Directory,
    /// An SQLite database.
    Sqlite,
    /// A gzip archive.
    Gzip,
    /// A ZIP archive.
    Zip,
    /// Text in UTF-16.
    Utf16,
    /// Neither text nor a known format.
    Binary,
    /// A web page.
    Html,
    /// A Claude Code session.
    ClaudeCode,
    /// Chat messages in the form of the `OpenAI` API.
    OpenAiChat,
    /// A `ChatGPT` data export.
    ChatGptExport,
    /// Some other JSON array.
    JsonArray,
    /// Some other JSON object.
    JsonObject,
    /// JSON objects, one a line, of another kind.
    JsonLines,
    /// Text.
    PlainText,
}

impl FileKind {
    /// What a person can do about it, as a clause.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Empty => "pick a file that holds a conversation",
            Self::Directory => "name one `.jsonl` file in it",
            Self::Sqlite => "a database is read from its file, not through a pipe",
            Self::Gzip => "unpack it with `gunzip` first",
            Self::Zip => "unpack it first",
            Self::Utf16 => "save it as UTF-8 first",
            Self::Binary
            | Self::JsonArray
            | Self::JsonObject
            | Self::JsonLines
            | Self::PlainText => {
                "expected JSON lines that start with {\"type\":\"session\",…} or \
                 {…,\"type\":\"session_meta\",…}"
            }
            Self::Html => "a download page was probably saved in place of the file",
            Self::ClaudeCode | Self::OpenAiChat | Self::ChatGptExport => {
                "only sessions of OpenClaw, pi and Codex are read; convert it to one of those"
            }
        }
    }

    /// The kind of a file that its first bytes give away beyond doubt; `None` where it may be text.
    pub(super) fn from_magic(sample: &[u8]) -> Option<Self> {
        const MAGIC: [(&[u8], FileKind); 5] = [
            (b"SQLite format 3\0", FileKind::Sqlite),
            (b"\x1f\x8b", FileKind::Gzip),
            (b"PK\x03\x04", FileKind::Zip),
            (b"\xff\xfe", FileKind::Utf16),
            (b"\xfe\xff", FileKind::Utf16),
        ];
        MAGIC
            .iter()
            .find(|(magic, _)| sample.starts_with(magic))
            .map(|(_, kind)| *kind)
    }

    /// The best guess for a file in which no line belongs to a session, from its first bytes.
    pub(super) fn guess(sample: &[u8]) -> Self {
        let text = String::from_utf8_lossy(sample);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self::Empty;
        }
        if text.contains('\0') || mostly_undecodable(text) {
            return Self::Binary;
        }
        let head: String = text.chars().take(16).flat_map(char::to_lowercase).collect();
        if head.starts_with("<!doctype html") || head.starts_with("<html") {
            return Self::Html;
        }
        match text.chars().next() {
            Some('[') => document(text).unwrap_or(Self::JsonArray),
            Some('{') => object(text),
            _ => Self::PlainText,
        }
    }
}

/// Whether more than a tenth of the characters stand for bytes that are not UTF-8.
fn mostly_undecodable(text: &str) -> bool {
    text.matches('\u{fffd}').count() * 10 > text.chars().count()
}

fn object(text: &str) -> FileKind {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let Ok(fields) = Fields::parse(first) else {
        return document(text).unwrap_or(FileKind::JsonObject);
    };
    let has = |key| fields.get(key).is_some();
    if has("sessionId") && (has("uuid") || has("leafUuid") || has("parentUuid")) {
        FileKind::ClaudeCode
    } else if has("mapping") {
        FileKind::ChatGptExport
    } else if has("messages") || (has("role") && has("content")) {
        FileKind::OpenAiChat
    } else if lines.next().is_some() {
        FileKind::JsonLines
    } else {
        FileKind::JsonObject
    }
}

/// The kind of a JSON document over many lines, of which the sample may be only the start.
fn document(text: &str) -> Option<FileKind> {
    if text.contains("\"mapping\"") {
        Some(FileKind::ChatGptExport)
    } else if text.contains("\"role\"") && text.contains("\"content\"") {
        Some(FileKind::OpenAiChat)
    } else {
        None
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "an empty file",
            Self::Directory => "a directory",
            Self::Sqlite => "an SQLite database",
            Self::Gzip => "a gzip archive",
            Self::Zip => "a ZIP archive",
            Self::Utf16 => "text in UTF-16",
            Self::Binary => "a binary file",
            Self::Html => "a web page",
            Self::ClaudeCode => "a Claude Code session",
            Self::OpenAiChat => "chat messages in the OpenAI format",
            Self::ChatGptExport => "a ChatGPT data export",
            Self::JsonArray => "a JSON array",
            Self::JsonObject => "a JSON object",
            Self::JsonLines => "JSON lines of another kind",
            Self::PlainText => "plain text",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_recognised_by_their_start() {
        let cases: [(&[u8], FileKind); 15] = [
            (b"", FileKind::Empty),
            (b" \n\r\n\t", FileKind::Empty),
            (b"\0\x01\x02\x03", FileKind::Binary),
            (b"\x80\x81\x82\x83\x84", FileKind::Binary),
            (b"<!DOCTYPE html>\n<html>", FileKind::Html),
            (b"\n<HTML lang='en'>", FileKind::Html),
            (
                br#"{"type":"user","sessionId":"s","uuid":"u"}"#,
                FileKind::ClaudeCode,
            ),
            (
                br#"{"messages":[{"role":"user","content":"x"}]}"#,
                FileKind::OpenAiChat,
            ),
            (
                b"{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":",
                FileKind::OpenAiChat,
            ),
            (
                b"[\n {\n  \"role\": \"user\",\n  \"content\": \"x\"",
                FileKind::OpenAiChat,
            ),
            (b"[{\"title\":\"t\",\"mapping\":{", FileKind::ChatGptExport),
            (
                b"{\n \"title\": \"t\",\n \"mapping\": {",
                FileKind::ChatGptExport,
            ),
            (b"[1, 2", FileKind::JsonArray),
            (b"{\n \"a\": 1\n}", FileKind::JsonObject),
            (b"dear diary", FileKind::PlainText),
        ];
        for (sample, kind) in cases {
            assert_eq!(
                FileKind::guess(sample),
                kind,
                "{}",
                String::from_utf8_lossy(sample)
            );
        }
        assert_eq!(
            FileKind::guess(b"{\"a\":1}\n{\"a\":2}\n"),
            FileKind::JsonLines
        );
    }

    #[test]
    fn containers_are_recognised_by_their_magic_alone() {
        let cases: [(&[u8], Option<FileKind>); 7] = [
            (b"SQLite format 3\0\x10\0", Some(FileKind::Sqlite)),
            (b"\x1f\x8b\x08", Some(FileKind::Gzip)),
            (b"\x28\xb5\x2f\xfd\x24", None),
            (b"PK\x03\x04\x14", Some(FileKind::Zip)),
            (b"\xff\xfe{\0", Some(FileKind::Utf16)),
            (b"\xfe\xff\0{", Some(FileKind::Utf16)),
            (b"{\"type\":\"session\"}", None),
        ];
        for (sample, kind) in cases {
            assert_eq!(FileKind::from_magic(sample), kind);
        }
    }
}
