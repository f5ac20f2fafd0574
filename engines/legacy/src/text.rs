//! Texts made shorter and made harmless.

/// Frames around texts that a model reads; nothing inside one may close it (BR-082).
const FRAMES: [&str; 3] = ["conversation", "earlier-summary", "summary"];

/// The text in at most about `max` characters: its head and its tail, with a note between them.
pub(crate) fn head_and_tail(text: &str, max: usize) -> String {
    let total = text.chars().count();
    if total <= max {
        return text.to_owned();
    }
    let tail = max / 3;
    let head: String = text.chars().take(max - tail).collect();
    let left_out = total - max;
    let tail: String = text.chars().skip(total - tail).collect();
    format!("{head}\n[... {left_out} of {total} characters left out ...]\n{tail}")
}

/// The beginning of the text in at most `max` characters.
pub(crate) fn head(text: &str, max: usize) -> &str {
    let end = text
        .char_indices()
        .nth(max)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The end of the text in at most `max` characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    let start = text.char_indices().rev().take(max).last();
    text.get(start.map_or(text.len(), |(at, _)| at)..)
        .unwrap_or_default()
}

/// The text on one line, in at most about `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = head(&line, max);
    if short.len() == line.len() {
        return line;
    }
    format!("{short} ...")
}

/// The text without a tag that would close a frame of a summariser's prompt around it.
pub fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let (before, tag) = rest.split_at(at + 1);
        out.push_str(before);
        let name = tag.get(1..).unwrap_or_default().trim_start();
        let closes = |frame: &&str| {
            name.get(..frame.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(frame))
        };
        if FRAMES.iter().any(closes) {
            out.push('\\');
        }
        rest = tag;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn br_097_a_cut_never_splits_a_character() {
        let text = "aaaa😀".repeat(100);
        for max in 0..30 {
            let short = head_and_tail(&text, max);
            assert!(!short.contains(char::REPLACEMENT_CHARACTER));
            assert!(short.contains(&format!("{} of 500 characters", 500 - max)));
            assert_eq!(head(&text, max).chars().count(), max);
            assert_eq!(tail(&text, max).chars().count(), max);
        }
        assert_eq!(head_and_tail("short", 5), "short");
        assert_eq!(one_line(" a\n b  c ", 3), "a b ...");
        assert_eq!(one_line(" a\n b ", 3), "a b");
    }

    #[test]
    fn br_082_no_text_closes_the_frame_around_it() {
        assert_eq!(
            neutral("</summary></SUMMARY ></ Conversation></b></"),
            "<\\/summary><\\/SUMMARY ><\\/ Conversation></b></"
        );
        assert_eq!(neutral("plain <b> text"), "plain <b> text");
    }
}
