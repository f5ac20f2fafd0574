use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contextwire_engine::{
    Compact, CompactionTarget, Digest, HookContext, Message, Session, SessionId, TokenBudget,
};
use contextwire_legacy::{SummarizeError, Summarizer, SummaryAnswer, SummaryRequest, SummaryText};

use super::*;
use crate::entry::{Entry, Log, LogList};
use crate::node::{NodeId, SummaryNode};
use crate::plan::Plan;
use crate::span::Span;
use crate::testing::{answer, call, result, user, words};
use crate::verify::verify;

mod bodies;
mod content;
mod failure;
mod laws;
mod redact;
mod target;

/// What a summariser does.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// A text of so many words, the same for the same prompt.
    Words(usize),
    Empty,
    ReasoningOnly,
    /// Says back what it was shown.
    Echo,
    /// Longer than what it was shown.
    Long,
    Unauthorized,
    Unavailable,
    /// Words after a while.
    Slow(Duration),
    /// Refuses prompts of more characters.
    Narrow(usize),
}

#[derive(Debug)]
pub(super) struct Stub {
    way: Mutex<Way>,
    window: Option<u64>,
    calls: AtomicUsize,
    prompts: Mutex<Vec<String>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl Stub {
    pub(super) fn new(way: Way) -> Self {
        Self {
            way: Mutex::new(way),
            window: None,
            calls: AtomicUsize::new(0),
            prompts: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        }
    }

    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn becomes(&self, way: Way) {
        *self.way.lock().unwrap() = way;
    }

    fn text(way: &Way, request: &SummaryRequest) -> Result<String, SummarizeError> {
        let named = |count: usize| {
            let sum: usize = request.prompt.bytes().map(usize::from).sum();
            format!("Record {sum}. {}", words(count))
        };
        let material = request.prompt.split("</conversation>").next().unwrap();
        match way {
            Way::Words(count) => Ok(named(*count)),
            Way::Slow(_) => Ok(named(60)),
            Way::Empty => Ok(" \n".to_owned()),
            Way::ReasoningOnly => Ok("<think>so it was</think>".to_owned()),
            Way::Echo => Ok(material.chars().skip(15).take(900).collect()),
            Way::Long => Ok(format!("{material}{}", words(4_000))),
            Way::Unauthorized => Err(SummarizeError::Unauthorized { status: 401 }),
            Way::Unavailable => Err(SummarizeError::Unavailable { status: 503 }),
            Way::Narrow(most) if request.prompt.len() > *most => Err(SummarizeError::TooLong),
            Way::Narrow(_) => Ok(named(20)),
        }
    }
}

impl Summarizer for Stub {
    fn name(&self) -> &'static str {
        "stub"
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn summarize<'a>(
        &'a self,
        _: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        let way = self.way.lock().unwrap().clone();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.prompts.lock().unwrap().push(request.prompt.clone());
        Box::pin(async move {
            let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_in_flight.fetch_max(now, Ordering::Relaxed);
            if let Way::Slow(time) = way {
                tokio::time::sleep(time).await;
            } else {
                tokio::task::yield_now().await;
            }
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            let text = Self::text(&way, request)?;
            Ok(SummaryText {
                text,
                model: Some("stub-1".to_owned()),
                is_extract: false,
            })
        })
    }
}

/// A store in memory.
#[derive(Debug, Default)]
pub(super) struct Kept {
    nodes: Mutex<HashMap<NodeId, Arc<SummaryNode>>>,
    works: Mutex<BTreeMap<Digest, NodeId>>,
    plan: Mutex<Plan>,
    published: AtomicUsize,
    /// Nodes over this place are stale.
    erased: Mutex<Option<u64>>,
    /// Another writer published first.
    has_moved: Mutex<bool>,
}

impl Sink for Kept {
    fn find(&self, source_key: Digest) -> Stored<'_, Option<SummaryNode>> {
        let id = self.works.lock().unwrap().get(&source_key).copied();
        let node = id.and_then(|id| self.nodes.lock().unwrap().get(&id).cloned());
        Box::pin(std::future::ready(Ok(node.map(|node| (*node).clone()))))
    }

    fn keep<'a>(&'a self, node: &'a SummaryNode) -> Stored<'a, ()> {
        let erased = *self.erased.lock().unwrap();
        if erased.is_some_and(|place| node.span().contains(place)) {
            return Box::pin(std::future::ready(Err(SinkError::Stale)));
        }
        self.works
            .lock()
            .unwrap()
            .insert(node.source_key(), node.id());
        let mut nodes = self.nodes.lock().unwrap();
        nodes.insert(node.id(), Arc::new(node.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn publish<'a>(&'a self, plan: &'a Plan, replaced: &'a [NodeId]) -> Stored<'a, ()> {
        let mut current = self.plan.lock().unwrap();
        let is_next = plan.version() == current.version() + 1 && !*self.has_moved.lock().unwrap();
        if is_next {
            *current = plan.clone();
            self.published.fetch_add(1, Ordering::Relaxed);
            let mut nodes = self.nodes.lock().unwrap();
            for id in replaced {
                if let Some(node) = nodes.remove(id) {
                    let node = (*node).clone().in_state(crate::node::NodeState::Replaced);
                    nodes.insert(*id, Arc::new(node));
                }
            }
        }
        let outcome = is_next.then_some(()).ok_or(SinkError::Stale);
        Box::pin(std::future::ready(outcome))
    }
}

/// A session with its store.
#[derive(Debug, Default)]
pub(super) struct World {
    log: LogList,
    kept: Kept,
    pins: BTreeSet<u64>,
    settings: Settings,
    breaker: Breaker,
    redaction: Redaction,
    memory: Memory,
    calls: usize,
    /// Whether compactions have all bodies from the start.
    has_whole_log: bool,
    /// Bytes of bodies that the newest one held at once.
    most_held: usize,
    /// Entries that the newest compaction read.
    reads: AtomicUsize,
}

/// The bodies of a log, and how much of them is held at once.
#[derive(Debug)]
pub(super) struct Shelf<'a> {
    log: &'a LogList,
    out: Mutex<Vec<std::sync::Weak<Entry>>>,
    most: AtomicUsize,
}

impl<'a> Shelf<'a> {
    fn of(log: &'a LogList) -> Self {
        Self {
            log,
            out: Mutex::default(),
            most: AtomicUsize::new(0),
        }
    }
}

impl Bodies for Shelf<'_> {
    fn read(&self, span: Span) -> Stored<'_, Vec<(u64, Arc<Entry>)>> {
        let whole = |place| {
            let entry = self.log.entry(place)?;
            Some((place, Arc::new(Entry::new(entry.message().clone()))))
        };
        let entries: Vec<_> = span.places().filter_map(whole).collect();
        let mut out = self.out.lock().unwrap();
        out.extend(entries.iter().map(|(_, entry)| Arc::downgrade(entry)));
        out.retain(|entry| entry.strong_count() > 0);
        let held = out.iter().filter_map(std::sync::Weak::upgrade);
        let bytes: u64 = held.map(|entry| entry.bytes()).sum();
        self.most
            .fetch_max(usize::try_from(bytes).unwrap(), Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// A log that counts what is read of it.
struct Counted<'a>(&'a LogList, &'a [Arc<Entry>], &'a AtomicUsize);

impl Log for Counted<'_> {
    fn end(&self) -> u64 {
        self.0.end()
    }

    fn entry(&self, place: u64) -> Option<Arc<Entry>> {
        self.2.fetch_add(1, Ordering::Relaxed);
        self.1.get(usize::try_from(place).ok()?).cloned()
    }

    fn tokens_before(&self, place: u64) -> u64 {
        self.0.tokens_before(place)
    }
}

pub(super) fn context(seconds: u64) -> HookContext {
    let session = Session::new(SessionId::new("s").unwrap());
    HookContext::new(session, Duration::from_secs(seconds))
}

pub(super) fn within(budget: u64) -> Compact {
    Compact {
        token_budget: TokenBudget::new(budget),
        target: CompactionTarget::Threshold,
        ..Compact::default()
    }
}

impl World {
    pub(super) fn say(&mut self, payload: impl Into<String>) -> u64 {
        let place = self.log.end();
        let message = Message::from_payload(payload.into()).with_entry_id(format!("e{place}"));
        self.log.push(message);
        place
    }

    /// About 790 tokens in six messages.
    pub(super) fn turn(&mut self) {
        self.say(user(&format!("task {} {}", self.calls, words(60))));
        for _ in 0..2 {
            self.calls += 1;
            let id = format!("c{}", self.calls);
            self.say(call(&[&id]));
            self.say(result(&id, &words(300)));
        }
        self.say(answer(&words(90)));
    }

    /// Small leaves and a small tail, so that a test needs few messages.
    pub(super) fn turns(count: usize) -> Self {
        let mut world = Self {
            settings: Settings {
                leaf_tokens: 4_000,
                leaf_output_tokens: 300,
                condensed_output_tokens: 400,
                tail_tokens: 2_000,
                ..Settings::default()
            },
            ..Self::default()
        };
        (0..count).for_each(|_| world.turn());
        world
    }

    pub(super) async fn compact(&mut self, request: &Compact, stub: &Stub) -> Outcome {
        self.compact_in(&context(600), request, stub).await
    }

    pub(super) async fn compact_in(
        &mut self,
        cx: &HookContext,
        request: &Compact,
        summarizer: &dyn Summarizer,
    ) -> Outcome {
        let plan = self.kept.plan.lock().unwrap().clone();
        let nodes = self.kept.nodes.lock().unwrap().clone();
        self.reads.store(0, Ordering::Relaxed);
        let outlines = (0..self.log.end()).map(|place| self.outline(place));
        let outlines: Vec<Arc<Entry>> = outlines.collect();
        let log = Counted(&self.log, &outlines, &self.reads);
        let bodies = Shelf::of(&self.log);
        let compaction = Compaction {
            cx,
            snapshot: Snapshot {
                plan: &plan,
                nodes: &nodes,
                log: &log,
                pins: &self.pins,
            },
            bodies: &bodies,
            request,
            settings: &self.settings,
            summarizer,
            redaction: &self.redaction,
            breaker: &self.breaker,
            sink: &self.kept,
        };
        let outcome = compaction.run(&mut self.memory).await;
        self.most_held = bodies.most.load(Ordering::Relaxed);
        self.check();
        outcome
    }

    /// What a compaction has of an entry until it summarises it.
    fn outline(&self, place: u64) -> Arc<Entry> {
        let entry = self.log.entry(place).unwrap();
        if self.has_whole_log {
            entry
        } else {
            Arc::new(Entry::outline(entry.message()))
        }
    }

    /// The lossless invariant.
    pub(super) fn check(&self) {
        let plan = self.plan();
        let nodes = self.kept.nodes.lock().unwrap().clone();
        let faults = verify(&Snapshot {
            plan: &plan,
            nodes: &nodes,
            log: &self.log,
            pins: &self.pins,
        });
        assert_eq!(faults, []);
        for pin in &self.pins {
            assert_eq!(plan.summary_at(*pin), None, "a pinned entry stays");
        }
    }

    pub(super) fn plan(&self) -> Plan {
        self.kept.plan.lock().unwrap().clone()
    }

    pub(super) fn node(&self, id: NodeId) -> Arc<SummaryNode> {
        Arc::clone(&self.kept.nodes.lock().unwrap()[&id])
    }

    /// The summaries in force.
    pub(super) fn summaries(&self) -> Vec<Arc<SummaryNode>> {
        let plan = self.plan();
        plan.summaries()
            .iter()
            .map(|placed| self.node(placed.id))
            .collect()
    }

    pub(super) fn tokens(&self) -> u64 {
        let plan = self.plan();
        let nodes = self.kept.nodes.lock().unwrap().clone();
        let snapshot = Snapshot {
            plan: &plan,
            nodes: &nodes,
            log: &self.log,
            pins: &self.pins,
        };
        Draft::of(snapshot).tokens()
    }
}
