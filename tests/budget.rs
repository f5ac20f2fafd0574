//! How long a call may take: what its body and its header say, and what holds where neither does.

use std::time::Duration;

use contextwire_engine::{Hook, HookId};
use contextwire_proto::v1;
use prost::Message as _;
use tokio::time::Instant;

use crate::harness::bare::{call_with, field};
use crate::harness::requests::{body, framed};
use crate::harness::{Odd, Place, channel};

const SHORT: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_secs(50);

/// The deadline that the engine saw is this long after the call.
async fn seen(engine: &Odd, place: &Place, hook: Hook, budget: [Option<Duration>; 2]) -> Duration {
    let [in_body, in_header] = budget;
    let call = v1::CallContext {
        hook_id: HookId::mint().to_string(),
        budget_ms: in_body.map_or(0, |it| u64::try_from(it.as_millis()).unwrap()),
        ..v1::CallContext::default()
    };
    let request = [body(hook, false), field(1, &call.encode_to_vec())].concat();
    let before = Instant::now();
    let channel = channel(&place.target());
    let done = call_with(&channel, hook, [framed(hook, &request)], |request| {
        if let Some(timeout) = in_header {
            request.set_timeout(timeout);
        }
    });
    done.await.unwrap();
    let took = before.elapsed();
    let deadline = engine.seen.seen().pop().unwrap().cx.deadline;
    // It was counted from some instant while the call ran.
    let longest = deadline - before;
    let shortest = longest.saturating_sub(took);
    [SHORT, LONG, hook.profile().deadline]
        .into_iter()
        .find(|it| (shortest..=longest).contains(it))
        .unwrap_or_else(|| panic!("{hook}: between {shortest:?} and {longest:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn e_tim_01_of_the_body_and_the_header_the_smaller_is_obeyed_in_every_hook() {
    let (engine, place) = (Odd::new(), Place::new());
    let _running = place.serve(engine.clone()).await;
    for hook in Hook::ALL.into_iter().filter(|hook| *hook != Hook::Describe) {
        for (budget, expected) in [
            ([Some(SHORT), Some(LONG)], SHORT),
            ([Some(LONG), Some(SHORT)], SHORT),
            ([Some(LONG), None], LONG),
            ([None, None], hook.profile().deadline),
            (
                [None, Some(Duration::from_hours(1))],
                hook.profile().deadline,
            ),
        ] {
            let obeyed = seen(&engine, &place, hook, budget).await;
            assert_eq!(obeyed, expected, "{hook}: {budget:?}");
        }
    }
}
