use std::path::Path;

use super::*;
use crate::session::{Strictness, read};

fn of(name: &str, model: Option<&str>) -> TokensReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sessions")
        .join(name);
    tokens(&read(&path, Strictness::Strict).unwrap(), model)
}

#[test]
fn every_kind_of_text_has_its_row() {
    let report = of("codex-rollout.jsonl", None);
    assert_eq!(report.model.as_deref(), Some("gpt-demo"));
    let kinds: Vec<&str> = report.kinds.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "user text",
            "assistant text",
            "thinking",
            "tool calls",
            "tool results",
            "other messages",
            "framing"
        ]
    );
    for row in &report.kinds {
        assert_eq!(
            row.estimate, row.tokenizer,
            "short texts are counted: {}",
            row.kind
        );
    }
}

#[test]
fn the_encoding_is_that_of_the_model_that_is_asked_for() {
    let own = of("tree-v3.jsonl", Some("gpt-4"));
    assert_eq!(
        (own.encoding.as_str(), own.is_exact_for_model),
        ("cl100k_base", true)
    );
    let other = of("tree-v3.jsonl", None);
    assert_eq!(
        (other.encoding.as_str(), other.is_exact_for_model),
        ("o200k_base", false)
    );
}

#[test]
fn a_providers_counts_are_compared_within_one_stretch_only() {
    let report = of("codex-rollout.jsonl", None);
    let [provider] = report.providers.as_slice() else {
        panic!("{:?}", report.providers)
    };
    assert_eq!((provider.model.as_str(), provider.answers), ("gpt-demo", 5));
    assert_eq!(provider.output_reported, 40 + 8 + 5 + 12 + 4);
    // 1200, 1300, 1350, 1380; the answer after the compaction begins anew.
    assert_eq!(
        (provider.steps, provider.growth_reported, provider.shrunk),
        (3, 180, 0)
    );
    assert_eq!(provider.first_prompt, Some(1_200));
    let first = provider.first_estimated.unwrap();
    assert!(
        (20..80).contains(&first),
        "the three messages before it: {first}"
    );
    assert!(provider.growth_estimated > 0);
}

#[test]
fn a_session_without_counts_has_no_provider() {
    assert_eq!(of("codex-bare.jsonl", None).providers, []);
}
