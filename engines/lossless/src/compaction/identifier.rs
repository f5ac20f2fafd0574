//! Names and numbers that a summary must not lose.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

/// Heads the list of identifiers that a text lost, in the text itself.
pub(crate) const HEADING: &str = "## Also in the originals";
/// Identifiers that are looked for at most.
const MOST: usize = 160;
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=120;

/// An identifier with where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identifier {
    pub(crate) text: String,
    pub(crate) handle: String,
    weight: u32,
}

/// The identifiers of a material, collected line by line.
#[derive(Debug, Default)]
pub(crate) struct Identifiers {
    /// In the order in which they were found.
    list: Vec<Identifier>,
    known: HashMap<String, usize>,
}

impl Identifiers {
    /// Adds those of a text that was said under a handle. `bonus` is for who said it: the user counts
    /// more than the model.
    pub(crate) fn add(&mut self, text: &str, handle: &str, bonus: u32) {
        for word in words(text) {
            let Some(weight) = weight(word) else {
                continue;
            };
            self.note(word, handle, weight + bonus);
        }
    }

    /// Adds those of a summary; the lines of its own list keep their handles and their order, so that
    /// what mattered in a leaf still does two levels up.
    pub(crate) fn add_summary(&mut self, text: &str, handle: &str) {
        let (body, list) = text.split_once(HEADING).unwrap_or((text, ""));
        for (line, at) in list.lines().filter_map(listed).zip(0u32..) {
            // The first of a list outweigh the last of another, and both what is merely mentioned.
            let kind = weight(line.0).unwrap_or_default();
            self.note(line.0, line.1, 20 + 8 * kind - at.min(20));
        }
        self.add(body, handle, 2);
    }

    fn note(&mut self, word: &str, handle: &str, weight: u32) {
        if let Some(at) = self.known.get(word) {
            if let Some(known) = self.list.get_mut(*at) {
                known.weight = known.weight.max(weight) + 1;
            }
            return;
        }
        self.known.insert(word.to_owned(), self.list.len());
        self.list.push(Identifier {
            text: word.to_owned(),
            handle: handle.to_owned(),
            weight,
        });
    }

    /// Those that a summary does not hold, the weightiest first.
    pub(crate) fn lost_in(&self, summary: &str) -> Vec<Identifier> {
        let mut list: Vec<&Identifier> = self.list.iter().collect();
        list.sort_by_key(|found| std::cmp::Reverse(found.weight));
        list.truncate(MOST);
        let held: HashSet<&str> = words(summary).collect();
        let is_part = |text: &str| memmem::find(summary.as_bytes(), text.as_bytes()).is_some();
        list.retain(|found| !held.contains(found.text.as_str()) && !is_part(&found.text));
        list.into_iter().cloned().collect()
    }
}

/// The summary with a list of what it lost, each with the handle under which it is kept (C16).
///
/// The list has at most `room` characters.
pub(crate) fn with_lost(summary: &str, lost: &[Identifier], mut room: usize) -> String {
    let mut list = String::new();
    for found in lost {
        let line = format!("\n- `{}` ({})", found.text, found.handle);
        let Some(left) = room.checked_sub(line.chars().count()) else {
            break;
        };
        room = left;
        list.push_str(&line);
    }
    if list.is_empty() {
        return summary.to_owned();
    }
    format!("{}\n\n{HEADING}{list}", summary.trim_end())
}

/// A line of such a list.
fn listed(line: &str) -> Option<(&str, &str)> {
    let (text, rest) = line.strip_prefix("- `")?.split_once("` (")?;
    Some((text, rest.strip_suffix(')')?))
}

/// Runs of letters, digits and the signs that names hold, without signs around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(|byte| is_inside(*byte))?;
            let rest = bytes.get(start..)?;
            let len = rest.iter().position(|byte| !is_inside(*byte));
            at = start + len.unwrap_or(rest.len());
            // All that is not ASCII is inside, so that no character is cut.
            let word = trimmed(text.get(start..at)?);
            if LENGTHS.contains(&word.len()) {
                return Some(word);
            }
        }
    })
}

fn is_inside(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'/' | b':' | b'=' | b'@'
        | b'#' | b'%' | b'+' | b'-' | b'~' | 0x80..)
}

fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches(['.', ':', '=', '+', '-', '%', '#', '@']);
    word.trim_end_matches(['.', ':', '=', '+', '-', '%', '#', '@', '/'])
}

/// How much a word looks like a name of something; none where it is a word like any other.
fn weight(word: &str) -> Option<u32> {
    // Most words are, and need no closer look.
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    if word.starts_with("msg:") || word.starts_with("sum:") {
        return None;
    }
    let letters = word.chars().any(char::is_alphabetic);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_value = word
        .split_once('=')
        .is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    let is_path = word.contains('/') && letters;
    let is_name = word.contains("::") || word.contains('_') && letters || is_file(word);
    let humps = word
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
        .count();
    match () {
        () if is_value => Some(5),
        () if is_path || is_name => Some(4),
        () if digits > 0 && letters => Some(3),
        () if digits >= 4 => Some(3),
        () if humps > 0 => Some(2),
        () => None,
    }
}

fn is_file(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut identifiers = Identifiers::default();
        identifiers.add(text, "msg:1", 0);
        let lost = identifiers.lost_in("");
        lost.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn names_paths_and_numbers_are_found_and_words_are_not() {
        assert_eq!(
            found(
                "Set PORT=48213 in src/main.rs, then call Vec::new and my_fn; see build 7f3a and 12345."
            ),
            [
                "PORT=48213",
                "src/main.rs",
                "Vec::new",
                "my_fn",
                "7f3a",
                "12345"
            ]
        );
        assert!(
            found("We talked about it, well and good. Then 3 of us went home (msg:77).").is_empty()
        );
    }

    #[test]
    fn c16_what_a_summary_lost_is_listed_with_its_handle_and_found_there_again() {
        let mut identifiers = Identifiers::default();
        identifiers.add("PORT=48213 and src/lib.rs", "msg:7", 2);
        let text = with_lost(
            "All in src/lib.rs.",
            &identifiers.lost_in("All in src/lib.rs."),
            300,
        );
        assert!(text.ends_with("## Also in the originals\n- `PORT=48213` (msg:7)"));
        let mut above = Identifiers::default();
        above.add_summary(&text, "sum:1");
        let lost = above.lost_in("nothing");
        assert_eq!(
            (lost[0].text.as_str(), lost[0].handle.as_str()),
            ("PORT=48213", "msg:7")
        );
        assert_eq!(
            (lost[1].text.as_str(), lost[1].handle.as_str()),
            ("src/lib.rs", "sum:1")
        );
    }

    #[test]
    fn the_list_stays_within_its_share() {
        let mut identifiers = Identifiers::default();
        for n in 0..500 {
            identifiers.add(&format!("name_{n}"), "msg:1", 0);
        }
        let text = with_lost("", &identifiers.lost_in(""), 200);
        assert!(text.len() < 260 && text.contains("name_0"));
    }
}
