//! How an engine is called.

use std::time::Duration;

use contextwire_client::{ClientOptions, FallbackEngine, OnEngineFailure, Policy};
use contextwire_engine::TokenBudget;

use super::HostConfig;
use super::server::message_bytes;
use crate::config::{FailureChoice, Options, Settings, Span, Text};

/// Longest wait of a call: nobody means more.
const LONGEST: Duration = Duration::from_hours(24);

pub(super) fn check(settings: &mut Settings) -> HostConfig {
    let section = settings.options.host.clone();
    let on_engine_failure = section.on_engine_failure.unwrap_or_default();
    if section.fallback.is_some() && on_engine_failure == FailureChoice::Fail {
        let problem = "nobody answers in the engine's place where host.on_engine_failure is `fail`";
        settings.refuse("host.fallback", problem, "leave one of them out");
    }
    let built_in = ClientOptions::default();
    let client = ClientOptions {
        on_engine_failure: OnEngineFailure::from(on_engine_failure),
        fallback: FallbackEngine::from(section.fallback.unwrap_or_default()),
        policy: Policy::from(section.policy.unwrap_or_default()),
        max_message_bytes: message_bytes(
            settings,
            "host.max_message_bytes",
            section.max_message_bytes,
        )
        .unwrap_or(built_in.max_message_bytes),
        ..built_in
    };
    let built_in = Options::defaults().host;
    let budget = section.budget.or(built_in.budget);
    HostConfig {
        target: section.target.map(|target| target.0),
        deadline: deadline(settings, "host.deadline", |o| &o.host.deadline),
        budget: budget.and_then(TokenBudget::new),
        model: section.model,
        outbox: section.outbox,
        compact_over_budget: section.compact_over_budget.unwrap_or_default(),
        client,
    }
}

/// A wait that is one.
pub(super) fn deadline(
    settings: &mut Settings,
    key: &str,
    of: impl Fn(&Options) -> &Option<Text<Span>>,
) -> Duration {
    let built_in = of(&Options::defaults()).as_ref().map(|span| span.0.0);
    let given = of(&settings.options).as_ref().map(|span| span.0.0);
    if given.is_some_and(|given| given.is_zero() || given > LONGEST) {
        let problem = "nothing can be answered in no time, and nobody waits for more than a day";
        settings.refuse(key, problem, "name a time such as 500ms or 5s");
    }
    given.or(built_in).unwrap_or(LONGEST)
}
