use contextwire_engine::{ContextProjection, KnownProjection, Unchanged};
use tower::{Layer, ServiceExt};

use super::*;
use crate::request::HookRequest;
use crate::script::{Script, answers, call};

fn message(role: &str, n: usize, extra: &str) -> Message {
    let payload = format!(r#"{{"role":"{role}","content":"message {n}"{extra}}}"#);
    Message::from_payload(payload).with_entry_id(format!("e{n}"))
}

/// A user, an assistant, a user again, and so on.
fn list(len: usize) -> Transcript {
    let role = |n: usize| ["user", "assistant"][n % 2];
    (0..len).map(|n| message(role(n), n, "")).collect()
}

fn request(view: &Transcript) -> Assemble {
    Assemble {
        transcript: view.clone(),
        ..Assemble::default()
    }
}

fn included(view: &Transcript) -> Assemble {
    Assemble {
        current_turn: CurrentTurn::Included,
        ..request(view)
    }
}

/// A context of these pieces.
fn of(pieces: impl IntoIterator<Item = Segment>) -> AssembleReply {
    let mut messages = Assembled::new();
    for piece in pieces {
        match piece {
            Segment::Keep(range) => messages.push_keep(range),
            Segment::Insert(message) => messages.push_insert(message),
        }
    }
    AssembleReply {
        messages,
        ..AssembleReply::default()
    }
}

fn keep(start: usize, end: usize) -> Segment {
    Segment::Keep(start..end)
}

/// What the host makes of an engine's answer.
async fn judged(
    request: Assemble,
    outcome: impl Into<AssembleOutcome>,
) -> Result<AssembleOutcome, String> {
    let script = Script::new([answers(EngineReply::Assembled(outcome.into()))]);
    match GateLayer.layer(script).oneshot(call(request)).await {
        Ok(served) => Ok(Assemble::result(served.result).expect("a context")),
        Err(error) => Err(format!("{}: {error}", error.code())),
    }
}

async fn refused(request: Assemble, reply: AssembleReply) -> String {
    judged(request, reply).await.expect_err("a defect")
}

#[tokio::test]
async fn r7_7_ranges_outside_the_list_or_kept_twice_are_named() {
    let view = list(4);
    let outside = refused(request(&view), of([keep(2, 5)])).await;
    assert!(
        outside.contains("messages: segment 0 keeps up to 5"),
        "{outside}"
    );
    let twice = refused(request(&view), of([keep(2, 4), keep(0, 3)])).await;
    assert!(twice.starts_with("CONTRACT_VIOLATION"), "{twice}");
}

#[tokio::test]
async fn r7_7_the_newest_user_message_of_an_included_turn_is_there_once() {
    let view = list(5);
    let lost = refused(included(&view), of([keep(0, 4)])).await;
    assert!(lost.contains("index 4, is lost"), "{lost}");
    // Its live form wins over what the engine stored of it (BR-017).
    let rebuilt = of([keep(0, 4), Segment::Insert(message("user", 4, ",\"x\":1"))]);
    let lost = refused(included(&view), rebuilt).await;
    assert!(lost.contains("is lost"), "{lost}");
    let twice = of([keep(0, 5), Segment::Insert(message("user", 4, ""))]);
    let twice = refused(included(&view), twice).await;
    assert!(twice.contains("index 4, is there twice"), "{twice}");
    judged(included(&view), of([keep(4, 5)])).await.unwrap();
}

#[tokio::test]
async fn r7_7_with_the_turn_excluded_the_newest_may_be_summarised_and_none_may_be_doubled() {
    let view = list(5);
    let summary = Message::from_payload(r#"{"role":"user","content":"so far"}"#);
    let summary = Segment::Insert(summary.with_synthetic(true));
    judged(request(&view), of([summary.clone(), keep(3, 4)]))
        .await
        .unwrap();
    judged(request(&view), of([summary])).await.unwrap();
    let again = || Segment::Insert(message("user", 2, ",\"shortened\":true"));
    let doubled = refused(request(&view), of([again(), keep(2, 5)])).await;
    assert!(doubled.contains("`e2` is there twice"), "{doubled}");
    let doubled = refused(request(&view), of([again(), again(), keep(3, 5)])).await;
    assert!(doubled.contains("`e2` is there twice"), "{doubled}");
    judged(request(&view), of([keep(0, 2), again(), keep(3, 5)]))
        .await
        .unwrap();
}

#[tokio::test]
async fn r7_7_equal_texts_are_no_doubles() {
    let nameless = || Message::from_payload(r#"{"role":"user","content":"go on"}"#);
    let view: Transcript = (0..3).map(|_| nameless()).collect();
    let recalled = of([Segment::Insert(nameless()), keep(1, 3)]);
    judged(request(&view), recalled.clone()).await.unwrap();
    judged(included(&view), recalled).await.unwrap();
}

#[tokio::test]
async fn a_blank_user_message_may_be_left_out() {
    let mut view = list(3);
    view.push(Message::from_payload(r#"{"role":"user","content":[]}"#));
    judged(included(&view), of([keep(0, 3)])).await.unwrap();
    let lost = refused(included(&view), of([keep(0, 2)])).await;
    assert!(lost.contains("index 2, is lost"), "{lost}");
}

#[tokio::test]
async fn br_046_no_messages_for_a_list_with_a_user_message_is_a_defect() {
    let empty = refused(request(&list(2)), of([])).await;
    assert!(empty.contains("messages: is empty"), "{empty}");
    judged(request(&Transcript::new()), of([])).await.unwrap();
    let sync = Assemble {
        site: Site::Sync,
        ..request(&list(2))
    };
    judged(sync, of([])).await.unwrap();
}

#[tokio::test]
async fn r7_7_pairs_that_the_engine_splits_are_named_and_those_of_the_list_are_not() {
    let call = || {
        Message::from_payload(
            r#"{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read"}]}"#,
        )
    };
    let result =
        || Message::from_payload(r#"{"role":"toolResult","toolCallId":"c1","content":[]}"#);
    let whole: Transcript = [message("user", 0, ""), call(), result()]
        .into_iter()
        .collect();
    let split = refused(request(&whole), of([keep(0, 2)])).await;
    assert!(
        split.contains("at 1, a tool call has lost its result (`c1`)"),
        "{split}"
    );
    let split = refused(request(&whole), of([keep(0, 1), keep(2, 3)])).await;
    assert!(split.contains("result has lost its call"), "{split}");

    let broken: Transcript = [message("user", 0, ""), call(), message("user", 1, "")]
        .into_iter()
        .collect();
    judged(request(&broken), of([keep(1, 3)])).await.unwrap();
}

#[tokio::test]
async fn r7_7_a_tenth_over_the_budget_is_left_to_the_hosts_own_check() {
    let sized = |budget, estimated_tokens| {
        let view = list(4);
        let request = Assemble {
            token_budget: TokenBudget::new(budget),
            ..request(&view)
        };
        let reply = AssembleReply {
            estimated_tokens,
            prompt_authority: Some(PromptAuthority::Assembled),
            ..of([keep(0, 4)])
        };
        judged(request, reply)
    };
    let authority = |outcome: Result<AssembleOutcome, String>| match outcome.unwrap() {
        AssembleOutcome::Messages(reply) => reply.prompt_authority.unwrap(),
        AssembleOutcome::Unchanged(_) => panic!("messages"),
    };
    for (budget, estimated, expected) in [
        (2_000, 2_000, PromptAuthority::Assembled),
        (2_000, 2_001, PromptAuthority::PreassemblyMayOverflow),
        (2_000, 2_200, PromptAuthority::PreassemblyMayOverflow),
        (1_023, 9_000, PromptAuthority::PreassemblyMayOverflow),
    ] {
        assert_eq!(authority(sized(budget, estimated).await), expected);
    }
    for (budget, estimated) in [(2_000, 2_201), (1_024, 1_127), (1_024, u64::MAX)] {
        let error = sized(budget, estimated).await.unwrap_err();
        assert!(error.starts_with("OVER_BUDGET"), "{error}");
    }
}

#[tokio::test]
async fn r10_2_unchanged_is_an_answer_only_to_a_host_that_said_what_it_shows() {
    let view = list(2);
    let unchanged = || Unchanged {
        estimated_tokens: 5_000,
        ..Unchanged::default()
    };
    let outcome = AssembleOutcome::Unchanged(unchanged());
    let error = judged(request(&view), outcome.clone()).await.unwrap_err();
    assert!(error.contains("unchanged"), "{error}");
    let known = Assemble {
        known_projection: Some(KnownProjection {
            epoch: "e".to_owned(),
            fingerprint: None,
        }),
        token_budget: TokenBudget::new(2_000),
        ..request(&view)
    };
    let expected = Unchanged {
        prompt_authority: Some(PromptAuthority::PreassemblyMayOverflow),
        ..unchanged()
    };
    assert_eq!(
        judged(known, outcome).await,
        Ok(AssembleOutcome::Unchanged(expected))
    );
}

#[tokio::test]
async fn what_is_well_passes_as_it_is() {
    let reply = AssembleReply {
        estimated_tokens: 7,
        system_prompt_addition: Some("be brief".to_owned()),
        context_projection: Some(ContextProjection::default()),
        reasons: vec!["all".to_owned()],
        ..of([keep(0, 4)])
    };
    assert_eq!(
        judged(included(&list(4)), reply.clone()).await,
        Ok(reply.into())
    );
}
