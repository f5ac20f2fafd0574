use super::*;

/// 100 000 characters.
const WINDOW: u64 = 25_000;

fn user() -> String {
    r#"{"role":"user","content":"hi"}"#.to_owned()
}

fn answer() -> String {
    r#"{"role":"assistant","content":[{"type":"text","text":"ok"}]}"#.to_owned()
}

fn result(chars: usize) -> String {
    output("read", &"x".repeat(chars), "")
}

fn output(tool: &str, text: &str, more: &str) -> String {
    format!(
        r#"{{"role":"toolResult","toolCallId":"c1","toolName":"{tool}","isError":true,"content":[{{"type":"text","text":"{text}"}}{more}],"details":{{"n":1e400}}}}"#
    )
}

fn list(payloads: &[String]) -> Transcript {
    let named = payloads.iter().enumerate();
    named
        .map(|(n, payload)| Message::from_payload(payload.clone()).with_entry_id(format!("e{n}")))
        .collect()
}

/// A user message, these results, and three answers.
fn with_results(results: &[String]) -> Transcript {
    let mut payloads = vec![user()];
    payloads.extend_from_slice(results);
    payloads.extend([answer(), answer(), answer()]);
    list(&payloads)
}

fn pruned(list: &Transcript, settings: &PruneSettings) -> Option<Transcript> {
    prune(
        list,
        TokenBudget::new(WINDOW).unwrap(),
        Some(settings.ttl),
        settings,
    )
}

fn default(list: &Transcript) -> Option<Transcript> {
    pruned(list, &PruneSettings::default())
}

fn text(list: &Transcript, place: usize) -> String {
    Body::of(list.get(place).unwrap().payload()).text()
}

#[test]
fn c318_without_a_known_use_of_the_cache_nothing_is_pruned() {
    let list = with_results(&[result(40_000)]);
    let window = TokenBudget::new(WINDOW).unwrap();
    assert_eq!(prune(&list, window, None, &PruneSettings::default()), None);
}

#[test]
fn c319_and_c320_pruning_begins_at_exactly_the_time_and_never_at_zero() {
    let list = with_results(&[result(40_000)]);
    let window = TokenBudget::new(WINDOW).unwrap();
    let settings = PruneSettings::default();
    let millisecond = Duration::from_millis(1);
    let aged = |age| prune(&list, window, Some(age), &settings).is_some();
    assert!(!aged(settings.ttl.saturating_sub(millisecond)));
    assert!(aged(settings.ttl));
    let off = PruneSettings {
        ttl: Duration::ZERO,
        ..settings
    };
    assert_eq!(pruned(&list, &off), None);
}

#[test]
fn c321_with_fewer_than_three_answers_nothing_is_pruned() {
    assert_eq!(
        default(&list(&[user(), result(60_000), answer(), answer()])),
        None
    );
}

#[test]
fn c322_what_comes_before_the_first_user_message_is_never_pruned() {
    let list = list(&[result(60_000), user(), answer(), answer(), answer()]);
    assert_eq!(default(&list), None);
}

#[test]
fn the_last_three_answers_protect_what_follows_them() {
    let list = list(&[user(), answer(), result(60_000), answer(), answer()]);
    assert_eq!(default(&list), None);
}

#[test]
fn c324_below_three_tenths_of_the_window_nothing_is_pruned() {
    assert_eq!(default(&with_results(&[result(29_000)])), None);
    assert!(default(&with_results(&[result(30_000)])).is_some());
}

#[test]
fn c325_a_long_result_is_trimmed_to_its_ends_with_a_note() {
    let middle = "😀".repeat(1_003);
    let long = format!("{}{middle}{}", "a".repeat(1_500), "b".repeat(1_500));
    let list = with_results(&[output("read", &long, ""), result(30_000)]);
    let pruned = default(&list).unwrap();
    let expected = format!(
        "{}\n...\n{}\n\n[Tool result trimmed: the first 1500 and the last 1500 of 4003 characters are kept.]",
        "a".repeat(1_500),
        "b".repeat(1_500)
    );
    assert_eq!(text(&pruned, 1), expected);
}

#[test]
fn c326_a_result_of_four_thousand_characters_stays() {
    let list = with_results(&[result(4_000), result(40_000)]);
    let pruned = default(&list).unwrap();
    assert!(pruned.get(1).unwrap().is_same_object(list.get(1).unwrap()));
}

#[test]
fn c327_an_image_gives_way_to_a_word_also_in_a_short_result() {
    let image = r#"{"role":"toolResult","toolCallId":"c1","toolName":"shot","content":[{"type":"image","data":"QUJD"}]}"#;
    let pruned = default(&with_results(&[image.to_owned(), result(40_000)])).unwrap();
    assert_eq!(text(&pruned, 1), NO_IMAGE);
}

#[test]
fn c328_the_oldest_are_cleared_until_the_list_is_below_half_the_window() {
    // 3 000 characters each: too short to be trimmed, 60 000 in all.
    let list = with_results(&vec![result(3_000); 20]);
    let pruned = default(&list).unwrap();
    let cleared =
        (1..21).filter(|place| text(&pruned, *place) == "[Old tool result content cleared]");
    assert_eq!(cleared.collect::<Vec<_>>(), [1, 2, 3, 4]);
    let payload = String::from_utf8(pruned.get(1).unwrap().payload().to_vec()).unwrap();
    assert!(payload.starts_with(
        r#"{"role":"toolResult","toolCallId":"c1","toolName":"read","isError":true,"#
    ));
    assert!(payload.ends_with(r#","details":{"n":1e400}}"#));
    assert_eq!(
        pruned.get(1).unwrap().entry_id(),
        list.get(1).unwrap().entry_id()
    );
    // Less output than that in all is not worth it.
    assert_eq!(default(&with_results(&vec![result(3_000); 16])), None);
}

#[test]
fn c330_another_placeholder_or_none() {
    let list = with_results(&vec![result(3_000); 20]);
    let with = |cleared: Option<&str>| {
        let settings = PruneSettings {
            cleared: cleared.map(str::to_owned),
            ..PruneSettings::default()
        };
        pruned(&list, &settings)
    };
    assert_eq!(text(&with(Some("gone")).unwrap(), 1), "gone");
    assert_eq!(with(None), None);
}

#[test]
fn c331_the_output_of_a_denied_tool_stays() {
    let list = with_results(&[output("Keep", &"x".repeat(20_000), ""), result(20_000)]);
    let settings = PruneSettings {
        tools: ToolFilter {
            allow: vec!["*".to_owned()],
            deny: vec!["ke*".to_owned()],
        },
        ..PruneSettings::default()
    };
    let pruned = pruned(&list, &settings).unwrap();
    assert_eq!(text(&pruned, 1).len(), 20_000);
    assert!(text(&pruned, 2).len() < 4_000);
}

#[test]
fn c332_the_list_itself_stays_as_it_is_and_pruning_it_again_gives_the_same() {
    let list = with_results(&[result(40_000)]);
    let before = list.clone();
    let once = default(&list).unwrap();
    assert_eq!(list, before);
    assert_eq!(default(&list), Some(once));
}
