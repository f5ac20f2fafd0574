//! Which thread a turn goes to, what goes there, and why.

use super::*;

use ProjectionReason as Reason;

#[test]
fn c261_the_first_turn_is_projected_and_binds_epoch_and_fingerprint() {
    let planner = planner();
    let plan = run(&planner, None, Assembly::Answered(&bootstrap("e1", "f1")));
    assert_eq!(plan.reason, Reason::MissingThread);
    assert_eq!(plan.thread, ThreadChoice::Fresh { rotated: false });
    assert!(matches!(plan.content, Content::Projected(_)));
    let BindingStep::Begin(draft) = plan.binding else {
        panic!("nothing is bound")
    };
    assert_eq!(
        draft.terms.projection,
        ThreadProjection::new("e1", Some("f1"))
    );
    assert_eq!(draft.terms.engine_id, "lossless");
}

#[test]
fn c262_c265_an_equal_epoch_and_fingerprint_send_the_bare_prompt_to_the_same_thread() {
    let planner = planner();
    let bound = bound(&planner, &bootstrap("e1", "f1"));
    let reply = bootstrap(" e1", " f1 ");
    let plan = run(&planner, Some(&bound), Assembly::Answered(&reply));
    assert_eq!(plan.reason, Reason::Matching);
    assert!(keeps(&plan));
    assert_eq!(plan.content, Content::Bare);
    assert_eq!(plan.binding, BindingStep::Leave);
}

#[test]
fn c264_another_fingerprint_is_projected_into_a_fresh_thread_and_so_is_another_epoch() {
    let planner = planner();
    let bound = bound(&planner, &bootstrap("e1", "f1"));
    for reply in [bootstrap("e1", "f2"), bootstrap("e2", "f1")] {
        let plan = run(&planner, Some(&bound), Assembly::Answered(&reply));
        assert_eq!(plan.reason, Reason::ProjectionMismatch);
        assert!(is_rotated(&plan));
        assert!(matches!(plan.content, Content::Projected(_)));
    }
}

#[test]
fn c266_a_thread_that_was_shown_nothing_is_projected_anew() {
    let planner = planner();
    let bound = bound(&planner, &per_turn());
    let reply = bootstrap("e1", "f1");
    let plan = run(&planner, Some(&bound), Assembly::Answered(&reply));
    assert_eq!(plan.reason, Reason::MissingProjection);
    assert!(is_rotated(&plan));
}

#[test]
fn c267_another_version_window_or_citations_mode_begins_a_fresh_thread() {
    let reply = bootstrap("e1", "f1");
    let first = bound(&planner(), &reply);
    let windowed = Planner::new(ProjectionOptions {
        window_tokens: Some(200_000),
        ..ProjectionOptions::default()
    });
    let citing = Planner::new(ProjectionOptions {
        citations_mode: Some("inline".to_owned()),
        ..ProjectionOptions::default()
    });
    for planner in [windowed, citing] {
        let plan = run(&planner, Some(&first), Assembly::Answered(&reply));
        assert_eq!(plan.reason, Reason::BindingMismatch);
        assert!(is_rotated(&plan));
    }
    let newer = EngineInfo::new("lossless", "Lossless", "1.0.1");
    let turn = Turn {
        engine: Some(&newer),
        bound: Some(&first),
        tools: &tools(),
        assembly: Assembly::Answered(&reply),
    };
    let Step::Run(plan) = planner().plan(&turn) else {
        panic!("asked again")
    };
    assert_eq!(plan.reason, Reason::BindingMismatch);
}

#[test]
fn c268_an_engine_that_goes_back_to_per_turn_gets_a_fresh_thread() {
    let planner = planner();
    let bound = bound(&planner, &bootstrap("e1", "f1"));
    let plan = run(&planner, Some(&bound), Assembly::Answered(&per_turn()));
    assert_eq!(plan.reason, Reason::PerTurn);
    assert!(is_rotated(&plan));
    assert!(matches!(plan.content, Content::Projected(_)));
}

#[test]
fn a_per_turn_thread_goes_on_and_gets_its_context_again() {
    let planner = planner();
    let bound = bound(&planner, &per_turn());
    let plan = run(&planner, Some(&bound), Assembly::Answered(&per_turn()));
    assert_eq!(plan.reason, Reason::PerTurn);
    assert!(keeps(&plan));
    let Content::Projected(framing) = plan.content else {
        panic!("not projected")
    };
    assert_eq!(framing.payloads, Payloads::Elided);
    assert_eq!(plan.binding, BindingStep::Leave);
}

#[test]
fn other_tools_begin_a_fresh_thread_and_none_at_all_are_as_if_no_thread_were_bound() {
    let planner = planner();
    let reply = bootstrap("e1", "f1");
    let bound = bound(&planner, &reply);
    let others = ToolSurface::of(["read"]);
    let plan = run_with(&planner, Some(&bound), Assembly::Answered(&reply), &others);
    assert_eq!(plan.reason, Reason::ToolsMismatch);
    assert!(is_rotated(&plan));
    let none = ToolSurface::Disabled;
    let plan = run_with(&planner, Some(&bound), Assembly::Answered(&reply), &none);
    assert_eq!(plan.reason, Reason::MissingThread);
    assert!(is_rotated(&plan));
}

#[test]
fn c270_br_143_an_addition_goes_to_the_developer_instructions_projected_or_not_and_once() {
    let planner = planner();
    let mut reply = bootstrap("e1", "f1");
    reply.system_prompt_addition = Some(" be brief \n".to_owned());
    let first = run(&planner, None, Assembly::Answered(&reply));
    assert_eq!(first.addition.as_deref(), Some("be brief"));
    let bound = bound(&planner, &reply);
    assert_eq!(bound.addition.as_deref(), Some("be brief"));
    let second = run(&planner, Some(&bound), Assembly::Answered(&reply));
    assert_eq!(second.content, Content::Bare);
    assert_eq!(second.addition.as_deref(), Some("be brief"));
    assert_eq!(second.binding, BindingStep::Leave);
    reply.system_prompt_addition = Some("be long".to_owned());
    let third = run(&planner, Some(&bound), Assembly::Answered(&reply));
    let BindingStep::Put(binding) = third.binding else {
        panic!("a new addition is remembered")
    };
    assert_eq!(binding.addition.as_deref(), Some("be long"));
    assert_eq!(binding.terms, bound.terms);
}

#[test]
fn c271_r10_4_a_failure_without_a_thread_sends_the_bare_prompt_and_stores_nothing() {
    let plan = run(&planner(), None, Assembly::Failed);
    assert_eq!(plan.reason, Reason::AssembleFailed);
    assert_eq!(plan.content, Content::Bare);
    assert_eq!(plan.binding, BindingStep::Leave);
    assert_eq!(plan.addition, None);
}

#[test]
fn r10_4_a_bound_thread_goes_on_through_a_failure_with_the_last_addition() {
    let planner = planner();
    let mut reply = bootstrap("e1", "f1");
    reply.system_prompt_addition = Some("be brief".to_owned());
    let bound = bound(&planner, &reply);
    let mut last = per_turn();
    last.system_prompt_addition = Some("be brief, said the fallback".to_owned());
    for (assembly, addition) in [
        (Assembly::Failed, "be brief"),
        (Assembly::InPlace(&last), "be brief, said the fallback"),
        (Assembly::InPlace(&per_turn()), "be brief"),
    ] {
        let plan = run(&planner, Some(&bound), assembly);
        assert_eq!(plan.reason, Reason::AssembleFailed);
        assert!(keeps(&plan));
        assert_eq!(plan.content, Content::Bare);
        assert_eq!(plan.binding, BindingStep::Leave);
        assert_eq!(plan.addition.as_deref(), Some(addition));
    }
    // The engine is back with the epoch that the thread shows.
    let plan = run(&planner, Some(&bound), Assembly::Answered(&reply));
    assert_eq!(plan.reason, Reason::Matching);
}

#[test]
fn r10_4_br_140_without_a_thread_the_fallbacks_list_is_projected_in_a_part_of_the_window() {
    let planner = Planner::new(ProjectionOptions {
        window_tokens: Some(200_000),
        ..ProjectionOptions::default()
    });
    // Whatever it says of itself: a substitute never stands for an epoch (R7.13).
    let reply = bootstrap("e1", "f1");
    let plan = run(&planner, None, Assembly::InPlace(&reply));
    let Content::Projected(framing) = plan.content else {
        panic!("not projected")
    };
    assert_eq!(framing.window_chars, 720_000 / 4);
    assert_eq!(framing.payloads, Payloads::Elided);
    assert_eq!(plan.binding, BindingStep::Leave);
}

#[test]
fn r10_4_a_host_that_rotates_gives_the_thread_up() {
    let planner = Planner::new(ProjectionOptions {
        on_failure: OnProjectionFailure::Rotate,
        ..ProjectionOptions::default()
    });
    let bound = bound(&planner, &bootstrap("e1", "f1"));
    let plan = run(&planner, Some(&bound), Assembly::Failed);
    assert!(is_rotated(&plan));
    assert_eq!(plan.content, Content::Bare);
    assert_eq!(plan.binding, BindingStep::Remove);
}

#[test]
fn c272_without_an_engine_nothing_is_projected() {
    let planner = planner();
    let plan = run(&planner, None, Assembly::NoEngine);
    assert_eq!(plan.reason, Reason::NoEngine);
    assert_eq!(plan.content, Content::Bare);
    let BindingStep::Begin(draft) = plan.binding else {
        panic!("the thread goes on in the next turn")
    };
    assert_eq!(draft.terms.projection, None);
    let own = draft.confirmed("t1");
    assert!(keeps(&run(&planner, Some(&own), Assembly::NoEngine)));
    let projected = bound(&planner, &bootstrap("e1", "f1"));
    let plan = run(&planner, Some(&projected), Assembly::NoEngine);
    assert!(is_rotated(&plan), "an engine's context is not gone on in");
    assert_eq!(plan.content, Content::Bare);
    let legacy = EngineInfo::new("legacy", "Legacy", "1");
    let turn = Turn {
        engine: Some(&legacy),
        bound: None,
        tools: &tools(),
        assembly: Assembly::Answered(&bootstrap("e1", "f1")),
    };
    let Step::Run(plan) = planner.plan(&turn) else {
        panic!("asked again")
    };
    assert_eq!(plan.reason, Reason::NoEngine, "whatever it asks for");
}

#[test]
fn r10_2_the_engine_is_told_of_a_thread_only_where_nothing_would_be_projected() {
    let planner = planner();
    let (engine, tools) = (engine(), tools());
    let first = bound(&planner, &bootstrap("e1", "f1"));
    let told =
        |bound: Option<&Binding>, tools: &ToolSurface| planner.known(Some(&engine), bound, tools);
    assert_eq!(told(Some(&first), &tools), Some(known("e1", "f1")));
    assert_eq!(told(None, &tools), None);
    assert_eq!(told(Some(&first), &ToolSurface::of(["other"])), None);
    assert_eq!(told(Some(&first), &ToolSurface::Disabled), None);
    let plain = bound(&planner, &per_turn());
    assert_eq!(told(Some(&plain), &tools), None);
    let compacted = first.clone().after_native_compaction();
    assert_eq!(told(Some(&compacted), &tools), None);
    let newer = EngineInfo::new("lossless", "Lossless", "2.0.0");
    assert_eq!(planner.known(Some(&newer), Some(&first), &tools), None);
    assert_eq!(planner.known(None, Some(&first), &tools), None);
}

#[test]
fn r10_2_unchanged_is_believed_only_of_the_thread_that_the_engine_was_told_of() {
    let planner = planner();
    let (engine, tools, answer) = (engine(), tools(), unchanged());
    let first = bound(&planner, &bootstrap("e1", "f1"));
    let told = known("e1", "f1");
    let step = |bound, known| {
        planner.plan(&Turn {
            engine: Some(&engine),
            bound,
            tools: &tools,
            assembly: Assembly::Unchanged {
                answer: &answer,
                known,
            },
        })
    };
    let Step::Run(plan) = step(Some(&first), Some(&told)) else {
        panic!("asked again")
    };
    assert_eq!(plan.reason, Reason::Matching);
    assert_eq!(plan.content, Content::Bare);
    // The backend lost the thread meanwhile, or it was told of another one.
    assert_eq!(step(None, Some(&told)), Step::AskAgain);
    let other = bound(&planner, &bootstrap("e2", "f1"));
    assert_eq!(step(Some(&other), Some(&told)), Step::AskAgain);
    assert_eq!(step(Some(&first), None), Step::AskAgain);
}

#[test]
fn br_137_after_a_native_compaction_the_context_is_given_to_another_thread() {
    let planner = planner();
    let reply = bootstrap("e1", "f1");
    let compacted = bound(&planner, &reply).after_native_compaction();
    let plan = run(&planner, Some(&compacted), Assembly::Answered(&reply));
    assert_eq!(plan.reason, Reason::MissingProjection);
    assert!(is_rotated(&plan));
}
