use std::time::Duration;

use contextwire_engine::Maintain;

use super::*;
use crate::endpoint;
use crate::script::{Line, Script, broken, call, fails, ingest, refused, well};

/// Two endpoints with a script each, in the order in which a call tries them.
struct Two {
    replicas: Replicas,
    first: Script,
    second: Script,
}

impl Two {
    fn new(policy: Policy) -> Self {
        let target = "unix:/nobody/a,unix:/nobody/b".parse().unwrap();
        let options = ClientOptions {
            policy,
            affinity_key: Some("tests".to_owned()),
            ..ClientOptions::default()
        };
        let (_, endpoints) = endpoint::of(&target, &options).unwrap();
        let scripts = [Script::default(), Script::default()];
        let stacks = endpoints.into_iter().zip(scripts.clone());
        let stacks = stacks.map(|(endpoint, script)| (endpoint, Stack::new(script)));
        let replicas = Replicas::new(stacks, &options);
        let order = replicas.0.order(&ingest());
        let first = order[0].0.known.target().to_string();
        let [a, b] = scripts;
        let (first, second) = if first.ends_with('a') { (a, b) } else { (b, a) };
        Self {
            replicas,
            first,
            second,
        }
    }

    async fn call(&self, call: Call) -> Outcome {
        // The endpoints are asked by nobody here.
        self.replicas.0.somewhere(call).await
    }

    fn calls(&self) -> [usize; 2] {
        [&self.first, &self.second].map(|it| it.calls().len())
    }
}

#[tokio::test(start_paused = true)]
async fn r7_8_what_one_endpoint_does_not_answer_goes_to_the_next_under_the_same_key() {
    let passing = [
        broken(),
        refused(Reason::Draining),
        refused(Reason::Overloaded),
        refused(Reason::DependencyUnavailable),
        CallError::BreakerOpen {
            retry_in: Duration::from_secs(1),
        },
    ];
    for error in passing {
        let (two, code) = (Two::new(Policy::Guarded), error.code());
        two.first.add([fails(error)]);
        two.second.add([well()]);
        assert!(two.call(ingest()).await.is_ok(), "{code}");
        let (before, after) = (two.first.calls(), two.second.calls());
        assert_eq!(before[0].hook_id, after[0].hook_id);
    }
}

#[tokio::test(start_paused = true)]
async fn r6_2_what_is_the_engines_own_word_is_its_word_everywhere() {
    let own = [
        refused(Reason::EngineFailure),
        refused(Reason::InvalidRequest),
        refused(Reason::HookClosed),
        CallError::ContractViolation("no result".to_owned()),
    ];
    for error in own {
        let (two, code) = (Two::new(Policy::Guarded), error.code());
        two.first.add([fails(error)]);
        assert_eq!(two.call(ingest()).await.unwrap_err().code(), code);
        assert_eq!(two.calls(), [1, 0], "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_gets_half_of_the_time_and_no_further_call_while_another_is_well() {
    let two = Two::new(Policy::Guarded);
    two.first.add([Line::Hang]);
    two.second.add([well(), well()]);
    let started = Instant::now();
    let share = ingest().share();
    assert!(two.call(ingest()).await.is_ok());
    assert_eq!(started.elapsed(), share / 2);
    assert!(two.call(ingest()).await.is_ok());
    assert_eq!(two.calls(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_long_hook_that_is_silent_does_not_begin_anew_elsewhere() {
    let two = Two::new(Policy::Guarded);
    let idle = Duration::from_secs(1);
    two.first.add([fails(CallError::Silent { idle })]);
    let outcome = two.call(call(Maintain::default())).await;
    assert_eq!(outcome.unwrap_err().code(), "SILENT");
    assert_eq!(two.calls(), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_by_hand_goes_to_one_endpoint_whatever_comes_of_it() {
    let two = Two::new(Policy::Direct);
    two.first.add([fails(broken())]);
    assert!(two.call(ingest()).await.is_err());
    assert_eq!(two.calls(), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_answers_the_failure_is_that_of_a_call_that_went_out() {
    let two = Two::new(Policy::Guarded);
    two.first.add([fails(broken())]);
    let retry_in = Duration::from_secs(1);
    two.second.add([fails(CallError::BreakerOpen { retry_in })]);
    let failed = two.call(ingest()).await.unwrap_err();
    assert_eq!(failed.code(), "UNREACHABLE");
}
