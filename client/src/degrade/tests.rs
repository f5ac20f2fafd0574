use contextwire_engine::{
    Assemble, CommitTurn, Compact, ContextMode, Maintain, PrepareSubagentSpawn,
};
use contextwire_proto::Reason;
use tower::{Layer, ServiceExt};

use super::*;
use crate::request::EngineReply;
use crate::script::{Line, Script, answers, broken, call, fails, ingest, refused, well};

struct Place {
    turns: Turns,
    script: Script,
}

impl Place {
    fn new(policy: Policy, lines: impl IntoIterator<Item = Line>) -> Self {
        Self {
            turns: Turns::new(policy),
            script: Script::new(lines),
        }
    }

    /// The code of a call's outcome, of a turn with this name or without one.
    async fn code(&self, turn: Option<&str>, mut call: Call) -> &'static str {
        call.turn = turn.map(Into::into);
        let service = self.turns.layer(self.script.clone());
        let outcome = service.oneshot(call).await;
        outcome.map_or_else(|error| error.code(), |_| "OK")
    }
}

fn before_prompt() -> Call {
    call(Assemble::default())
}

fn in_loop() -> Call {
    call(Assemble {
        site: Site::ToolLoop,
        ..Assemble::default()
    })
}

fn noted() -> Line {
    answers(EngineReply::TurnNoted(()))
}

#[tokio::test(start_paused = true)]
async fn r7_4_after_a_failed_assemble_the_rest_of_the_turn_is_not_the_engines() {
    let place = Place::new(Policy::Guarded, [fails(broken()), well()]);
    assert_eq!(place.code(None, before_prompt()).await, "UNREACHABLE");
    assert_eq!(place.code(None, in_loop()).await, "TURN_DEGRADED");
    assert_eq!(place.code(None, ingest()).await, "TURN_DEGRADED");
    assert_eq!(
        place.code(None, call(Compact::default())).await,
        "TURN_DEGRADED"
    );
    // The next turn asks again.
    assert_eq!(place.code(None, before_prompt()).await, "OK");
    assert_eq!(place.script.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn r7_4_a_named_turn_lasts_until_another_name() {
    let lines = [fails(broken()), well(), well()];
    let place = Place::new(Policy::Lease, lines);
    assert_eq!(
        place.code(Some("one"), before_prompt()).await,
        "UNREACHABLE"
    );
    // A second prompt of the same turn is no new turn, and a call without a name is of this one.
    assert_eq!(
        place.code(Some("one"), before_prompt()).await,
        "TURN_DEGRADED"
    );
    assert_eq!(place.code(None, ingest()).await, "TURN_DEGRADED");
    assert_eq!(place.code(Some("two"), before_prompt()).await, "OK");
    assert_eq!(place.code(Some("two"), in_loop()).await, "OK");
}

#[tokio::test(start_paused = true)]
async fn r7_4_an_answered_failure_of_another_hook_costs_its_call_only() {
    let lines = [fails(refused(Reason::Overloaded)), fails(broken()), noted()];
    let place = Place::new(Policy::Guarded, lines);
    assert_eq!(place.code(Some("t"), ingest()).await, "OVERLOADED");
    assert_eq!(place.code(Some("t"), ingest()).await, "UNREACHABLE");
    assert_eq!(place.code(Some("t"), in_loop()).await, "TURN_DEGRADED");
    assert_eq!(place.turns.degraded()[0].1, "UNREACHABLE");
}

#[tokio::test(start_paused = true)]
async fn r7_4_what_is_stored_spawned_or_beside_the_turn_goes_to_the_engine() {
    let lines = [fails(broken()), noted(), noted(), noted()];
    let place = Place::new(Policy::Guarded, lines);
    assert_eq!(place.code(Some("t"), before_prompt()).await, "UNREACHABLE");
    let background = Maintain {
        background: true,
        ..Maintain::default()
    };
    let spawn = PrepareSubagentSpawn {
        context_mode: Some(ContextMode::Isolated),
        ..PrepareSubagentSpawn::default()
    };
    let beside = [call(CommitTurn::default()), call(background), call(spawn)];
    for call in beside {
        assert_eq!(place.code(Some("t"), call).await, "OK");
    }
}

#[tokio::test(start_paused = true)]
async fn r7_3_a_barred_engine_is_the_quarantines_affair() {
    let bug = || fails(refused(Reason::EngineFailure));
    let place = Place::new(Policy::Guarded, [bug(), well()]);
    assert_eq!(
        place.code(Some("t"), before_prompt()).await,
        "ENGINE_FAILURE"
    );
    assert_eq!(place.code(Some("t"), in_loop()).await, "OK");
    // Under a lease nothing bars it, so its turn goes on without it.
    let place = Place::new(Policy::Lease, [bug()]);
    assert_eq!(
        place.code(Some("t"), before_prompt()).await,
        "ENGINE_FAILURE"
    );
    assert_eq!(place.code(Some("t"), in_loop()).await, "TURN_DEGRADED");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_earlier_turn_that_ends_late_does_not_cost_the_next_one_its_engine() {
    let late = Line::Ends(std::time::Duration::from_secs(1), Err(broken()));
    let place = Place::new(Policy::Guarded, [late, well(), well()]);
    let service = place.turns.layer(place.script.clone());
    let straggler = tokio::spawn(async move { service.oneshot(in_loop()).await });
    tokio::task::yield_now().await;
    assert_eq!(place.code(None, before_prompt()).await, "OK");
    assert!(straggler.await.unwrap().is_err());
    assert_eq!(place.code(None, in_loop()).await, "OK");
}
