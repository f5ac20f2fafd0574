//! What the people in a generated session say: a small program that prints tide tables.

use super::record::Arguments;
use super::rng::Rng;

/// One user turn.
pub(super) struct Scene {
    pub(super) prompt: &'static str,
    pub(super) work: Work,
    pub(super) reply: &'static str,
}

/// What the assistant does before it answers.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Answers at once.
    Talk,
    /// Reads files, several at a time.
    Look,
    /// Reads, edits and runs the tests.
    Change,
    /// Runs something with a long output.
    Run,
    /// Looks at text in other scripts.
    Translate,
}

use Work::{Change, Look, Run, Talk, Translate};

const fn scene(prompt: &'static str, work: Work, reply: &'static str) -> Scene {
    Scene {
        prompt,
        work,
        reply,
    }
}

pub(super) const SCENES: [Scene; 40] = [
    scene(
        "Read the project and tell me how a reading travels from the gauge file to the table.",
        Look,
        "A reading is parsed in `src/gauge.rs`, checked in `src/quality.rs`, interpolated in `src/curve.rs` and printed by `src/table.rs`. Nothing else touches it.",
    ),
    scene(
        "The parser drops lines with a trailing comma. Fix that, and add a test.",
        Change,
        "Fixed: an empty last field is ignored, any other empty field is still an error. One test for each.",
    ),
    scene(
        "run the whole suite please",
        Run,
        "All green. The slowest test is the curve property test.",
    ),
    scene(
        "Why does the station list come out unsorted on Windows?",
        Look,
        "`read_dir` gives no order. On Linux the file system happens to return names sorted; on Windows it does not. I would sort by station id after reading.",
    ),
    scene(
        "yes, do that",
        Change,
        "Done. The list is sorted by id, and a test creates the files in reverse order.",
    ),
    scene(
        "Can we keep heights as integers in millimetres? Floats make the diffs noisy.",
        Change,
        "Heights are `Millimetres(i32)` now, from the parser to the table. Only the printer converts, at the very end.",
    ),
    scene(
        "What is the largest tide that still fits?",
        Talk,
        "`i32` millimetres reach about 2 147 km, so the sea runs out first.",
    ),
    scene(
        "haha ok 👍 next: the cache. It never expires.",
        Look,
        "The cache compares file sizes only. A file that changes without changing its size is served from the cache for ever.",
    ),
    scene(
        "Use the modification time as well. Keep the old cache files readable.",
        Change,
        "The key is size and modification time. Old entries lack the time, so they are read once more and rewritten.",
    ),
    scene(
        "Show me the API response for station 9414290.",
        Run,
        "This is the raw answer, 24 readings. Note `\"q\": \"p\"`: these are preliminary values, which may be corrected later.",
    ),
    scene(
        "So we must not cache preliminary values for long. One hour?",
        Change,
        "Preliminary values expire after one hour, verified ones never. The constant is `PRELIMINARY_TTL` in `src/cache.rs`.",
    ),
    scene(
        "The Japanese help text looks broken in the table view.",
        Translate,
        "The table counts characters, but 満潮 is two columns wide for each character. It has to count columns.",
    ),
    scene(
        "Fix it with the unicode-width crate.",
        Change,
        "The printer counts columns now. Emoji in station names line up as well 🌊.",
    ),
    scene(
        "check with the emoji stations too",
        Translate,
        "They line up: 🌊, ⚓ and the flag each take two columns. The family emoji takes two on my terminal and eight on others, so I left it alone.",
    ),
    scene(
        "Make a plan for daylight saving. Do not code yet.",
        Talk,
        "1. Keep every instant in UTC inside. 2. Convert when printing, with the station's zone. 3. Print the offset next to the hour when a day has 23 or 25 hours. 4. Tests: spring, autumn, and a station that has no daylight saving.",
    ),
    scene(
        "Good plan. Go.",
        Change,
        "Implemented as planned. The autumn test prints 01:30 twice, with +02:00 and +01:00.",
    ),
    scene(
        "Benchmark the curve before and after, please.",
        Run,
        "Before: 412 µs for a day. After: 97 µs. The gain comes from not allocating in the inner loop.",
    ),
    scene(
        "Where is that allocation?",
        Look,
        "`coefficients()` collected into a vector for each minute. It returns an array of four now.",
    ),
    scene(
        "CI fails on the nightly toolchain, look at the log",
        Run,
        "A lint became stricter: an unused import in `tests/common.rs`. Nothing is wrong with the code.",
    ),
    scene(
        "remove the import",
        Change,
        "Removed. The nightly job should pass now.",
    ),
    scene(
        "Add `tidewatch next STATION`: time and height of the next high tide, nothing else.",
        Change,
        "`tidewatch next 9414290` prints one line, for scripts. Exit code 4 when the station is unknown, as for the other commands.",
    ),
    scene(
        "What happens when the network is down?",
        Look,
        "It uses the cache and says so on standard error. With an empty cache it fails with exit code 5.",
    ),
    scene(
        "Is 5 documented?",
        Look,
        "No. The README lists 0, 2 and 4 only.",
    ),
    scene(
        "Then document it, with an example.",
        Change,
        "README, section *Exit codes*: 5 is \"no data\", with an example for shell scripts.",
    ),
    scene(
        "Rename the crate to tidewatch-core, the binary stays.",
        Change,
        "Renamed. The binary is still `tidewatch`; the library is `tidewatch_core`.",
    ),
    scene(
        "search for leftovers of the old name",
        Look,
        "Two are left, both in comments. I corrected them.",
    ),
    scene(
        "Someone reports heights that are off by 1.2 m in Saint-Malo. Ideas?",
        Talk,
        "1.2 m smells like a datum: the gauge reports above chart datum, the model above mean sea level. The difference there is about 6.7 m, so it is not that alone. It may be the old datum from before 1996.",
    ),
    scene(
        "Check our datum table.",
        Look,
        "Saint-Malo has the old value. Brest and Le Havre are right.",
    ),
    scene(
        "fix, and say where the number comes from",
        Change,
        "Corrected, with the source in the comment. I also added a test that compares the table with the published file.",
    ),
    scene(
        "run the integration tests against the recorded responses",
        Run,
        "31 passed, 1 ignored. The ignored one needs the network.",
    ),
    scene(
        "Write the release notes for 0.4.",
        Change,
        "Written to `CHANGELOG.md`: what breaks first (heights are integers), then what is new, then what was fixed.",
    ),
    scene(
        "In German too, short.",
        Talk,
        "**0.4**: Höhen sind jetzt ganze Millimeter. Neu: `tidewatch next`. Behoben: Sommerzeit, Sortierung unter Windows, Höhen in Saint-Malo.",
    ),
    scene(
        "What did we decide about preliminary values again?",
        Talk,
        "They expire after one hour; verified values never expire. `PRELIMINARY_TTL` in `src/cache.rs`.",
    ),
    scene(
        "Is anything in there that could panic?",
        Look,
        "Three places index into a slice. Two are guarded by a length check right before; the third is not: an empty station file panics.",
    ),
    scene(
        "That is the bug from yesterday! Fix it without unwrap.",
        Change,
        "`first()` and a typed error. The test uses an empty file.",
    ),
    scene(
        "测试一下中文的错误信息",
        Translate,
        "中文错误信息正常：空文件显示“测站文件为空”，并给出文件名。",
    ),
    scene(
        "ok, back to English. Profile the start-up, it feels slow.",
        Run,
        "61 of 74 ms are spent reading the station list, which no command but `list` needs.",
    ),
    scene(
        "Make it lazy.",
        Change,
        "The list is read on first use. Start-up is 12 ms.",
    ),
    scene(
        "Anything else before I tag?",
        Look,
        "Two things: `Cargo.toml` still says 0.3.2, and the new command is missing in the shell completions.",
    ),
    scene(
        "Do both and give me the commands for the tag.",
        Change,
        "Done. Then: `git tag -s v0.4.0 -m 'tidewatch 0.4.0'` and `git push origin v0.4.0`.",
    ),
];

pub(super) const FILES: [&str; 9] = [
    "src/gauge.rs",
    "src/quality.rs",
    "src/curve.rs",
    "src/table.rs",
    "src/cache.rs",
    "src/station.rs",
    "src/datum.rs",
    "src/zone.rs",
    "src/main.rs",
];

const PATTERNS: [&str; 6] = [
    "Millimetres",
    "fn parse",
    "read_dir",
    "PRELIMINARY_TTL",
    "Datum::",
    "unwrap\\(",
];

const THOUGHTS: [&str; 8] = [
    "The request is small, but I should see how the code looks now before I touch it.",
    "Two files can matter here. Reading both at once is quicker than guessing.",
    "The test names say what is expected. Let me check that the failing case is really covered.",
    "This could break the cache format. The old files must stay readable, so a new field has to be optional.",
    "Edge cases: an empty file, one reading, readings out of order, the same minute twice.",
    "The user wants a short answer. I should say what changed and where.",
    "Careful: the width of a character is not its count of bytes and not its count of characters.",
    "If the clock goes back, the same local minute comes twice. Only UTC is safe as a key.",
];

const REMARKS: [&str; 6] = [
    "Let me look at the code first.",
    "I will check both places.",
    "Now the tests.",
    "One more thing to verify.",
    "That explains it. I will change it.",
    "Running it to be sure.",
];

pub(super) const COMPACTION_SUMMARY: &str = "## Goal\nRelease tidewatch 0.4: a small program that prints tide tables.\n\n## Done\n- Parser accepts a trailing comma; stations are sorted by id.\n- Heights are `Millimetres(i32)` everywhere, converted only when printed.\n- Cache key is size and modification time; preliminary values expire after one hour (`PRELIMINARY_TTL`).\n- Tables count columns, not characters (満潮, 🌊).\n- Instants are UTC inside; zones apply when printing.\n- Curve: 412 µs → 97 µs for a day.\n\n## Open\n- `tidewatch next`, exit codes, release notes.\n\n## Files\nsrc/gauge.rs, src/cache.rs, src/table.rs, src/zone.rs, src/curve.rs";

pub(super) const ABANDONED: Scene = scene(
    "Try it with a string builder instead of arrays.",
    Change,
    "It works, but it is slower than what we had: 640 µs.",
);

pub(super) const BRANCH_SUMMARY: &str = "Tried building the curve with a string builder. It was slower (640 µs against 412 µs) and was given up; no file of that attempt is left.";

/// Thinking before a step.
pub(super) fn thought(rng: &mut Rng) -> String {
    format!("{} {}", rng.pick(&THOUGHTS), rng.pick(&THOUGHTS))
}

/// What the assistant says before it calls tools; empty half of the time.
pub(super) fn remark(rng: &mut Rng) -> Option<&'static str> {
    rng.one_in(2).then(|| rng.pick(&REMARKS))
}

/// The tool calls of a turn, step by step; the calls of one step are made in parallel.
pub(super) fn steps(work: Work, rng: &mut Rng) -> Vec<Vec<Arguments>> {
    let read = |rng: &mut Rng| Arguments::Read {
        path: rng.pick(&FILES),
    };
    let grep = |rng: &mut Rng| Arguments::Grep {
        pattern: rng.pick(&PATTERNS),
        path: "src",
    };
    let bash = |command: &str| Arguments::Bash {
        command: command.to_owned(),
    };
    match work {
        Talk => Vec::new(),
        Look => {
            let mut steps = vec![vec![grep(rng), read(rng)]];
            if rng.one_in(2) {
                steps.push(vec![read(rng), read(rng), grep(rng)]);
            }
            steps
        }
        Change => {
            let path = rng.pick(&FILES);
            let number = rng.between(2, 90);
            let edit = Arguments::Edit {
                path,
                old_text: format!("    let limit = {number};\n    readings.get(limit)"),
                new_text: format!(
                    "    // Readings past the limit belong to the next day.\n    let limit = {};\n    \
                     readings.get(limit).or_else(|| readings.last())",
                    number + 1
                ),
            };
            let mut steps = vec![vec![Arguments::Read { path }], vec![edit]];
            if rng.one_in(4) {
                let content = format!("//! Readings of {number} stations.\n\nmod common;\n");
                steps.push(vec![Arguments::Write {
                    path: "tests/stations.rs",
                    content,
                }]);
            }
            steps.push(vec![bash("cargo test -q 2>&1 | tail -40")]);
            steps
        }
        Run => vec![vec![bash(rng.pick(&[
            "cargo test --workspace 2>&1",
            "cargo bench --bench curve 2>&1",
            "curl -s 'https://api.example.org/v2/readings?station=9414290'",
            "git log --stat -5",
        ]))]],
        Translate => {
            vec![vec![
                Arguments::Read {
                    path: "locale/ja.toml",
                },
                bash("tidewatch list --lang ja"),
            ]]
        }
    }
}
