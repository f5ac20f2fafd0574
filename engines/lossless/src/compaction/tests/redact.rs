//! What a policy masks reaches no summariser and no summary.

use super::*;

const SECRET: &str = "sk-live-4f9a77";

fn redacting() -> Redaction {
    Redaction::of(["sk-live-[0-9a-f]+"]).unwrap()
}

/// A summariser that knows the secret from elsewhere.
struct Telltale(Stub);

impl Summarizer for Telltale {
    fn name(&self) -> &'static str {
        "telltale"
    }

    fn summarize<'a>(
        &'a self,
        cx: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        let seen = format!("{request:?}");
        let payloads = request.messages.iter();
        let payloads = payloads.map(|message| String::from_utf8_lossy(message.payload()));
        let payloads: String = payloads.collect();
        assert!(!seen.contains(SECRET) && !payloads.contains(SECRET));
        let answer = self.0.summarize(cx, request);
        Box::pin(async move {
            let mut answer = answer.await?;
            answer.text = format!("{} They used {SECRET}.", answer.text);
            Ok(answer)
        })
    }
}

fn world() -> World {
    let mut world = World::turns(0);
    for n in 0..40 {
        world.say(user(&format!("use {SECRET} for /srv/a{n}.txt")));
        let id = format!("k{n}");
        world.say(call(&[&id]));
        world.say(result(&id, &format!("KEY={SECRET} {}", words(700))));
        world.say(answer(&format!("{SECRET} works {}", words(90))));
    }
    world.turn();
    world
}

#[tokio::test]
async fn i15_no_summariser_and_no_summary_has_what_the_policy_masks() {
    let mut world = world();
    world.redaction = redacting();
    let telltale = Telltale(Stub::new(Way::Words(40)));
    let hard = within(4_000);
    world.compact_in(&context(600), &hard, &telltale).await;
    let summaries = world.summaries();
    assert!(
        summaries.iter().any(|node| node.depth() > 0),
        "condensed as well"
    );
    for node in world.kept.nodes.lock().unwrap().values() {
        let payload = String::from_utf8_lossy(node.message().payload()).into_owned();
        assert!(!payload.contains(SECRET) && !node.text().contains(SECRET));
        assert!(node.text().contains("[redacted]"));
    }
    // The log has the original.
    let first = world.log.entry(0).unwrap();
    assert!(String::from_utf8_lossy(first.message().payload()).contains(SECRET));
}

#[tokio::test]
async fn i15_quotes_are_masked_and_a_finished_summary_of_before_the_policy_is_not_used() {
    let mut world = world();
    world.redaction = redacting();
    let down = Stub::new(Way::Unavailable);
    world.compact(&within(9_000), &down).await;
    assert!(world.summaries().iter().any(|node| node.is_provisional()));
    assert!(
        world
            .summaries()
            .iter()
            .all(|node| !node.text().contains(SECRET))
    );

    let mut world = self::world();
    let telltale = Stub::new(Way::Words(40));
    // Finished and kept, and never in force: somebody else published first.
    *world.kept.has_moved.lock().unwrap() = true;
    world.compact(&within(12_000), &telltale).await;
    let is_told = |node: &Arc<SummaryNode>| node.text().contains(SECRET);
    assert!(world.kept.nodes.lock().unwrap().values().any(is_told));
    *world.kept.has_moved.lock().unwrap() = false;
    world.redaction = redacting();
    world.compact(&within(12_000), &telltale).await;
    assert!(!world.summaries().is_empty());
    assert!(!world.summaries().iter().any(is_told));
}
