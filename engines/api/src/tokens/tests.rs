use super::corpus::{Seeded, base64, corpora, hex};
use super::*;
use crate::message::Omitted;

mod reference;

use reference::references;

fn user(text: &str) -> Message {
    message(&serde_json::json!({"role": "user", "content": [{"type": "text", "text": text}]}))
}

fn message(payload: &serde_json::Value) -> Message {
    Message::from_payload(payload.to_string())
}

fn estimate(payload: &serde_json::Value) -> u32 {
    estimate_message(ModelFamily::Other, &message(payload))
}

fn tokens(text: &str) -> u32 {
    u32::try_from(bpe_openai::o200k_base().count(text)).unwrap()
}

#[test]
fn t01_estimates_of_every_corpus_are_within_a_tenth_of_the_truth() {
    for len in [16_000, 32_000, 70_000, 300_000] {
        for (name, text) in corpora(len) {
            for family in [ModelFamily::O200k, ModelFamily::Cl100k] {
                let truth = family.encoding().count(&text);
                let got = estimate_message(family, &user(&text)) as usize;
                let never_below = matches!(name, "hex" | "UUID log" | "base64");
                let low = truth * if never_below { 95 } else { 90 } / 100;
                assert!(
                    (low..=truth * 110 / 100 + 8).contains(&got),
                    "{name} {len}: {got} of {truth}"
                );
            }
        }
    }
}

#[test]
fn t01_the_count_of_every_reference_text_is_that_of_openais_tokenizer() {
    let references = references();
    assert_eq!(references.len(), 12);
    for reference in &references {
        for (family, count) in reference.counts {
            assert_eq!(
                count_text(family, &reference.text),
                count,
                "{} {family:?}",
                reference.name
            );
        }
    }
}

#[test]
fn t01_the_estimate_of_every_long_reference_text_is_within_a_tenth_of_openais_count() {
    for reference in references() {
        for (family, count) in reference.long_counts {
            assert!(reference.long.len() > EXACT_BYTES);
            let ratio = f64::from(count_text(family, &reference.long)) / f64::from(count);
            let dense = ["hex", "uuid-log", "base64"].contains(&&*reference.name);
            let least = if dense { 0.95 } else { 0.9 };
            assert!(
                (least..=1.1).contains(&ratio),
                "{} {family:?}: {ratio}",
                reference.name
            );
            let exact = tally_message(family, Precision::Exact, &user(&reference.long));
            assert_eq!(exact.text.tokens, count, "{}", reference.name);
        }
    }
}

#[test]
fn t03_the_sum_over_messages_is_openais_count_of_the_joined_prompt_plus_the_declared_overhead() {
    let references = references();
    for family in [ModelFamily::O200k, ModelFamily::Cl100k] {
        let joined: u32 = references
            .iter()
            .flat_map(|reference| reference.counts)
            .filter(|(of, _)| *of == family)
            .map(|(_, count)| count)
            .sum();
        let messages = references.iter().map(|reference| user(&reference.text));
        let sum: u32 = messages
            .map(|message| estimate_message(family, &message))
            .sum();
        let overhead = MESSAGE_TOKENS * u32::try_from(references.len()).unwrap();
        let difference = (f64::from(sum - overhead) / f64::from(joined) - 1.0).abs();
        assert!(difference < 0.02, "{difference}");
    }
}

#[test]
fn a_tally_is_the_estimate_by_what_a_message_holds() {
    let image = serde_json::json!({"type": "image", "data": base64(900), "mimeType": "image/png"});
    let payloads = [
        serde_json::json!({"role": "user", "content": [{"type": "text", "text": "hello world"}, image]}),
        serde_json::json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"},
            {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}}]}),
        serde_json::json!({"role": "bashExecution", "command": "ls", "output": "a b"}),
        serde_json::json!({"role": "compactionSummary", "summary": "hello world"}),
        serde_json::json!({"role": "tool", "content": [{"type": "tool_result", "content": "done"}]}),
        serde_json::json!({"role": "user", "content": [{"type": "video", "data": "x"}]}),
    ];
    let mut sum = Tally::default();
    for payload in &payloads {
        let tally = tally_message(ModelFamily::Other, Precision::Estimate, &message(payload));
        assert_eq!(tally.total(), estimate(payload), "{payload}");
        sum = sum + tally;
    }
    let kinds = [
        sum.text.tokens,
        sum.thinking.tokens,
        sum.commands.tokens,
        sum.summary.tokens,
        sum.images.tokens,
    ];
    assert_eq!(
        kinds,
        [
            2 + tokens("done"),
            tokens("hm"),
            tokens("ls") + tokens("a b"),
            2,
            IMAGE_TOKENS
        ]
    );
    let call = tokens("read") + tokens(r#"{"path":"a"}"#);
    assert_eq!(sum.calls.tokens, call);
    assert_eq!(
        sum.framing.tokens,
        6 * MESSAGE_TOKENS + TOOL_CALL_TOKENS + SUMMARY_TOKENS
    );
    assert_eq!(sum.text.bytes, 11 + 4);
}

#[test]
fn t01_short_texts_are_counted_exactly() {
    for (_, text) in corpora(24_000) {
        assert_eq!(count_text(ModelFamily::Other, &text), tokens(&text));
    }
    assert_eq!(count_text(ModelFamily::Cl100k, "hello world"), 2);
    assert_eq!(count_text(ModelFamily::Other, ""), 0);
}

#[test]
fn t01_a_long_text_of_changing_kinds_is_sampled_all_over() {
    let mut random = Seeded(12);
    let mut text = String::new();
    for _ in 0..30 {
        let len = 5_000 + usize::try_from(random.next() % 30_000).unwrap();
        text.push_str(&random.pick(&corpora(len)).1);
    }
    let truth = f64::from(tokens(&text));
    let got = f64::from(count_text(ModelFamily::Other, &text));
    assert!((got / truth - 1.0).abs() < 0.15, "{got} of {truth}");
}

#[test]
fn t01_samples_do_not_fall_in_step_with_a_periodic_text() {
    let line = format!("{}{}", "word ".repeat(820), hex(4096 * 15 - 4100));
    let text = line.repeat(30);
    let truth = f64::from(tokens(&text));
    let got = f64::from(count_text(ModelFamily::Other, &text));
    assert!((got / truth - 1.0).abs() < 0.1, "{got} of {truth}");
}

#[test]
fn t03_the_sum_over_messages_is_the_joined_prompt_plus_the_declared_overhead() {
    let texts: Vec<String> = corpora(3_000)
        .into_iter()
        .map(|(_, text)| text + "\n")
        .collect();
    let sum: u32 = texts
        .iter()
        .map(|text| estimate_message(ModelFamily::Other, &user(text)))
        .sum();
    let overhead = MESSAGE_TOKENS * u32::try_from(texts.len()).unwrap();
    let joined = f64::from(tokens(&texts.concat()));
    let difference = (f64::from(sum - overhead) / joined - 1.0).abs();
    assert!(difference < 0.02, "{difference}");
}

#[test]
fn t04_a_four_megabyte_message_is_estimated_from_a_bounded_sample() {
    for (name, text) in corpora(4_000_000).into_iter().take(5) {
        let got = estimate_message(ModelFamily::Other, &user(&text));
        // The truth would cost a second a corpus without optimisation; a twentieth stands for it.
        let part = text
            .get(..text.floor_char_boundary(text.len() / 20))
            .unwrap();
        let truth = f64::from(tokens(part)) * 20.0;
        assert!(
            (f64::from(got) / truth - 1.0).abs() < 0.1,
            "{name}: {got} of {truth}"
        );
    }
}

#[test]
fn a28_an_image_has_one_price_whatever_its_size() {
    let data = base64(200_000);
    let image = serde_json::json!({"type": "image", "data": data, "mimeType": "image/png"});
    let three = estimate(&serde_json::json!({"role": "user", "content": [image, image, image]}));
    assert_eq!(three, 3 * IMAGE_TOKENS + MESSAGE_TOKENS);
}

#[test]
fn every_part_that_a_model_reads_counts_and_nothing_else() {
    let json = serde_json::json!({"path": "src/main.rs"});
    let rows = [
        (
            serde_json::json!({"role": "user", "content": "hello world"}),
            2,
        ),
        (
            serde_json::json!({"role": "user", "content": ["hello", null, {"type": "text"}]}),
            1,
        ),
        (
            serde_json::json!({"role": "assistant", "usage": {"input": 12345}, "content": [
                {"type": "thinking", "thinking": "hello world", "thinkingSignature": hex(400)},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": json},
            ]}),
            2 + tokens("read") + tokens(&json.to_string()) + TOOL_CALL_TOKENS,
        ),
        (
            serde_json::json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read",
                "content": [{"type": "text", "text": "hello world"}], "details": {"diff": hex(900)}}),
            2 + tokens("read"),
        ),
        (
            serde_json::json!({"role": "bashExecution", "command": "ls -la", "output": "hello world"}),
            2 + tokens("ls -la"),
        ),
        (
            serde_json::json!({"role": "compactionSummary", "summary": "hello world"}),
            2 + SUMMARY_TOKENS,
        ),
        (serde_json::json!({"role": "assistant", "content": []}), 0),
        (
            serde_json::json!({"role": "tool", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "hello world"}]}]}),
            2,
        ),
    ];
    for (payload, content) in rows {
        assert_eq!(estimate(&payload), content + MESSAGE_TOKENS, "{payload}");
    }
}

#[test]
fn a_message_outside_the_context_costs_nothing() {
    let payload = serde_json::json!({"role": "bashExecution", "command": "x", "output": "y", "excludeFromContext": true});
    assert_eq!(estimate(&payload), 0);
}

#[test]
fn br_047_what_shows_no_content_counts_by_its_size_and_is_never_an_error() {
    for payload in [
        r#"{"role":"custom"}"#,
        r#"{"role":"assistant","content":null}"#,
        r#"{"role":"new","data":[1,2,3]}"#,
        r#"{"role":"user","content":"cut of"#,
        "not json",
        "",
    ] {
        let got = estimate_message(ModelFamily::Other, &Message::from_payload(payload));
        assert_eq!(got, tokens(payload) + MESSAGE_TOKENS, "{payload}");
    }
    let unknown_block =
        serde_json::json!({"role": "user", "content": [{"type": "audio", "data": base64(400)}]});
    assert!(estimate(&unknown_block) > 150);
    let deep = format!(
        r#"{{"role":"user","content":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(estimate_message(ModelFamily::Other, &Message::from_payload(deep)) > MESSAGE_TOKENS);
}

#[test]
fn duplicate_keys_count_once_with_the_last_value() {
    let payload = r#"{"role":"user","content":"hello world hello world","content":"hello world"}"#;
    assert_eq!(
        estimate_message(ModelFamily::Other, &Message::from_payload(payload)),
        2 + MESSAGE_TOKENS
    );
}

#[test]
fn the_senders_estimate_counts_only_where_the_body_did_not_travel() {
    let claimed = user("hello world").with_estimated_tokens(Some(9));
    assert_eq!(
        estimate_message(ModelFamily::Other, &claimed),
        2 + MESSAGE_TOKENS
    );
    let omitted = Omitted {
        bytes: 30_000_000,
        sha256: [0; 32],
    };
    let stub = user("").with_omitted(Some(omitted.clone()));
    assert_eq!(estimate_message(ModelFamily::Other, &stub), 10_000_000);
    let stub = user("")
        .with_omitted(Some(omitted))
        .with_estimated_tokens(Some(7_000_000));
    assert_eq!(estimate_message(ModelFamily::Other, &stub), 7_000_000);
}

#[test]
fn families_follow_model_ids() {
    let rows = [
        (Some("gpt-4o-mini"), ModelFamily::O200k),
        (Some("openai/gpt-5.1-codex"), ModelFamily::O200k),
        (Some("GPT-4.1"), ModelFamily::O200k),
        (Some("o3-mini"), ModelFamily::O200k),
        (Some("codex-mini-latest"), ModelFamily::O200k),
        (Some("ft:gpt-4o:team"), ModelFamily::O200k),
        (Some("gpt-4"), ModelFamily::Cl100k),
        (Some("gpt-4-turbo"), ModelFamily::Cl100k),
        (Some("azure/gpt-35-turbo"), ModelFamily::Cl100k),
        (Some("claude-opus-4-5"), ModelFamily::Other),
        (Some("olmo-2"), ModelFamily::Other),
        (Some(""), ModelFamily::Other),
        (None, ModelFamily::Other),
    ];
    for (model, family) in rows {
        assert_eq!(ModelFamily::of_model(model), family, "{model:?}");
    }
}
