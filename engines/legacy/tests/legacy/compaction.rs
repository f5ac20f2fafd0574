//! What a compaction does with a list.

use contextwire_engine::{Compact, RuntimeContext, RuntimeSettings, TokenBudget, Transcript};
use contextwire_legacy::{
    CompactOptions, CompactSettings, CompactedLog, Earlier, Extract, LastEntry, Stage,
};
use serde_json::json;

use crate::support::*;

fn asked(request: Compact) -> CompactOptions {
    CompactOptions {
        request,
        ..CompactOptions::default()
    }
}

#[tokio::test]
async fn c338_a_context_within_the_window_less_its_reserve_is_left_alone() {
    let script = Script::default();
    let within = |tokens, count| {
        asked(Compact {
            token_budget: TokenBudget::new(tokens),
            current_token_count: Some(count),
            ..Compact::default()
        })
    };
    let log = turns(60);
    let (ok, reason) = nothing(&log, &within(200_000, 180_000), &script).await;
    assert_eq!(
        (ok, reason.as_str()),
        (true, "not needed: 180000 tokens of 180000")
    );
    assert!(nothing(&log, &within(0, 900_000), &script).await.0);
    let mut off = within(200_000, 900_000);
    off.settings.enabled = false;
    assert!(
        nothing(&log, &off, &script)
            .await
            .1
            .contains("switched off")
    );
    assert_eq!(script.calls(), 0);
    compacted(&log, &within(200_000, 180_001), &script).await;
}

#[tokio::test]
async fn br_077_without_a_count_the_engines_own_estimate_decides() {
    let due = asked(Compact {
        token_budget: TokenBudget::new(40_000),
        ..Compact::default()
    });
    assert!(
        nothing(&turns(10), &due, &Extract)
            .await
            .1
            .contains("not needed")
    );
    let done = compacted(&turns(60), &due, &Extract).await;
    assert!(done.tokens_before > 60_000);
}

#[tokio::test]
async fn c231_and_c232_the_top_level_count_goes_before_that_of_the_runtime_context() {
    let count = async |top, context| {
        let mut options = forced();
        options.request.current_token_count = top;
        options.request.runtime_context = Some(RuntimeContext {
            current_token_count: context,
            ..RuntimeContext::default()
        });
        compacted(&turns(60), &options, &Extract)
            .await
            .tokens_before
    };
    assert_eq!(count(None, Some(277_403)).await, 277_403);
    assert_eq!(count(Some(100_000), Some(277_403)).await, 100_000);
    assert_eq!(count(Some(0), Some(277_403)).await, 277_403);
    let own = count(None, Some(0)).await;
    assert!((60_000..70_000).contains(&own), "{own}");
}

#[tokio::test]
async fn the_newest_twenty_thousand_tokens_stay_and_a_whole_turn_begins_them() {
    let log = turns(60);
    let done = compacted(&log, &forced(), &Script::default()).await;
    // 20 turns weigh a little more than 20 000 tokens.
    assert_eq!((done.first_kept, done.covered), (80, 120));
    assert_eq!(done.first_kept_entry_id, Some("e80".into()));
    assert_eq!(done.summary, "summary 1");
    assert!(!done.is_partial && !done.is_extract);
    let saved = done.tokens_before - done.tokens_after;
    assert!((40_000..42_000).contains(&saved), "{saved}");
}

#[tokio::test]
async fn c343_a_split_turn_has_a_summary_of_its_beginning_under_a_separator() {
    let rounds = (0..20).flat_map(|n| {
        let id = format!("c{n}");
        [
            call(&id, &format!("src/{n}.rs")),
            result(&id, &words(1_500)),
        ]
    });
    let turn = std::iter::once(user("please refactor everything")).chain(rounds);
    let log = list(turns(5).iter().cloned().chain(turn));
    let script = Script::default();
    let done = compacted(&log, &forced(), &script).await;
    let stages: Vec<_> = script.seen().iter().map(|request| request.stage).collect();
    assert_eq!(stages, [Stage::History, Stage::TurnPrefix]);
    assert_eq!(log.get(done.first_kept).unwrap().role(), "assistant");
    let (history, prefix) = done.summary.split_once("\n\n---\n\n").unwrap();
    assert_eq!(history, "summary 1");
    assert!(prefix.contains("how it began\n\nsummary 2\n\n<read-files>\nsrc/0.rs\n"));
    assert_eq!(
        details(&done)["latestUnresolvedUserRequest"],
        "please refactor everything"
    );
    // The answer to the beginning may take less than that to the history.
    let seen = script.seen();
    assert_eq!(
        (seen[0].max_output_tokens, seen[1].max_output_tokens),
        (16_000, 10_000)
    );
}

#[tokio::test]
async fn c343_a_turn_that_is_the_whole_list_is_summarised_without_a_history() {
    let rounds = (0..30).flat_map(|n| {
        let id = format!("c{n}");
        [call(&id, "a.rs"), result(&id, &words(1_500))]
    });
    let log = list(std::iter::once(user("begin")).chain(rounds));
    let script = Script::default();
    let done = compacted(&log, &forced(), &script).await;
    assert_eq!(script.calls(), 1);
    assert!(
        done.summary
            .starts_with("Nothing was said before this turn.\n\n---\n\n")
    );
}

#[tokio::test]
async fn c344_the_summary_before_is_updated_and_its_files_are_kept() {
    let first = compacted(&turns(60), &forced(), &Script::default()).await;
    let read = [call("c", "new.rs"), result("c", &words(100)), user("next")];
    let longer = list(
        turns(60)
            .iter()
            .cloned()
            .chain(read)
            .chain(turns(30).iter().cloned()),
    );
    let details_before = json!({"readFiles": ["old.rs"], "modifiedFiles": ["changed.rs"]});
    let earlier = Earlier {
        summary: first.summary.clone(),
        covered: first.first_kept,
        details: Some(details_before.to_string().into()),
    };
    let options = CompactOptions {
        earlier: Some(earlier),
        ..forced()
    };
    let script = Script::default();
    let done = compacted(&longer, &options, &script).await;
    let seen = script.seen();
    assert_eq!(seen[0].earlier.as_deref(), Some("summary 1"));
    assert!(
        seen[0]
            .prompt
            .starts_with("<earlier-summary>\nsummary 1\n</earlier-summary>")
    );
    // What the first compaction kept is summarised now, and nothing that it covered is again.
    assert!(seen[0].prompt.contains("question 40 ") && !seen[0].prompt.contains("question 39 "));
    assert_eq!(details(&done)["readFiles"], json!(["new.rs", "old.rs"]));
    assert_eq!(details(&done)["modifiedFiles"], json!(["changed.rs"]));
    assert!(
        done.summary
            .ends_with("<modified-files>\nchanged.rs\n</modified-files>")
    );
}

#[tokio::test]
async fn c344_a_context_is_compacted_again_from_the_summary_at_its_head() {
    let first = compacted(&turns(60), &forced(), &Script::default()).await;
    let context = first.context(&turns(120), 5);
    let script = Script::default();
    let again = compacted(&context, &forced(), &script).await;
    assert_eq!(script.seen()[0].earlier.as_deref(), Some("summary 1"));
    assert!(again.first_kept > 1 && again.first_kept_entry_id.is_some());
}

#[tokio::test]
async fn c345_after_a_reset_or_a_compaction_by_a_hook_nothing_is_compacted() {
    for last_entry in [LastEntry::Reset, LastEntry::HookCompaction] {
        let options = CompactOptions {
            last_entry,
            ..forced()
        };
        let script = Script::default();
        assert!(nothing(&turns(60), &options, &script).await.0);
        assert_eq!(script.calls(), 0);
    }
}

#[tokio::test]
async fn c348_a_summary_over_the_limit_is_cut_and_its_files_stay() {
    let mut messages = vec![call("c", "kept.rs"), result("c", "ok")];
    messages.extend(turns(80).iter().cloned());
    let long: &'static str = Box::leak(words(5_000).into_boxed_str());
    let done = compacted(&list(messages), &forced(), &Script::new([Ok(long)])).await;
    assert!(done.summary.chars().count() <= 16_000);
    assert!(
        done.summary
            .contains("is cut here ...]\n\n<read-files>\nkept.rs\n</read-files>")
    );
}

#[tokio::test]
async fn c19_instructions_reach_the_model_and_the_models_limit_caps_its_answer() {
    let script = Script::default();
    let mut options = forced();
    options.request.custom_instructions = Some(" keep the port numbers ".to_owned());
    options.request.runtime_settings = Some(RuntimeSettings {
        max_output_tokens: Some(4_096),
        ..RuntimeSettings::default()
    });
    compacted(&turns(60), &options, &script).await;
    let seen = script.seen();
    assert!(
        seen[0]
            .prompt
            .contains("in particular: keep the port numbers\n")
    );
    assert_eq!(seen[0].max_output_tokens, 4_096);
}

#[tokio::test]
async fn br_014_an_empty_list_is_no_failure() {
    let (ok, reason) = nothing(&Transcript::new(), &forced(), &Extract).await;
    assert_eq!((ok, reason.as_str()), (true, "nothing ingested"));
}

#[tokio::test]
async fn c20_and_br_045_a_small_session_is_not_compacted_and_that_is_no_failure() {
    let script = Script::default();
    let (ok, reason) = nothing(&turns(3), &forced(), &script).await;
    assert!(ok && reason.starts_with("nothing to compact: "), "{reason}");
    assert_eq!(script.calls(), 0);
}

#[tokio::test]
async fn a_few_tokens_are_not_worth_a_call() {
    let log = list([
        user("hi"),
        answer("ok"),
        user(&words(500)),
        answer(&words(500)),
    ]);
    let mut options = forced();
    options.settings.keep_recent_tokens = 600;
    let script = Script::default();
    let (ok, reason) = nothing(&log, &options, &script).await;
    assert!(
        ok && reason.ends_with("tokens could be summarised"),
        "{reason}"
    );
    assert_eq!(script.calls(), 0);
}

#[tokio::test]
async fn br_052_a_context_over_its_budget_with_nothing_left_to_compact_is_a_failure() {
    let mut options = forced_within(100_000);
    options.request.current_token_count = Some(250_000);
    let (ok, reason) = nothing(&turns(3), &options, &Script::default()).await;
    assert!(!ok && reason.starts_with("still over the budget, and nothing left to compact"));
}

#[tokio::test]
async fn br_050_a_summary_that_saves_nothing_worth_having_is_no_compaction() {
    let long: &'static str = Box::leak(words(3_990).into_boxed_str());
    let mut options = forced();
    options.settings.keep_recent_tokens = 60_000;
    let (ok, reason) = nothing(&turns(64), &options, &Script::new([Ok(long)])).await;
    assert!(
        ok && reason.starts_with("nothing to compact: a summary would save"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_small_window_keeps_less_and_gets_a_shorter_summary() {
    let script = Script::default();
    let done = compacted(&turns(20), &forced_within(6_000), &script).await;
    assert!(done.tokens_after < 6_000, "{}", done.tokens_after);
    assert!(script.seen()[0].max_chars <= 6_000);
}

#[tokio::test]
async fn a_provider_that_counts_more_than_the_estimate_makes_less_stay() {
    let log = turns(60);
    let by_estimate = compacted(&log, &forced(), &Extract).await;
    let counted = message(
        &json!({"role": "assistant", "content": "ok", "stopReason": "stop",
        "usage": {"totalTokens": 125_000}, "timestamp": 9}),
    );
    let counted = list(log.iter().cloned().chain([counted]));
    let by_usage = compacted(&counted, &forced(), &Extract).await;
    assert_eq!(by_usage.tokens_before, 125_000);
    let kept = |done: &CompactedLog| done.covered - done.first_kept;
    assert!(kept(&by_usage) <= kept(&by_estimate) / 2 + 1);
}

#[tokio::test]
async fn without_a_model_the_summary_and_its_details_say_so() {
    let done = compacted(&turns(60), &forced(), &Extract).await;
    assert!(done.is_extract);
    assert!(
        done.summary
            .starts_with("This is an extract, not a summary: no model was asked.")
    );
    assert_eq!(details(&done)["summarizer"], "extract");
    assert_eq!(done, compacted(&turns(60), &forced(), &Extract).await);
    let model = compacted(&turns(60), &forced(), &Script::default()).await;
    assert_eq!(details(&model)["summarizer"], "script");
    assert_eq!(details(&model)["model"], "model-1");
}

#[tokio::test]
async fn a_question_that_nobody_answered_is_never_summarised_unless_the_host_says_so() {
    let pending = list(turns(60).iter().cloned().chain([
        user(&format!("pending{}", words(30_000))),
        message(&json!({"role": "custom", "content": "a note"})),
    ]));
    let done = compacted(&pending, &forced(), &Extract).await;
    assert_eq!(done.first_kept, 120);
    let unprotected = CompactOptions {
        settings: CompactSettings {
            protect_pending_user: false,
            keep_recent_tokens: 1,
            ..CompactSettings::default()
        },
        ..forced()
    };
    let done = compacted(&pending, &unprotected, &Extract).await;
    assert_eq!(done.first_kept, 121);
    let request = details(&done)["latestUnresolvedUserRequest"].clone();
    assert!(request.as_str().unwrap().starts_with("pending"));
    assert_eq!(request.as_str().unwrap().chars().count(), 800);
}
