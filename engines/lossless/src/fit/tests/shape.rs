//! Messages that cannot be sent as they are.

use super::*;

#[test]
fn a04_parallel_results_follow_their_call_each_once() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(call(&["a", "b", "c"]));
    for id in ["c", "a", "b"] {
        session.say(result(id, "out"));
    }
    session.say(user("next"));
    let fitted = check(&session, 10_000);
    assert_eq!(session.shown(&fitted).len(), 6);
}

#[test]
fn a05_a_call_without_a_result_gets_one_that_says_so() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(call(&["a"]));
    session.say(user("next"));
    let fitted = check(&session, 10_000);
    let shown = session.shown(&fitted);
    assert!(shown[2].is_synthetic() && shown[2].tool_result_for() == Some("a"));
    assert!(String::from_utf8_lossy(shown[2].payload()).contains(r#""isError":true"#));
}

#[test]
fn a06_calls_of_an_answer_that_broke_off_are_not_shown_and_its_text_is() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(
        r#"{"role":"assistant","stopReason":"aborted","content":[{"type":"text","text":"half"},{"type":"toolCall","id":"a","name":"x","arguments":{}}]}"#,
    );
    session.say(user("next"));
    check(&session, 10_000);
    let shown = session.payloads(10_000);
    assert_eq!(shown.len(), 3);
    assert!(shown[1].contains("half") && !shown[1].contains("toolCall"));
}

#[test]
fn a07_an_id_that_comes_again_keeps_both_results_in_their_places() {
    let mut session = Session::default();
    for text in ["first", "second"] {
        session.say(user("go"));
        session.say(call(&["a"]));
        session.say(result("a", text));
    }
    check(&session, 10_000);
    let shown = session.payloads(10_000);
    assert!(shown[2].contains("first") && shown[5].contains("second"));
}

#[test]
fn a14_a_conversation_without_a_user_message_gets_an_opening() {
    let mut session = Session::default();
    session.say(answer("hello"));
    session.say(call(&["a"]));
    session.say(result("a", "out"));
    let fitted = check(&session, 10_000);
    assert_eq!(fitted.items[0].why, Why::Opening);
}

#[test]
fn a16_what_shows_nothing_is_left_out_and_counted() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(r#"{"role":"assistant","content":[]}"#);
    session.say(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}"#);
    session.say(r#"{"role":"user","content":" "}"#);
    let fitted = check(&session, 10_000);
    assert_eq!(session.shown(&fitted).len(), 1);
    let why: Vec<Left> = fitted.left_out.iter().map(|left| left.why).collect();
    assert_eq!(why, [Left::Blank; 3]);
}

#[test]
fn a17_thinking_stays_for_the_model_that_thought_and_for_no_other() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(
        r#"{"role":"assistant","model":"m1","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"yes"}]}"#,
    );
    session.say(user("next"));
    session.model = Some("m1");
    assert_eq!(session.fit(10_000).items[1].piece, Piece::Keep(1));
    session.model = Some("m2");
    let shown = session.payloads(10_000);
    assert!(!shown[1].contains("thinking") && shown[1].contains("yes"));
}

#[test]
fn a24_instructions_come_first_are_never_summarised_away_and_count() {
    let mut session = Session::default();
    session.transcript.push(Message::from_payload(
        r#"{"role":"system","content":"only in the view"}"#,
    ));
    session.lead = 1;
    session.say(r#"{"role":"developer","content":"rules of the house"}"#);
    (0..20).for_each(|_| session.turn());
    for budget in [1_500, 4_000, 60_000] {
        let fitted = check(&session, budget);
        assert_eq!(fitted.items[0].piece, Piece::Keep(0));
        assert_eq!(
            (fitted.items[1].why, fitted.items[1].places),
            (Why::Lead, Some(Span::new(0, 1)))
        );
    }
}

#[test]
fn a28_old_images_give_way_and_those_of_the_newest_message_stay() {
    let image = format!(
        r#"{{"type":"image","mimeType":"image/png","data":"{}"}}"#,
        "QUJD".repeat(2_500_000)
    );
    let mut session = Session::default();
    for _ in 0..3 {
        session.say(format!(r#"{{"role":"user","content":[{image}]}}"#));
        session.say(answer("seen"));
    }
    let fitted = check(&session, 100_000);
    let forms: Vec<Form> = fitted.items.iter().map(|item| item.form).collect();
    assert_eq!((forms[0], forms[4]), (Form::Cleaned, Form::Whole));
    assert!(fitted.tokens < 5_000, "{}", fitted.tokens);
}

#[test]
fn i11_a_heartbeat_without_news_is_not_shown_and_one_with_news_is() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(answer("done"));
    for text in ["HEARTBEAT_OK", "The build is red."] {
        session.say(user("Say HEARTBEAT_OK if nothing is due."));
        session.say(answer(text));
    }
    let fitted = check(&session, 10_000);
    assert_eq!(session.shown(&fitted).len(), 4);
    assert_eq!(fitted.left_out[0].why, Left::Heartbeat);
}

#[test]
fn br_085_a_result_before_its_call_is_moved_behind_it() {
    let mut session = Session::default();
    session.say(user("go"));
    session.say(result("a", "real"));
    session.say(call(&["a"]));
    let fitted = check(&session, 10_000);
    let places: Vec<_> = fitted
        .items
        .iter()
        .map(|item| item.places.unwrap().start)
        .collect();
    assert_eq!(places, [0, 2, 1]);
}

#[test]
fn br_095_no_result_ends_in_an_answer_where_the_model_has_to_answer() {
    let mut session = Session::turns(2);
    session.current_turn = CurrentTurn::Included;
    let fitted = check(&session, 10_000);
    let shown = session.shown(&fitted);
    assert_eq!(shown.last().unwrap().role(), "toolResult");
    assert_eq!(fitted.left_out[0].why, Left::Prefill);
}

#[test]
fn a22_a_decorated_message_is_shown_as_the_host_has_it_and_once() {
    let mut session = Session::turns(1);
    let place = session.say(user("stored"));
    let shown = "<relevant-memories>x</relevant-memories>stored";
    let mut view: Vec<Message> = session.transcript.iter().cloned().collect();
    view.pop();
    view.push(Message::from_payload(user(shown)));
    session.transcript = view.into_iter().collect();
    let fitted = check(&session, 10_000);
    assert_eq!(fitted.items.last().unwrap().piece, keep(place));
    let payloads = session.payloads(10_000);
    assert_eq!(
        payloads
            .iter()
            .filter(|text| text.contains("stored"))
            .count(),
        1
    );
}

#[test]
fn a23_equal_texts_are_all_shown() {
    let mut session = Session::default();
    for _ in 0..5 {
        session.say(user("ok"));
    }
    assert_eq!(check(&session, 10_000).items.len(), 5);
}

#[test]
fn what_the_view_does_not_show_is_inserted_and_what_the_log_lacks_is_kept() {
    let mut session = Session::turns(2);
    let whole = session.transcript.clone();
    // The host shows the second turn and a message that is not stored yet.
    session.transcript = whole.iter().skip(6).cloned().collect();
    session
        .transcript
        .push(Message::from_payload(user("not stored yet")));
    let places = (0..7).map(|index| (index < 6).then_some(index + 6));
    let view = View::new(&session.transcript, places, 12);
    let fit = Fit {
        snapshot: Snapshot {
            plan: &session.plan,
            nodes: &session.nodes,
            log: &session.log,
            pins: &session.pins,
        },
        view: &view,
        window: Window::default(),
        corrections: &[],
    };
    let fitted = fit.run();
    let inserts = fitted
        .items
        .iter()
        .filter(|item| matches!(item.piece, Piece::Insert(_)));
    assert_eq!((inserts.count(), fitted.items.len()), (6, 13));
    assert_eq!(fitted.items[12].piece, Piece::Keep(6));
}
