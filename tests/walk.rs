//! The walk through synchronisation (PROTOCOL 3): every road as a row, alone and interleaved with
//! others, over a real socket and against a model of what each side knows.
//!
//! Of every call the model says why it costs what it costs. The engine has to see the host's list,
//! once; the bytes are bounded by what changed; and a call that is not served has its reason.

mod cost;
mod engine;
mod host;
mod model;
mod run;

use contextwire_engine::{Site, TranscriptSync};
use contextwire_proto::sync::List;
use host::Call::{AfterTurn, Assemble, Bootstrap};
use host::Log::{Told, Untold, Wanted};
use model::Why;
use proptest::prelude::*;
use proptest::sample::Index;
use run::Step::{
    Call, Cut, EngineBecomes, EngineDies, EngineRestarts, HostRestarts, Huge, Insert, Replace,
    Write,
};
use run::{Step, Walk};
use tokio::runtime::{Builder, Runtime};

const TURN: Step = Call(Assemble(Site::BeforePrompt, Untold));
const ROUND: Step = Call(Assemble(Site::ToolLoop, Untold));
const SYNC: Step = Call(Assemble(Site::Sync, Untold));
const WITH_LOG: Step = Call(Assemble(Site::BeforePrompt, Wanted));

/// A road: what one host does, and what explains each list that moves where nobody else moves.
struct Row {
    name: &'static str,
    steps: &'static [Step],
    why: &'static [Why],
}

const ROWS: &[Row] = &[
    Row {
        name: "a fresh start",
        steps: &[TURN, TURN],
        why: &[Why::Fresh, Why::Unchanged],
    },
    Row {
        name: "an append",
        steps: &[TURN, Write(1), TURN, Write(4), TURN],
        why: &[Why::Fresh, Why::Changed(1), Why::Changed(4)],
    },
    Row {
        name: "edits in the middle",
        steps: &[TURN, Replace, TURN, Insert, TURN, Cut(3), TURN],
        why: &[
            Why::Fresh,
            Why::Changed(1),
            Why::Changed(1),
            Why::Changed(0),
        ],
    },
    Row {
        name: "a message over the limit",
        steps: &[TURN, Huge, TURN, Write(1), TURN],
        why: &[Why::Fresh, Why::Changed(1), Why::Changed(1)],
    },
    Row {
        name: "an engine restart",
        steps: &[TURN, EngineRestarts, TURN, TURN],
        why: &[Why::Fresh, Why::EngineForgot, Why::Unchanged],
    },
    Row {
        name: "an engine that is away for a while",
        steps: &[
            TURN,
            EngineDies,
            TURN,
            Write(2),
            Call(AfterTurn),
            EngineRestarts,
            TURN,
        ],
        why: &[Why::Fresh, Why::Down, Why::Down, Why::EngineForgot],
    },
    Row {
        name: "a host restart",
        steps: &[TURN, HostRestarts, TURN, Write(1), TURN],
        why: &[Why::Fresh, Why::HostForgot, Why::Changed(1)],
    },
    Row {
        name: "a host restart after which the host goes on",
        steps: &[TURN, HostRestarts, Write(2), TURN, TURN],
        why: &[Why::Fresh, Why::HostForgotAndWentOn, Why::Unchanged],
    },
    Row {
        name: "parts in flight when a request crosses",
        steps: &[TURN, EngineRestarts, Write(60), TURN, Write(1), TURN],
        why: &[Why::Fresh, Why::EngineForgot, Why::Changed(1)],
    },
    Row {
        name: "view and log in one hook",
        steps: &[WITH_LOG, Write(2), WITH_LOG, WITH_LOG],
        why: &[
            Why::Fresh,
            Why::Fresh,
            Why::Changed(2),
            Why::Changed(2),
            Why::Unchanged,
            Why::Unchanged,
        ],
    },
    Row {
        name: "a log that the engine hears of and one that it is given",
        steps: &[
            Call(Bootstrap),
            Call(Assemble(Site::BeforePrompt, Told)),
            WITH_LOG,
            Write(3),
            Call(AfterTurn),
            WITH_LOG,
        ],
        why: &[
            Why::Fresh,
            Why::Fresh,
            Why::Unchanged,
            Why::Unchanged,
            Why::Changed(3),
            Why::Changed(3),
            Why::Unchanged,
        ],
    },
    Row {
        name: "an engine that keeps no mirror",
        steps: &[
            EngineBecomes(TranscriptSync::Full),
            TURN,
            TURN,
            Call(AfterTurn),
            EngineBecomes(TranscriptSync::Delta),
            TURN,
        ],
        why: &[Why::Full, Why::Full, Why::Full, Why::EngineForgot],
    },
    Row {
        name: "sites that alternate",
        steps: &[TURN, ROUND, Write(1), TURN, ROUND, Replace, TURN, ROUND],
        why: &[],
    },
    Row {
        name: "a site whose list another site continued before a third one sent its own",
        steps: &[TURN, Write(2), SYNC, ROUND, Write(1), TURN],
        why: &[
            Why::Fresh,
            Why::Changed(2),
            Why::Changed(0),
            Why::Changed(1),
        ],
    },
    Row {
        name: "an upload in the background that another site goes on from",
        steps: &[SYNC, TURN, Write(2), SYNC, TURN],
        why: &[Why::Fresh, Why::Unchanged, Why::Changed(2), Why::Unchanged],
    },
];

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn every_road_alone_costs_what_its_reasons_say() {
    for Row { name, steps, why } in ROWS {
        println!("{name}");
        runtime().block_on(async {
            let mut walk = Walk::new().await;
            for step in *steps {
                walk.step(0, *step, 128).await;
            }
            assert!(why.is_empty() || walk.why == *why, "{name}: {:?}", walk.why);
        });
    }
}

/// A road that a host is on.
struct Road {
    host: usize,
    steps: std::slice::Iter<'static, Step>,
}

impl Road {
    fn next(&self) -> Option<Step> {
        self.steps.as_slice().first().copied()
    }

    /// The next step, where it is a call that may go beside another one.
    fn next_beside(&self, host: usize, other: host::Call) -> Option<host::Call> {
        let Some(Call(call)) = self.next() else {
            return None;
        };
        let both_of_the_log = call.list().0 == other.list().0 && call.list().0 == List::Log;
        (self.host != host && free(call) && !both_of_the_log).then_some(call)
    }
}

/// A log that the engine asks for is told apart from one that it has only while nobody else moves.
fn free(call: host::Call) -> bool {
    !matches!(call, Assemble(_, Wanted))
}

/// Goes all roads, a step at a time; which one is next, where it edits, and whether a call of the
/// other host goes beside it is drawn.
async fn go(mut roads: Vec<Road>, draws: Vec<(u8, u8, bool)>) {
    let mut walk = Walk::new().await;
    let rest = std::iter::repeat_with(|| (0, 77, false));
    for (which, at, beside) in draws.into_iter().chain(rest) {
        roads.retain(|road| road.next().is_some());
        if roads.is_empty() {
            return;
        }
        let road = usize::from(which) % roads.len();
        let Road { host, .. } = roads[road];
        let step = *roads[road].steps.next().unwrap();
        let Call(call) = step else {
            walk.step(host, step, at).await;
            continue;
        };
        let mut calls = vec![(host, call)];
        let other = roads.iter_mut().find_map(|road| {
            let call = road.next_beside(host, call)?;
            Some((road, call))
        });
        if let Some((road, call)) = other.filter(|_| beside && free(call)) {
            road.steps.next();
            calls.push((road.host, call));
        }
        walk.calls(&calls).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn roads_that_cross_in_any_order_show_the_engine_every_list_and_cost_what_changed(
        roads in prop::collection::vec((any::<Index>(), 0..2_usize), 2..6),
        draws in prop::collection::vec(any::<(u8, u8, bool)>(), 0..40),
    ) {
        let road = |(row, host): (Index, usize)| Road {
            host,
            steps: row.get(ROWS).steps.iter(),
        };
        let roads: Vec<_> = roads.into_iter().map(road).collect();
        runtime().block_on(go(roads, draws));
    }
}
