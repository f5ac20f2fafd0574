//! Texts of many kinds for the tests, the same in every run.

use std::fmt::Write as _;

const ENGLISH: &str = "the context engine decides what a model sees when conversations grow longer than its window allows";
const CHINESE: &str = "上下文 引擎 决定 模型 能够 看到 什么 内容 对话 变得 很长 的 时候";
const HINDI: &str = "संदर्भ इंजन तय करता है कि मॉडल क्या देखता बातचीत लंबी होने पर";
const RUSSIAN: &str =
    "движок контекста решает что увидит модель когда разговор становится длиннее окна";
const ARABIC: &str = "محرك السياق يقرر ما يراه النموذج عندما تصبح المحادثة أطول من النافذة";
const EMOJI: &str = "😀 🚀 👩‍💻 🔥 🇩🇪 ✅ 🧪 ❤️ 👍🏽";

/// A small deterministic generator (`SplitMix64`), so that every run sees the same corpora.
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.next() % all.len() as u64).unwrap()]
    }
}

fn sentences(seed: u64, len: usize, words: &str, space: &str, stop: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let mut random = Seeded(seed);
    let mut text = String::new();
    while text.len() < len {
        for _ in 0..5 + random.next() % 12 {
            text.push_str(random.pick::<&str>(&words));
            text.push_str(space);
        }
        text.push_str(stop);
    }
    text
}

fn typescript(len: usize) -> String {
    let names = [
        "session", "render", "toolCall", "useState", "messages", "budget", "readFile",
    ];
    let types = [
        "string",
        "number",
        "Promise<void>",
        "Map<string, Entry>",
        "readonly Item[]",
    ];
    let mut random = Seeded(2);
    let mut text = String::new();
    while text.len() < len {
        let (a, b, t) = (
            random.pick(&names),
            random.pick(&names),
            random.pick(&types),
        );
        let n = random.next() % 1000;
        writeln!(
            text,
            "export async function {a}{n}({b}: {t}, limit = {n}): Promise<{t}> {{"
        )
        .unwrap();
        writeln!(
            text,
            "\tconst value = await this.{b}.get(`${{{a}}}-key`) ?? [];"
        )
        .unwrap();
        writeln!(
            text,
            "\tif (!value || value.length > {n}) {{\n\t\tthrow new Error(\"{a} failed\");\n\t}}"
        )
        .unwrap();
        writeln!(
            text,
            "\treturn value.map((item) => item.{b}).filter(Boolean); // {a}\n}}\n"
        )
        .unwrap();
    }
    text
}

fn json(len: usize, pretty: bool) -> String {
    let names = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "path/to/file.rs",
        "user@example.com",
    ];
    let mut random = Seeded(3);
    let mut rows = Vec::new();
    let mut size = 0;
    while size < len {
        let row = serde_json::json!({
            "id": random.next() % 100_000, "name": random.pick(&names), "ok": random.next().is_multiple_of(2),
            "score": random.next() % 10_000, "tags": [random.pick(&names), random.pick(&names)],
            "nested": {"left": null, "right": random.next() % 50},
        });
        size += row.to_string().len();
        rows.push(row);
    }
    if pretty {
        serde_json::to_string_pretty(&rows)
    } else {
        serde_json::to_string(&rows)
    }
    .unwrap()
}

pub(super) fn hex(len: usize) -> String {
    let mut random = Seeded(4);
    let mut text = String::new();
    while text.len() < len {
        write!(text, "{:016x}", random.next()).unwrap();
    }
    text.truncate(len);
    text
}

fn uuid_log(len: usize) -> String {
    let mut random = Seeded(5);
    let mut text = String::new();
    while text.len() < len {
        let (a, b, ms) = (random.next(), random.next(), random.next() % 60_000);
        writeln!(
            text,
            "2026-11-30T14:{:02}:{:02}.{:03}Z INFO request {:08x}-{:04x}-4{:03x}-a{:03x}-{:012x} done in {}ms",
            ms / 1000, ms % 60, ms % 1000, a >> 32, a >> 16 & 0xffff, a & 0xfff, b & 0xfff, b >> 16, ms % 977,
        )
        .unwrap();
    }
    text
}

pub(super) fn base64(len: usize) -> String {
    let alphabet: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['+', '/'])
        .collect();
    let mut random = Seeded(6);
    (0..len).map(|_| *random.pick(&alphabet)).collect()
}

/// One text of each kind, of at least `len` bytes.
pub(super) fn corpora(len: usize) -> Vec<(&'static str, String)> {
    vec![
        ("English", sentences(1, len, ENGLISH, " ", ". ")),
        ("TypeScript", typescript(len)),
        ("pretty JSON", json(len, true)),
        ("minified JSON", json(len, false)),
        ("Chinese", sentences(7, len, CHINESE, "", "。")),
        ("Hindi", sentences(8, len, HINDI, " ", "। ")),
        ("Russian", sentences(9, len, RUSSIAN, " ", ". ")),
        ("Arabic", sentences(10, len, ARABIC, " ", ". ")),
        ("emoji", sentences(11, len, EMOJI, "", "\n")),
        ("hex", hex(len)),
        ("UUID log", uuid_log(len)),
        ("base64", base64(len)),
    ]
}
