//! The content of a rollout's items as OpenClaw's blocks; texts are copied as they stand.

use contextwire_engine::json::{ObjectWriter, quote};

use super::super::field::Fields;
use super::super::node::Node;

/// Blocks of a content on their way, in one text: items are as large as the output of tools.
#[derive(Clone, Debug)]
pub(super) struct Blocks(String);

impl Default for Blocks {
    fn default() -> Self {
        Self("[".to_owned())
    }
}

impl Blocks {
    /// Those of a content. A string is one text; anything else that is no array has none.
    pub(super) fn of(content: &Node<'_>) -> Self {
        let mut blocks = Self(String::with_capacity(content.json().len() + 64));
        blocks.0.push('[');
        match content.elements() {
            Some(elements) => elements.iter().for_each(|block| blocks.add(block)),
            None if content.is_text() => blocks.text(content.json()),
            None => {}
        }
        blocks
    }

    /// One more, which is JSON already.
    pub(super) fn push(&mut self, block: &str) {
        self.separate();
        self.0.push_str(block);
    }

    /// Those of another content behind these.
    pub(super) fn append(&mut self, other: Self) {
        if self.is_empty() {
            self.0 = other.0;
        } else if !other.is_empty() {
            self.push(other.0.get(1..).unwrap_or_default());
        }
    }

    /// `{"type":"text","text":…}` with a string as it stands.
    pub(super) fn text(&mut self, json: &str) {
        self.separate();
        for part in [r#"{"type":"text","text":"#, json, "}"] {
            self.0.push_str(part);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    fn separate(&mut self) {
        if !self.is_empty() {
            self.0.push(',');
        }
    }

    /// The JSON array.
    pub(super) fn finish(mut self) -> String {
        self.0.push(']');
        self.0
    }

    /// A block of an unknown type stays as it is.
    fn add(&mut self, block: &Node<'_>) {
        let kind = block.text_of("type").unwrap_or_default();
        let said = match &*kind {
            "input_text" | "output_text" | "text" => block.get("text"),
            "refusal" => block.get("refusal"),
            _ => None,
        };
        let url = || block.text_of("image_url").filter(|_| kind == "input_image");
        match (said, url()) {
            (Some(said), _) => self.text(said.json()),
            (None, Some(url)) => self.push(&image(&url)),
            (None, None) => self.push(block.json()),
        }
    }
}

/// An image inside a URL becomes data and its type; one that lies elsewhere stays a URL.
fn image(url: &str) -> String {
    let image = ObjectWriter::new().text("type", "image");
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    written(match inline {
        Some((mime, data)) => image.text("data", data).text("mimeType", mime),
        None => image.text("url", url),
    })
}

/// The arguments of a call: the object that the string holds, else the string under `input`.
pub(super) fn arguments(value: Option<&Node<'_>>) -> String {
    let Some(value) = value else {
        return "{}".to_owned();
    };
    match value.text() {
        // Outside its strings JSON may have line feeds, which a line of a file cannot.
        Some(inner) if Fields::parse(&inner).is_ok() => inner.trim().replace(['\n', '\r'], " "),
        None if value.is_object() => value.json().to_owned(),
        Some(_) | None => format!("{{{}:{}}}", quote("input"), value.json()),
    }
}

/// The object as text.
pub(super) fn written(object: ObjectWriter) -> String {
    String::from_utf8_lossy(&object.finish()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Node<'_> {
        Node::parse(json, 9).unwrap()
    }

    #[test]
    fn texts_keep_their_bytes_and_unknown_blocks_stay() {
        let content = raw(
            r#"[{"type":"input_text","text":"\ud83d \u00e9"},{"type":"output_text","text":"b","annotations":[]},{"type":"audio","n":1e400},7]"#,
        );
        assert_eq!(
            Blocks::of(&content).finish(),
            r#"[{"type":"text","text":"\ud83d \u00e9"},{"type":"text","text":"b"},{"type":"audio","n":1e400},7]"#
        );
        assert_eq!(
            Blocks::of(&raw(r#""a""#)).finish(),
            r#"[{"type":"text","text":"a"}]"#
        );
        assert_eq!(Blocks::of(&raw("null")).finish(), "[]");
    }

    #[test]
    fn an_image_inside_its_url_becomes_data() {
        let inline = raw(r#"[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]"#);
        assert_eq!(
            Blocks::of(&inline).finish(),
            r#"[{"type":"image","data":"AAAA","mimeType":"image/png"}]"#
        );
        let elsewhere = raw(r#"[{"type":"input_image","image_url":"https://example.com/a.png"}]"#);
        assert_eq!(
            Blocks::of(&elsewhere).finish(),
            r#"[{"type":"image","url":"https://example.com/a.png"}]"#
        );
    }

    #[test]
    fn arguments_are_an_object_whatever_was_recorded() {
        let cases = [
            (
                r#""{\"cmd\":\"ls\",\n \"n\":1e400}""#,
                r#"{"cmd":"ls",  "n":1e400}"#,
            ),
            (r#""*** Begin Patch""#, r#"{"input":"*** Begin Patch"}"#),
            (r#"{"type":"exec"}"#, r#"{"type":"exec"}"#),
            (r#""[1]""#, r#"{"input":"[1]"}"#),
            ("7", r#"{"input":7}"#),
        ];
        for (recorded, expected) in cases {
            assert_eq!(arguments(Some(&raw(recorded))), expected);
        }
        assert_eq!(arguments(None), "{}");
    }
}
