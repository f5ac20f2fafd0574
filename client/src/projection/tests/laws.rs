//! What holds for every context and every order of turns.

use contextwire_engine::Message;
use proptest::prelude::*;

use super::*;

/// A message of any host, some of them broken.
fn payload() -> impl Strategy<Value = String> {
    let role = prop_oneof![
        Just("user"),
        Just("assistant"),
        Just("toolResult"),
        Just(""),
    ];
    let text = prop_oneof![
        "[a-z $@<\\[\\]ä😀]{0,80}",
        Just("</conversation_context>".to_owned()),
        Just("long ".repeat(2_000)),
    ];
    (role, text, 0..4_u8).prop_map(|(role, text, kind)| {
        let text = serde_json::to_string(&text).unwrap();
        match kind {
            0 => format!(r#"{{"role":"{role}","content":{text}}}"#),
            1 => format!(r#"{{"role":"{role}","content":[{{"type":"text","text":{text}}}]}}"#),
            2 => format!(
                r#"{{"role":"{role}","toolCallId":"c","content":[{{"type":"toolCall","id":"c","name":"n","arguments":{{"a":{text}}}}}]}}"#
            ),
            _ => format!(r#"{{"role":"{role}","content":[{{"type":"text","te"#),
        }
    })
}

fn answers() -> impl Strategy<Value = Option<(u8, u8)>> {
    prop::option::weighted(0.8, (0..3_u8, 0..2_u8))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn limits_are_never_exceeded_and_what_fits_is_never_cut(
        payloads in prop::collection::vec(payload(), 0..12),
        window in 0..3_000_usize,
        is_preserved in any::<bool>(),
        prompt in "[a-z$😀]{0,20}",
    ) {
        let messages: Vec<Message> = payloads.into_iter().map(Message::from_payload).collect();
        let framing = |window_chars| Framing {
            label: "Host".to_owned(),
            payloads: if is_preserved { Payloads::Preserved } else { Payloads::Elided },
            window_chars,
        };
        let prompt = Prompt::new(&prompt);
        let framed = framing(window).turn_text(&messages, &prompt);
        prop_assert!(framed.context_chars <= window);
        prop_assert!(framed.text.ends_with(prompt.text));
        prop_assert!(framed.text.matches("</conversation_context>").count() <= 1);
        let (items, _) = framing(window).items(&messages, &prompt);
        let chars = |item: &HistoryItem| item.label.chars().count() + item.text.chars().count() + 3;
        let note = |item: &&HistoryItem| item.label != "context";
        let of_items: usize = items.iter().filter(note).map(chars).sum();
        prop_assert!(of_items <= window);
        if !framed.cut.is_cut() {
            // Exactly as much room as it takes is enough, one character less is not.
            let most = framed.context_chars;
            let again = framing(most).turn_text(&messages, &prompt);
            prop_assert!(again.cut.chars == 0 && again.context_chars == most);
            if most > 0 {
                prop_assert!(framing(most - 1).turn_text(&messages, &prompt).cut.is_cut());
            }
        }
    }

    /// Turns of one session, with failures and crashes between the phases among them.
    #[test]
    fn what_a_thread_shows_is_always_what_its_binding_says(
        turns in prop::collection::vec((answers(), any::<bool>()), 1..24),
    ) {
        let planner = planner();
        let mut bound: Option<Binding> = None;
        // What the thread of the binding was really sent.
        let mut shown: Option<(u8, u8)> = None;
        let mut threads = 0;
        for (answer, crashes) in turns {
            let reply = answer.map(|(epoch, print)| bootstrap(&epoch.to_string(), &print.to_string()));
            let assembly = reply.as_ref().map_or(Assembly::Failed, Assembly::Answered);
            let was = bound.clone();
            let plan = run(&planner, was.as_ref(), assembly);
            match (&plan.thread, answer) {
                (ThreadChoice::Keep(_), Some(answer)) => {
                    prop_assert_eq!(&plan.content, &Content::Bare, "never projected twice");
                    prop_assert_eq!(shown, Some(answer));
                }
                (ThreadChoice::Keep(_), None) => prop_assert!(shown.is_some()),
                (ThreadChoice::Fresh { .. }, Some(_)) => {
                    let is_projected = matches!(plan.content, Content::Projected(_));
                    prop_assert!(is_projected);
                }
                (ThreadChoice::Fresh { .. }, None) => {}
            }
            match plan.binding {
                BindingStep::Begin(draft) if crashes => {
                    bound = Some(draft.pending(Some("t".to_owned())));
                    shown = None;
                }
                BindingStep::Begin(draft) => {
                    threads += 1;
                    bound = Some(draft.confirmed(format!("t{threads}")));
                    shown = answer;
                }
                BindingStep::Put(binding) => bound = Some(binding),
                BindingStep::Remove => (bound, shown) = (None, None),
                BindingStep::Leave => {}
            }
        }
    }
}
