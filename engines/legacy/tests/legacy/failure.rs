//! Summarisers that fail, are too small, too slow, or answer what is no summary.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use contextwire_engine::tokens::{ModelFamily, count_text};
use contextwire_engine::{Progress, Transcript};
use contextwire_legacy::{
    CompactSettings, Compaction, CompactionError, Flaw, SummarizeError, compact_log,
};
use tokio::time::Instant;

use crate::support::*;

const DOWN: SummarizeError = SummarizeError::Unavailable { status: 503 };

#[tokio::test(start_paused = true)]
async fn c346_a_model_that_fails_each_time_is_an_error_and_changes_nothing() {
    let (log, script) = (turns(60), Script::failing(&DOWN));
    let before = log.clone();
    let error = failure(&log, &forced(), &script).await;
    let expected = CompactionError::SummarizationFailed {
        attempts: 3,
        allowed: 3,
        source: DOWN,
    };
    assert_eq!(error, expected);
    assert_eq!(
        error.reason(),
        "summarization_failed: no summary after 3 of 3 attempts: the endpoint failed (status 503)"
    );
    assert_eq!((script.calls(), log), (3, before));
}

#[tokio::test(start_paused = true)]
async fn br_054_the_first_part_that_fails_ends_the_compaction_as_a_whole() {
    let script = Script {
        window: Some(12_000),
        ..Script::failing(&DOWN)
    };
    assert_eq!(
        failure(&turns(60), &forced(), &script).await.code(),
        "summarization_failed"
    );
    assert_eq!(script.calls(), 3, "and the other parts are not tried");
}

#[tokio::test(start_paused = true)]
async fn attempts_are_half_a_second_apart_then_twice_that_and_at_most_five_seconds() {
    let script = Script::failing(&DOWN);
    let mut options = forced();
    options.settings.attempts = 7;
    let started = Instant::now();
    failure(&turns(60), &options, &script).await;
    // 0.5 + 1 + 2 + 4 + 5 + 5
    assert_eq!(started.elapsed(), Duration::from_millis(17_500));
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_says_how_long_to_wait() {
    let limited = |seconds| {
        Err(SummarizeError::RateLimited {
            retry_after: Some(Duration::from_secs(seconds)),
        })
    };
    let script = Script::new([limited(20), limited(3_600)]);
    let started = Instant::now();
    compacted(&turns(60), &forced(), &script).await;
    // An hour is not waited for; the ordinary second attempt's pause is.
    assert_eq!(started.elapsed(), Duration::from_secs(21));
}

#[tokio::test]
async fn c05_what_would_fail_again_is_tried_once() {
    for error in [
        SummarizeError::Unauthorized { status: 401 },
        SummarizeError::Rejected {
            status: 400,
            code: None,
        },
        SummarizeError::TimedOut,
        SummarizeError::Unserved,
    ] {
        let script = Script::failing(&error);
        let failed = failure(&turns(60), &forced(), &script).await;
        let expected = CompactionError::SummarizationFailed {
            attempts: 1,
            allowed: 3,
            source: error,
        };
        assert_eq!((failed, script.calls()), (expected, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn br_060_what_is_no_summary_is_asked_for_again_with_the_reason() {
    let echo: &'static str = Box::leak(words(60_000).into_boxed_str());
    let script = Script::new([Ok(" "), Ok(echo)]);
    let done = compacted(&turns(60), &forced(), &script).await;
    assert_eq!(done.summary, "summary 3");
    let flaws: Vec<_> = script
        .seen()
        .iter()
        .map(|request| request.prompt.contains("could not be used"))
        .collect();
    assert_eq!(flaws, [false, true, true]);
    assert!(
        script.seen()[2]
            .prompt
            .contains("as long as what it summarises")
    );
}

#[tokio::test(start_paused = true)]
async fn br_061_without_a_usable_summary_there_is_none() {
    for (text, flaw) in [
        ("", Flaw::Empty),
        ("<think>hm</think>", Flaw::ReasoningOnly),
        ("<tool_call>{}</tool_call>", Flaw::ToolCall),
    ] {
        let script = Script::new(vec![Ok(text); 3]);
        let error = failure(&turns(60), &forced(), &script).await;
        let expected = CompactionError::SummarizationFailed {
            attempts: 3,
            allowed: 3,
            source: flaw.into(),
        };
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn a_history_that_does_not_fit_one_call_is_summarised_in_parts_that_do() {
    let script = Script::window(16_000);
    let done = compacted(&turns(60), &forced(), &script).await;
    let seen = script.seen();
    assert!(seen.len() > 3, "{}", seen.len());
    assert_eq!(done.summary, format!("summary {}", seen.len()));
    for (number, request) in seen.iter().enumerate() {
        let earlier = (number > 0).then(|| format!("summary {number}"));
        assert_eq!(
            request.earlier, earlier,
            "each part updates the summary so far"
        );
    }
    let parts: usize = seen.iter().map(|request| request.messages.len()).sum();
    assert_eq!(parts, done.first_kept, "each message is in one part");
    assert_eq!(details(&done)["calls"], seen.len());
}

#[tokio::test]
async fn a_model_with_a_small_window_is_asked_for_an_answer_that_fits_it() {
    let script = Script::window(4_096);
    compacted(&turns(60), &forced(), &script).await;
    for request in script.seen() {
        let prompt = count_text(ModelFamily::Other, &request.prompt);
        assert_eq!(request.max_output_tokens, 1_365);
        assert!(
            u64::from(prompt) + request.max_output_tokens < 4_096,
            "{prompt}"
        );
        assert!(request.max_chars <= 4_095);
    }
}

#[tokio::test]
async fn br_057_a_part_that_is_too_long_is_never_sent_again_as_it_was() {
    let script = Script::new([Err(SummarizeError::TooLong), Err(SummarizeError::TooLong)]);
    let done = compacted(&turns(60), &forced(), &script).await;
    let sizes: Vec<_> = script
        .seen()
        .iter()
        .map(|request| request.prompt.len())
        .collect();
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[1], "{sizes:?}");
    let covered: usize = script
        .seen()
        .iter()
        .skip(2)
        .map(|request| request.messages.len())
        .sum();
    assert_eq!(covered, done.first_kept);

    let script = Script::failing(&SummarizeError::TooLong);
    let error = failure(&turns(60), &forced(), &script).await;
    assert!(error.reason().ends_with("does not fit the model's window"));
    assert!(script.calls() < 12, "and it ends: {}", script.calls());
}

#[tokio::test]
async fn c07_a_message_larger_than_the_model_is_shown_by_its_ends() {
    let huge = format!("begin{}end", words(120_000));
    let log = list(std::iter::once(user(&huge)).chain(turns(30).iter().cloned()));
    let script = Script::window(16_000);
    compacted(&log, &forced(), &script).await;
    for request in script.seen() {
        assert!(request.prompt.len() < 80_000, "{}", request.prompt.len());
    }
    let first = &script.seen()[0].prompt;
    assert!(
        first.contains("begin word") && first.contains("word end") || first.contains("wordend")
    );
    assert!(first.contains("characters left out"));
}

#[tokio::test]
async fn br_053_a_summariser_that_never_shortens_anything_ends_the_compaction() {
    let many = list((0..3_000).map(|n| user(&format!("message {n} {}", words(20)))));
    let echo: &'static str = Box::leak(words(200_000).into_boxed_str());
    let mut options = forced();
    options.settings.retry_delay = Duration::ZERO;
    let script = Script {
        window: Some(16_000),
        ..Script::new(vec![Ok(echo); 5])
    };
    let error = failure(&many, &options, &script).await;
    assert!(error.reason().contains("as long as what it summarises"));
    assert_eq!(script.calls(), 3);
}

/// A compaction of six parts that has time for fewer.
async fn within(log: &Transcript, time: Duration, takes: Duration) -> (usize, Compaction) {
    let script = Script {
        takes,
        ..Script::window(16_000)
    };
    let mut cx = cx();
    cx.deadline = Instant::now() + time;
    let done = compact_log(&cx, log, &forced(), &script).await.unwrap();
    (script.calls(), done)
}

#[tokio::test(start_paused = true)]
async fn br_062_a_compaction_without_the_time_for_all_of_it_answers_with_what_is_done() {
    let log = turns(60);
    let second = Duration::from_secs(1);
    let (all, Compaction::Done(whole)) = within(&log, 600 * second, 10 * second).await else {
        panic!("a compaction")
    };
    let (some, Compaction::Done(partial)) = within(&log, 35 * second, 10 * second).await else {
        panic!("a compaction")
    };
    assert!(some == 3 && all > 4, "{some} of {all}");
    assert!(partial.is_partial && !whole.is_partial);
    assert!(partial.first_kept < whole.first_kept);
    assert!(partial.tokens_after < partial.tokens_before);
    assert_eq!(partial.summary, "summary 3");
    let answer = Compaction::Done(partial).into_answer().unwrap();
    assert!(answer.ok && answer.compacted && answer.reason.unwrap().starts_with("partial"));
}

#[tokio::test(start_paused = true)]
async fn br_019_a_model_that_never_answers_ends_with_the_deadline() {
    let script = Script {
        takes: Duration::from_hours(1),
        ..Script::default()
    };
    let error = failure(&turns(60), &forced(), &script).await;
    assert_eq!(error, CompactionError::TimedOut);
    assert_eq!(
        (error.code(), error.reason().as_str()),
        ("aborted", "Compaction timed out")
    );
}

#[tokio::test(start_paused = true)]
async fn c222_an_abort_ends_the_work_at_once_whatever_it_waits_for() {
    for script in [
        Script {
            takes: Duration::from_hours(1),
            ..Script::default()
        },
        Script::failing(&SummarizeError::RateLimited {
            retry_after: Some(Duration::from_secs(30)),
        }),
    ] {
        let cx = cx();
        let caller = cx.cancellation.clone();
        let (log, options) = (turns(60), forced());
        let work = compact_log(&cx, &log, &options, &script);
        let abort = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            caller.cancel();
        };
        let (done, ()) = tokio::join!(work, abort);
        let error = done.unwrap_err();
        assert_eq!(
            (error.reason().as_str(), error.code()),
            ("compaction aborted", "aborted")
        );
        assert_eq!(script.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_model_is_no_silent_engine() {
    let script = Script {
        takes: Duration::from_secs(25),
        ..Script::default()
    };
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = Arc::clone(&reports);
    let cx = cx().with_progress(Arc::new(move |report| sink.lock().unwrap().push(report)));
    compact_log(&cx, &turns(60), &forced(), &script)
        .await
        .unwrap();
    let reports = reports.lock().unwrap().clone();
    assert!(reports.iter().all(|report| report.phase == "summarize"));
    let texts: Vec<_> = reports
        .into_iter()
        .filter_map(|report| report.text)
        .collect();
    let expected = [
        "summarising what was said",
        "waiting for the model, 10 s",
        "waiting for the model, 20 s",
    ];
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn settings_without_an_attempt_still_make_one() {
    let script = Script::failing(&DOWN);
    let mut options = forced();
    options.settings = CompactSettings {
        attempts: 0,
        ..CompactSettings::default()
    };
    failure(&turns(60), &options, &script).await;
    assert_eq!(script.calls(), 1);
}
