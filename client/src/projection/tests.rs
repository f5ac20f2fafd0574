mod decisions;
mod framing;
mod laws;
mod limits;
mod phases;

use contextwire_engine::{
    AssembleReply, ContextProjection, EngineInfo, KnownProjection, ProjectionMode, Unchanged,
};

use super::*;

fn engine() -> EngineInfo {
    EngineInfo::new("lossless", "Lossless", "1.0.0")
}

fn planner() -> Planner {
    Planner::new(ProjectionOptions::default())
}

fn tools() -> ToolSurface {
    ToolSurface::of(["read", "write"])
}

/// An answer that asks for a bootstrap.
fn bootstrap(epoch: &str, fingerprint: &str) -> AssembleReply {
    AssembleReply {
        context_projection: Some(ContextProjection {
            mode: ProjectionMode::ThreadBootstrap,
            epoch: Some(epoch.to_owned()),
            fingerprint: Some(fingerprint.to_owned()),
        }),
        ..AssembleReply::default()
    }
}

fn per_turn() -> AssembleReply {
    AssembleReply::default()
}

fn run(planner: &Planner, bound: Option<&Binding>, assembly: Assembly<'_>) -> Plan {
    run_with(planner, bound, assembly, &tools())
}

fn run_with(
    planner: &Planner,
    bound: Option<&Binding>,
    assembly: Assembly<'_>,
    tools: &ToolSurface,
) -> Plan {
    let engine = engine();
    let turn = Turn {
        engine: Some(&engine),
        bound,
        tools,
        assembly,
    };
    match planner.plan(&turn) {
        Step::Run(plan) => *plan,
        Step::AskAgain => panic!("asked again"),
    }
}

/// What is bound after a first turn with this answer.
fn bound(planner: &Planner, reply: &AssembleReply) -> Binding {
    let plan = run(planner, None, Assembly::Answered(reply));
    let BindingStep::Begin(draft) = plan.binding else {
        panic!("nothing is bound")
    };
    draft.confirmed("t1")
}

fn keeps(plan: &Plan) -> bool {
    plan.thread == ThreadChoice::Keep("t1".to_owned())
}

fn is_rotated(plan: &Plan) -> bool {
    plan.thread == ThreadChoice::Fresh { rotated: true }
}

fn known(epoch: &str, fingerprint: &str) -> KnownProjection {
    KnownProjection {
        epoch: epoch.to_owned(),
        fingerprint: Some(fingerprint.to_owned()),
    }
}

fn unchanged() -> Unchanged {
    Unchanged::default()
}
