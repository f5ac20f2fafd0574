//! What a message says, for people: its texts decoded, everything else in a word.

use serde_json::value::RawValue;

use super::field::{Fields, elements, text};

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Something said, or the output of a tool.
    Text(String),
    /// Something thought.
    Thinking(String),
    /// A tool that is called.
    Call {
        /// The tool.
        name: String,
        /// Its arguments as JSON.
        arguments: String,
    },
    /// An image.
    Image {
        /// Bytes of its JSON.
        bytes: u64,
    },
    /// A command that the user ran.
    Command(String),
    /// Something else, as the JSON that it is.
    Json(String),
}

/// The parts of a payload in order; the whole payload where it shows none.
pub fn pieces(payload: &[u8]) -> Vec<Piece> {
    let json = String::from_utf8_lossy(payload);
    let Ok(message) = Fields::parse(&json) else {
        return vec![Piece::Json(json.into_owned())];
    };
    let mut pieces = Vec::new();
    pieces.extend(message.text("command").map(Piece::Command));
    pieces.extend(message.text("output").map(Piece::Text));
    pieces.extend(message.text("summary").map(Piece::Text));
    if let Some(content) = message.get("content") {
        match (text(content), elements(content)) {
            (Some(said), _) => pieces.push(Piece::Text(said.into_owned())),
            (None, Some(blocks)) => pieces.extend(blocks.into_iter().map(block)),
            (None, None) => pieces.push(Piece::Json(content.get().to_owned())),
        }
    }
    pieces
}

fn block(block: &RawValue) -> Piece {
    let as_it_is = || Piece::Json(block.get().to_owned());
    let Ok(fields) = Fields::parse(block.get()) else {
        return text(block).map_or_else(as_it_is, |text| Piece::Text(text.into_owned()));
    };
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "text" => fields.text("text").map_or_else(as_it_is, Piece::Text),
        "thinking" => fields
            .text("thinking")
            .map_or_else(as_it_is, Piece::Thinking),
        "image" => Piece::Image {
            bytes: block.get().len() as u64,
        },
        kind if contextwire_engine::header::is_call_type(kind) => Piece::Call {
            name: fields.text("name").unwrap_or_default(),
            arguments: ["arguments", "input"]
                .into_iter()
                .find_map(|key| fields.get(key))
                .map_or_else(String::new, |value| value.get().to_owned()),
        },
        _ => as_it_is(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_in_its_parts() {
        let payload = br#"{"role":"assistant","content":[{"type":"thinking","thinking":"h\u006d"},{"type":"text","text":"hi"},{"type":"toolCall","name":"ls","arguments":{"a":1e400}},{"type":"image","data":"AA"},null,"plain",{"type":"new"}]}"#;
        assert_eq!(
            pieces(payload),
            [
                Piece::Thinking("hm".into()),
                Piece::Text("hi".into()),
                Piece::Call {
                    name: "ls".into(),
                    arguments: r#"{"a":1e400}"#.into()
                },
                Piece::Image { bytes: 28 },
                Piece::Json("null".into()),
                Piece::Text("plain".into()),
                Piece::Json(r#"{"type":"new"}"#.into()),
            ]
        );
        let command = br#"{"role":"bashExecution","command":"ls","output":"a"}"#;
        assert_eq!(
            pieces(command),
            [Piece::Command("ls".into()), Piece::Text("a".into())]
        );
        assert_eq!(
            pieces(br#"{"role":"compactionSummary","summary":"s"}"#),
            [Piece::Text("s".into())]
        );
        assert_eq!(pieces(b"no json"), [Piece::Json("no json".into())]);
    }
}
