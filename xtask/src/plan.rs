//! The plans: which steps a command runs, in which order.

use std::time::Duration;

use crate::buf;
use crate::hosts;
use crate::python;
use crate::step::Step;

/// Cases of each property in the long run; the default of proptest is 256.
const MANY_CASES: &str = "2000";

/// For the steps of the long run, whose length depends on the machine.
const LONG: Duration = Duration::from_hours(1);

/// Results of all test binaries, even after one of them failed.
const TESTS: &str = "test --workspace --all-features --no-fail-fast -j2";

/// What every change has to pass. The cheapest verdicts come first.
pub(crate) fn ci() -> Vec<Step> {
    let mut steps = checks();
    steps.push(tests());
    steps.push(hosts::packages());
    steps.push(hosts::quick());
    steps
}

/// All of [`ci`] with many more cases a property, then the benchmarks and the real hosts.
pub(crate) fn full() -> Vec<Step> {
    let mut steps = checks();
    steps.push(tests().with_env("PROPTEST_CASES", MANY_CASES).within(LONG));
    steps.push(
        Step::cargo(
            "benchmarks",
            "run --release -p contextwire -j2 -- bench --json",
        )
        .within(LONG),
    );
    steps.extend(hosts());
    steps
}

/// The plugin in real hosts, and what it is made of.
pub(crate) fn hosts() -> Vec<Step> {
    let mut steps = packages();
    steps.extend(hosts::hosts());
    steps
}

/// The TypeScript packages alone.
pub(crate) fn packages() -> Vec<Step> {
    vec![hosts::packages()]
}

/// Runs the golden tests so that they write their files instead of comparing them.
pub(crate) fn golden() -> Vec<Step> {
    let tests = Step::cargo("golden tests", &format!("{TESTS} -- golden"));
    vec![tests.counted().with_env("UPDATE_GOLDEN", "1")]
}

/// Everything before the tests, their build included: compiling does not spend the time limit of the tests, and the
/// two failures are told apart.
fn checks() -> Vec<Step> {
    vec![
        Step::cargo("format", "fmt --all -- --check"),
        Step::cargo(
            "lints",
            "clippy --workspace --all-targets --all-features -j2 -- -D warnings",
        ),
        Step::cargo(
            "documentation",
            "doc --workspace --all-features --no-deps -j2",
        )
        .with_env("RUSTDOCFLAGS", "-D warnings"),
        buf::lint(),
        buf::breaking(),
        python::old_engines(),
        Step::cargo("test build", "test --workspace --all-features --no-run -j2")
            .failing_with("FAILED: the tests did not compile"),
    ]
}

fn tests() -> Step {
    Step::cargo("tests", TESTS).counted().after_previous()
}
