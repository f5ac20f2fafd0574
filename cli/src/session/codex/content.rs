//! The content of a rollout's items as OpenClaw's blocks; texts are copied as they stand.

use contextwire_engine::json::{ObjectWriter, quote};
use serde_json::value::RawValue;

use super::super::field::{Fields, elements, text};

/// A JSON array of blocks. A string is one text; anything else that is no array has none.
pub(super) fn blocks(content: &RawValue) -> String {
    let blocks: Vec<String> = match (elements(content), text(content)) {
        (Some(elements), _) => elements.into_iter().map(block).collect(),
        (None, Some(_)) => vec![text_block(content)],
        (None, None) => Vec::new(),
    };
    array(&blocks)
}

/// A JSON array of blocks that are JSON already.
pub(super) fn array(blocks: &[String]) -> String {
    format!("[{}]", blocks.join(","))
}

/// `{"type":"text","text":…}` with the string as it stands.
pub(super) fn text_block(text: &RawValue) -> String {
    written(
        ObjectWriter::new()
            .text("type", "text")
            .json("text", text.get().as_bytes()),
    )
}

/// A block of an unknown type stays as it is.
fn block(value: &RawValue) -> String {
    let as_it_is = || value.get().to_owned();
    let Ok(fields) = Fields::parse(value.get()) else {
        return as_it_is();
    };
    match fields.text("type").unwrap_or_default().as_str() {
        "input_text" | "output_text" | "text" => {
            fields.get("text").map_or_else(as_it_is, text_block)
        }
        "refusal" => fields.get("refusal").map_or_else(as_it_is, text_block),
        "input_image" => match fields.text("image_url") {
            Some(url) => image(&url),
            None => as_it_is(),
        },
        _ => as_it_is(),
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
pub(super) fn arguments(value: Option<&RawValue>) -> String {
    let Some(value) = value else {
        return "{}".to_owned();
    };
    match text(value) {
        // Outside its strings JSON may have line feeds, which a line of a file cannot.
        Some(inner) if Fields::parse(&inner).is_ok() => inner.trim().replace(['\n', '\r'], " "),
        None if Fields::parse(value.get()).is_ok() => value.get().to_owned(),
        Some(_) | None => format!("{{{}:{}}}", quote("input"), value.get()),
    }
}

/// The object as text.
pub(super) fn written(object: ObjectWriter) -> String {
    String::from_utf8_lossy(&object.finish()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn texts_keep_their_bytes_and_unknown_blocks_stay() {
        let content = raw(
            r#"[{"type":"input_text","text":"\ud83d \u00e9"},{"type":"output_text","text":"b","annotations":[]},{"type":"audio","n":1e400},7]"#,
        );
        assert_eq!(
            blocks(&content),
            r#"[{"type":"text","text":"\ud83d \u00e9"},{"type":"text","text":"b"},{"type":"audio","n":1e400},7]"#
        );
        assert_eq!(blocks(&raw(r#""a""#)), r#"[{"type":"text","text":"a"}]"#);
        assert_eq!(blocks(&raw("null")), "[]");
    }

    #[test]
    fn an_image_inside_its_url_becomes_data() {
        let inline = raw(r#"[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]"#);
        assert_eq!(
            blocks(&inline),
            r#"[{"type":"image","data":"AAAA","mimeType":"image/png"}]"#
        );
        let elsewhere = raw(r#"[{"type":"input_image","image_url":"https://example.com/a.png"}]"#);
        assert_eq!(
            blocks(&elsewhere),
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
