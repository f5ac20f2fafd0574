//! What the tools of a generated session answer: code, logs, JSON, text in other scripts.

use std::fmt::Write;

use super::record::Arguments;
use super::rng::Rng;

/// The text of a tool result, and whether the tool failed.
pub(super) fn answer(arguments: &Arguments, rng: &mut Rng) -> (String, bool) {
    match arguments {
        Arguments::Read { path } if path.starts_with("locale/") => (locale(rng), false),
        Arguments::Read { path } => (source(path, rng), false),
        Arguments::Grep { pattern, .. } => (matches(pattern, rng), false),
        Arguments::Edit { path, .. } if rng.one_in(6) => (
            format!("Could not find the exact text in {path}. The old text must match."),
            true,
        ),
        Arguments::Edit { path, .. } => {
            (format!("Successfully replaced 1 block in {path}."), false)
        }
        Arguments::Write { path, content } => (
            format!("Successfully wrote {} bytes to {path}", content.len()),
            false,
        ),
        Arguments::Bash { command } => (terminal(command, rng), false),
    }
}

fn terminal(command: &str, rng: &mut Rng) -> String {
    match command.split(' ').next() {
        Some("curl") => readings(rng),
        Some("git") => history(rng),
        Some("tidewatch") => stations(rng),
        Some(_) if command.contains("bench") => benchmark(rng),
        Some(_) | None if command.contains("tail") => tests(rng.between(4, 20), rng),
        Some(_) | None => tests(rng.between(60, 160), rng),
    }
}

const VERBS: [&str; 8] = [
    "parse",
    "check",
    "interpolate",
    "print",
    "merge",
    "sort",
    "convert",
    "expire",
];
const NOUNS: [&str; 8] = [
    "reading",
    "station",
    "curve",
    "height",
    "datum",
    "zone",
    "table",
    "cache_entry",
];

/// Rust source, mostly short, now and then a long file.
fn source(path: &str, rng: &mut Rng) -> String {
    let functions = if rng.one_in(9) {
        rng.between(20, 36)
    } else {
        rng.between(2, 8)
    };
    let mut text = format!("//! {path}: part of tidewatch.\n\nuse crate::Millimetres;\n");
    for _ in 0..functions {
        let (verb, noun) = (rng.pick(&VERBS), rng.pick(&NOUNS));
        let (low, high) = (rng.between(1, 60), rng.between(61, 1440));
        let _ = write!(
            text,
            "\n/// Minutes {low} to {high} only; everything else is the caller's business.\n\
             pub fn {verb}_{noun}_{low}(input: &[Millimetres]) -> Option<Millimetres> {{\n    \
             let window = input.get({low}..{high})?;\n    \
             let total: i64 = window.iter().map(|height| i64::from(height.0)).sum();\n    \
             Millimetres::try_from(total / i64::from({high} - {low})).ok()\n}}\n"
        );
    }
    text
}

fn matches(pattern: &str, rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.between(1, 14) {
        let (noun, line) = (rng.pick(&NOUNS), rng.between(3, 420));
        let _ = writeln!(
            text,
            "src/{noun}.rs:{line}:    {pattern} // {}",
            rng.pick(&VERBS)
        );
    }
    text
}

fn tests(count: u64, rng: &mut Rng) -> String {
    let mut text = format!("running {count} tests\n");
    for _ in 0..count {
        let (verb, noun) = (rng.pick(&VERBS), rng.pick(&NOUNS));
        let case = rng.between(1, 99);
        let _ = writeln!(
            text,
            "test {noun}::tests::{verb}s_a_{noun}_in_case_{case} ... ok"
        );
    }
    let seconds = rng.between(10, 999);
    let _ = write!(
        text,
        "\ntest result: ok. {count} passed; 0 failed; 0 ignored; finished in 0.{seconds:03}s\n"
    );
    text
}

fn benchmark(rng: &mut Rng) -> String {
    let mut text = String::new();
    for noun in NOUNS {
        let (low, spread) = (rng.between(80, 600), rng.between(1, 9));
        let _ = writeln!(
            text,
            "{noun:<14} time:   [{low}.{spread}0 µs {low}.{spread}7 µs {}.02 µs]\n\
             {:14} change: [-{spread}.1% -{spread}.0% -0.9%] (p = 0.00 < 0.05)",
            low + 1,
            ""
        );
    }
    text
}

fn readings(rng: &mut Rng) -> String {
    let mut text =
        String::from("{\"metadata\":{\"id\":\"9414290\",\"name\":\"San Francisco\"},\"data\":[");
    for hour in 0..24 {
        let separator = if hour == 0 { "" } else { "," };
        let (height, sigma) = (rng.between(0, 2600), rng.between(1, 40));
        let _ = write!(
            text,
            "{separator}{{\"t\":\"2026-03-02 {hour:02}:00\",\"v\":\"{}.{:03}\",\"s\":\"0.{sigma:03}\",\
             \"f\":\"0,0,0,0\",\"q\":\"p\"}}",
            height / 1000,
            height % 1000
        );
    }
    text.push_str("]}");
    text
}

fn history(rng: &mut Rng) -> String {
    let mut text = String::new();
    for day in (1..=5).rev() {
        let (verb, noun) = (rng.pick(&VERBS), rng.pick(&NOUNS));
        let changes = rng.between(2, 80);
        let _ = write!(
            text,
            "commit {}{}\nAuthor: Mara Lind <mara@example.org>\nDate:   2026-02-{day:02} 10:00:00 +0100\n\n    \
             {noun}: {verb} once\n\n src/{noun}.rs | {changes} +++--\n 1 file changed\n\n",
            rng.hex(16),
            rng.hex(16)
        );
    }
    text
}

/// Messages in Japanese, Chinese and Korean.
fn locale(rng: &mut Rng) -> String {
    const LINES: [&str; 8] = [
        "high_tide = \"満潮\"",
        "low_tide = \"干潮\"",
        "station = \"観測所\"",
        "empty_file = \"観測所のファイルが空です\"",
        "no_data = \"测站文件为空\"",
        "height = \"높이 (밀리미터)\"",
        "next = \"次の満潮は{time}、高さは{height}です\"",
        "preliminary = \"速報値は一時間で期限切れになります\"",
    ];
    let mut text = String::from("# 潮汐表の表示文字列\n");
    for _ in 0..rng.between(12, 48) {
        let _ = writeln!(text, "{}", rng.pick(&LINES));
    }
    text
}

/// A table with wide characters and emoji, some of several code points.
fn stations(rng: &mut Rng) -> String {
    const NAMES: [&str; 8] = [
        "🌊 東京 (晴海)",
        "⚓ 横浜",
        "🇯🇵 大阪",
        "🧑‍🚀 種子島",
        "Saint-Malo 🏖️",
        "釜山 / 부산",
        "上海 吴淞",
        "Zürich (See) 👩🏽‍🔬",
    ];
    let mut text = String::from("観測所              満潮    干潮\n");
    for _ in 0..rng.between(8, 24) {
        let (high, low) = (rng.between(0, 23), rng.between(0, 23));
        let minute = rng.between(0, 59);
        let _ = writeln!(
            text,
            "{}\t{high:02}:{minute:02}\t{low:02}:{minute:02}",
            rng.pick(&NAMES)
        );
    }
    text
}
