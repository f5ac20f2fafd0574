use contextwire_engine::{AssembleReply, Assembled, Message, Unchanged};

use super::*;
use crate::call::Traffic;

fn list(chars: usize) -> Transcript {
    let payload = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(chars));
    [Message::from_payload(payload)].into_iter().collect()
}

fn window() -> TokenBudget {
    TokenBudget::new(16_000).unwrap()
}

fn served(authority: Option<PromptAuthority>, failed: bool) -> Served<Context> {
    let view = list(400);
    let reply = AssembleReply {
        messages: Assembled::keep(0..1),
        prompt_authority: authority,
        ..AssembleReply::default()
    };
    Served {
        result: Context {
            outcome: reply.into(),
            view,
        },
        by: if failed {
            ServedBy::InProcess
        } else {
            ServedBy::Engine("e".to_owned())
        },
        reason: failed.then(|| CallError::Abandoned.into()),
        said: <_>::default(),
        traffic: Traffic::default(),
    }
}

fn check(served: &Served<Context>, owns: bool) -> Option<PromptCheck<'static>> {
    PromptCheck::of_context(served, &list(90_000), (window(), 20_000), owns)
}

#[test]
fn c250_the_word_of_an_engine_that_owns_compaction_is_taken() {
    for authority in [None, Some(PromptAuthority::Assembled)] {
        assert!(check(&served(authority, false), true).is_none());
    }
}

#[test]
fn c252_c253_after_a_failure_and_for_an_engine_that_does_not_own_it_the_check_runs() {
    let failed = served(Some(PromptAuthority::PreassemblyMayOverflow), true);
    let checked = check(&failed, true).unwrap();
    // What answered is sent, and it is what counts.
    assert!(checked.unwindowed.is_none());
    assert_eq!(checked.run().route, Route::Fits);
    assert!(check(&served(None, false), false).is_some());
}

#[test]
fn an_engine_that_says_it_may_overflow_is_checked_against_the_whole_list() {
    let may_overflow = Some(PromptAuthority::PreassemblyMayOverflow);
    let check = check(&served(may_overflow, false), true).unwrap();
    let checked = check.run();
    assert_eq!(checked.source, "unwindowed_transcript_estimate");
    assert_eq!(checked.route, Route::CompactOnly);
    let status = check.snapshot(&checked);
    assert_eq!(
        (status.message_count, status.unwindowed_message_count),
        (1, Some(1))
    );
}

#[test]
fn a_thread_that_shows_its_context_already_counts_as_its_engine_says() {
    let mut unchanged = served(None, false);
    unchanged.result.outcome = AssembleOutcome::Unchanged(Unchanged {
        estimated_tokens: 9_000,
        ..Unchanged::default()
    });
    let checked = check(&unchanged, false).unwrap().run();
    assert_eq!(
        (checked.estimated_tokens, &*checked.source),
        (9_000, "bound_thread")
    );
    assert_eq!(checked.route, Route::CompactOnly);
}

#[test]
fn c258_a_compact_route_is_an_overflow_that_recovery_understands() {
    let checked = PromptCheck::new(list(90_000), window(), 20_000).run();
    let NextStep::Compact(overflow) = NextStep::of(&checked, CheckSite::Prompt) else {
        panic!("it does not fit")
    };
    let text = overflow.to_string();
    assert!(
        text.starts_with("Context overflow:") && text.contains("(precheck)"),
        "{text}"
    );
    assert_eq!(overflow.overflow_tokens, checked.overflow_tokens);
    let NextStep::Compact(overflow) = NextStep::of(&checked, CheckSite::MidTurn) else {
        panic!("nor in the middle of a turn")
    };
    assert!(overflow.to_string().contains("(mid-turn precheck)"));
}

#[test]
fn what_fits_is_sent_and_cut_tool_output_is_checked_again_or_compacted() {
    let checked = PromptCheck::new(list(40), window(), 20_000).run();
    assert_eq!(NextStep::of(&checked, CheckSite::Prompt), NextStep::Send);
    let output = "x".repeat(90_000);
    let payload = format!(r#"{{"role":"toolResult","toolCallId":"c","content":"{output}"}}"#);
    let results: Transcript = [Message::from_payload(payload)].into_iter().collect();
    // A window that the output exceeds by less than it would give back.
    let window = TokenBudget::new(70_000).unwrap();
    let checked = PromptCheck::new(results, window, 20_000).run();
    assert_eq!(checked.route, Route::TruncateToolResultsOnly);
    assert_eq!(
        NextStep::of(&checked, CheckSite::Prompt),
        NextStep::Truncate
    );
    let after = |changed| NextStep::after_truncation(&checked, CheckSite::Prompt, changed);
    assert_eq!(after(true), NextStep::TryAgain);
    let NextStep::Compact(overflow) = after(false) else {
        panic!("nothing was cut")
    };
    assert_eq!(overflow.route, Route::CompactOnly);
}

#[test]
fn the_snapshot_has_the_names_that_hosts_show() {
    let check = PromptCheck {
        model: Some("gpt-5".to_owned()),
        session_id: Some(SessionId::new("s").unwrap()),
        ..PromptCheck::new(list(40), window(), 20_000).with_prompt(Some("be brief"), "hello")
    };
    let status = serde_json::to_value(check.snapshot(&check.run())).unwrap();
    let expected = [
        ("schemaVersion", 1.into()),
        ("source", "pre-prompt-estimate".into()),
        ("provider", serde_json::Value::Null),
        ("model", "gpt-5".into()),
        ("route", "fits".into()),
        ("shouldCompact", false.into()),
        ("contextTokenBudget", 16_000.into()),
        ("promptBudgetBeforeReserve", 8_000.into()),
        ("reserveTokens", 20_000.into()),
        ("effectiveReserveTokens", 8_000.into()),
        ("overflowTokens", 0.into()),
        ("toolResultReducibleChars", 0.into()),
        ("messageCount", 1.into()),
        ("sessionId", "s".into()),
    ];
    for (key, value) in expected {
        assert_eq!(status[key], value, "{key}");
    }
    let spent = status["estimatedPromptTokens"].as_u64().unwrap();
    let left = status["remainingPromptBudgetTokens"].as_u64().unwrap();
    assert_eq!(spent + left, 8_000);
    assert!(status.get("unwindowedMessageCount").is_none());
    assert!(status["updatedAt"].as_u64().unwrap() > 0);
}
