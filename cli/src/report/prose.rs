//! Text of others on a terminal: nothing in it moves the cursor, and lines fit.

use console::{measure_text_width, truncate_str};

/// Characters that turn the direction of what stands around them, or hide.
const DIRECTIONS: [std::ops::RangeInclusive<char>; 4] = [
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{2069}',
    '\u{feff}'..='\u{feff}',
];

/// A joiner holds the parts of one character together.
const JOINER: char = '\u{200d}';

/// The text with a space in the place of each control character, without what changes directions.
pub(super) fn harmless(text: &str) -> String {
    let kept = text.chars().filter(|character| {
        *character == JOINER || !DIRECTIONS.iter().any(|range| range.contains(character))
    });
    kept.map(|character| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    })
    .collect()
}

/// The beginning of a text on one line of this many columns, runs of white space as one space.
pub(super) fn one_line(text: &str, columns: usize) -> String {
    // What does not fit need not be looked at; no character is wider than two columns, and few
    // take more than eight of what is counted here.
    let start: String = text
        .chars()
        .take(columns.saturating_mul(8).max(64))
        .collect();
    let is_cut = start.len() < text.len();
    let words: Vec<String> = start.split_whitespace().map(harmless).collect();
    let mut line = words.join(" ");
    if is_cut {
        line.push('…');
    }
    truncate_str(&line, columns, "…").into_owned()
}

/// A text over as many lines as it takes, none of them wider than this many columns.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = harmless(&line.replace('\t', "    "));
        let line = line.trim_end();
        if measure_text_width(line) <= columns {
            lines.push(line.to_owned());
        } else {
            let broken = textwrap::wrap(line, columns).into_iter();
            lines.extend(broken.map(std::borrow::Cow::into_owned));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_moves_the_cursor_or_turns_it_round() {
        let text = "a\u{1b}[31mb\u{202e}c\u{7}d\r\u{feff}e";
        assert_eq!(harmless(text), "a [31mbc d e");
        assert_eq!(harmless("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    #[test]
    fn one_line_is_cut_by_the_width_of_its_characters() {
        assert_eq!(one_line("a\n\n b\tc", 20), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("満潮は六時", 6), "満潮…");
        assert_eq!(one_line("short", 5), "short");
        let long = one_line(&"x".repeat(1_000_000), 10);
        assert_eq!(measure_text_width(&long), 10);
    }

    #[test]
    fn wrapped_lines_are_no_wider_than_asked() {
        let text = "満潮は六時十分です。干潮は十二時二十分です。\n\tindented words of prose\n\nend";
        for columns in [8, 11, 20, 200] {
            let lines = wrapped(text, columns);
            let widest = lines.iter().map(|line| measure_text_width(line)).max();
            assert!(widest <= Some(columns), "{columns}: {lines:?}");
            let joined: String = lines.concat().split_whitespace().collect();
            let whole: String = text.split_whitespace().collect();
            assert_eq!(joined, whole);
        }
        assert_eq!(wrapped("a\n\nb", 20), ["a", "", "b"]);
    }
}
