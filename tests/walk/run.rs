//! Two hosts and an engine on one session, step by step against the model.

use contextwire_client::ServedBy;
use contextwire_engine::{Message, Site, Transcript, TranscriptSync};
use contextwire_proto::sync::List;
use contextwire_server::ServerOptions;
use futures_util::future::join_all;

use super::cost::{CALL, Cost, LIMIT};
use super::engine::Walker;
use super::host::{Call, Host, Log, Outcome, huge, written};
use super::model::{self, Book, Carried, Forecast, Held, Why};
use crate::harness::{PATIENT, Place, Running, soon};

/// Messages that both hosts begin with.
const SHARED: usize = 20;
/// A result, at most.
const RESULT: u64 = 200;
/// A request for a list, at most: 32 states.
const REQUEST: u64 = 1600;

/// What the engine says of a part that it has, at most.
const PART: u64 = 64;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The host's log grows by so many messages.
    Write(usize),
    /// A message somewhere is another one now.
    Replace,
    /// A message appears somewhere.
    Insert,
    /// So many messages somewhere are gone.
    Cut(usize),
    /// The log grows by a message that fits into no frame.
    Huge,
    /// The host calls the engine.
    Call(Call),
    /// The host starts again with the log that it stored.
    HostRestarts,
    /// The engine's process is killed and started again.
    EngineRestarts,
    /// The same, and it takes lists another way now.
    EngineBecomes(TranscriptSync),
    /// The engine's process is killed.
    EngineDies,
}

/// All that takes part.
pub(super) struct Walk {
    place: Place,
    engine: Walker,
    running: Option<Running>,
    hosts: [Host; 2],
    held: Held,
    written: usize,
    calls: usize,
    /// What explained each call so far.
    pub(super) why: Vec<Why>,
}

/// A call on its way.
struct Pending {
    host: usize,
    call: Call,
    mark: String,
    carried: Forecast,
    asked: Option<Forecast>,
    /// Another call of the same list is under way.
    beside: bool,
}

impl Walk {
    pub(super) async fn new() -> Self {
        let place = Place::new();
        let engine = Walker::new();
        let log: Transcript = (0..SHARED).map(written).collect();
        let hosts = [0, 1].map(|_| Host::new(place.direct(), log.clone()));
        let running = Some(serve(&place, &engine).await);
        Self {
            place,
            engine,
            running,
            hosts,
            held: Held::default(),
            written: SHARED,
            calls: 0,
            why: Vec::new(),
        }
    }

    /// Takes a step of a host; `at` says where in its log, in 256ths.
    pub(super) async fn step(&mut self, host: usize, step: Step, at: u8) {
        match step {
            Step::Call(call) => self.calls(&[(host, call)]).await,
            Step::HostRestarts => {
                let host = &mut self.hosts[host];
                host.client = self.place.direct();
                host.book = Book::default();
                host.stale = false;
            }
            Step::EngineRestarts => self.restart(self.engine.sync).await,
            Step::EngineBecomes(sync) => {
                self.restart(sync).await;
                for host in &mut self.hosts {
                    // The first one may find the connection to the server that is gone.
                    while soon(host.client.describe(PATIENT)).await.is_err() {}
                    host.stale = false;
                }
            }
            Step::EngineDies => self.kill().await,
            Step::Write(_) | Step::Replace | Step::Insert | Step::Cut(_) | Step::Huge => {
                self.edit(host, step, at);
            }
        }
    }

    fn edit(&mut self, host: usize, step: Step, at: u8) {
        let log = &mut self.hosts[host].log;
        let at = log.len() * usize::from(at) / 256;
        let (cut, new) = match step {
            Step::Write(messages) => (log.len()..log.len(), messages),
            Step::Replace => (at..at + 1, 1),
            Step::Insert => (at..at, 1),
            // Something always stays.
            Step::Cut(messages) => (at.max(1)..(at.max(1) + messages).min(log.len()), 0),
            Step::Huge => {
                log.push(huge(self.written));
                self.written += 1;
                return;
            }
            Step::Call(_)
            | Step::HostRestarts
            | Step::EngineRestarts
            | Step::EngineBecomes(_)
            | Step::EngineDies => panic!("{step:?} edits nothing"),
        };
        let new: Vec<Message> = (self.written..self.written + new).map(written).collect();
        self.written += new.len();
        let (before, after) = (log.range(0..cut.start), log.range(cut.end..log.len()));
        *log = before.cloned().chain(new).chain(after.cloned()).collect();
    }

    async fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill().await;
        }
        for host in &mut self.hosts {
            host.stale = true;
        }
        self.held = Held::default();
    }

    async fn restart(&mut self, sync: TranscriptSync) {
        self.kill().await;
        self.engine.sync = sync;
        self.running = Some(serve(&self.place, &self.engine).await);
    }

    /// Calls of different hosts, at the same time.
    pub(super) async fn calls(&mut self, calls: &[(usize, Call)]) {
        let lists: Vec<_> = calls.iter().map(|(_, call)| call.list().0).collect();
        let beside = |list: List| lists.iter().filter(|of| **of == list).count() > 1;
        let pending: Vec<_> = calls
            .iter()
            .map(|(host, call)| self.pending(*host, *call, beside(call.list().0)))
            .collect();
        let outcomes = join_all(
            pending
                .iter()
                .map(|pending| self.hosts[pending.host].call(pending.call, &pending.mark)),
        );
        let outcomes = soon(outcomes).await;
        for (pending, outcome) in pending.iter().zip(outcomes) {
            if self.settle(pending, &outcome) {
                continue;
            }
            // It found a connection to a server that is gone; now it has a new one.
            let again = self.pending(pending.host, pending.call, false);
            let outcome = soon(self.hosts[again.host].call(again.call, &again.mark)).await;
            assert!(self.settle(&again, &outcome), "{outcome:?}");
        }
    }

    fn pending(&mut self, at: usize, call: Call, beside: bool) -> Pending {
        self.calls += 1;
        let host = &self.hosts[at];
        let (list, site) = call.list();
        let new = host.carried(call);
        let carried = Carried {
            list,
            site,
            new: &new,
            beside,
        };
        let asked = matches!(call, Call::Assemble(site, Log::Wanted) if site != Site::Sync);
        Pending {
            host: at,
            call,
            mark: format!("call {}", self.calls),
            carried: model::carried(&self.held, &host.book, self.engine.sync, carried),
            asked: asked.then(|| model::asked(&self.held, &host.book, &host.log)),
            beside,
        }
    }

    /// Checks what came of a call against what it may do; whether it is settled.
    fn settle(&mut self, pending: &Pending, outcome: &Outcome) -> bool {
        let context = format!("{:?} of host {}: {outcome:?}", pending.call, pending.host);
        if outcome.by == ServedBy::InProcess {
            assert_eq!(outcome.reason, Some("UNREACHABLE"), "{context}");
            assert_eq!(self.engine.saw(&pending.mark), [], "{context}");
            let host = &mut self.hosts[pending.host];
            assert!(self.running.is_none() || host.stale, "{context}");
            host.stale = self.running.is_none();
            if host.stale {
                self.why.push(Why::Down);
            }
            return host.stale;
        }
        assert_eq!(
            outcome.by,
            ServedBy::Engine("walker".to_owned()),
            "{context}"
        );
        assert_eq!(outcome.reason, None, "{context}");
        self.right_lists(pending, &context);
        right_bytes(pending, outcome, &context);
        self.learn(pending);
        true
    }

    /// The engine saw the host's lists, and each once.
    fn right_lists(&self, pending: &Pending, context: &str) {
        let host = &self.hosts[pending.host];
        let seen = self.engine.saw(&pending.mark);
        if let Call::Assemble(Site::Sync, _) = pending.call {
            // Only a call that names hooks without effect gets as far as the engine.
            assert!(seen.len() < 2, "{context}");
            if let [seen] = &seen[..] {
                assert!(seen.names_closed_hooks, "{context}");
                same(&seen.carried, &host.carried(pending.call), context);
            }
            return;
        }
        let [seen] = &seen[..] else {
            panic!("once, not {}: {context}", seen.len())
        };
        same(&seen.carried, &host.carried(pending.call), context);
        match &seen.log {
            Some(log) => same(log, &host.log, context),
            None => assert!(pending.asked.is_none(), "no log: {context}"),
        }
    }

    fn learn(&mut self, pending: &Pending) {
        let host = &mut self.hosts[pending.host];
        let (list, site) = pending.call.list();
        let new = host.carried(pending.call);
        self.held.take(list, new.clone(), pending.beside);
        host.book.acknowledge(list, site, new);
        if pending.asked.is_some_and(|asked| asked.requests > 0) {
            let log = host.log.clone();
            self.held.take(List::Log, log.clone(), false);
            host.book.acknowledge(List::Log, Site::default(), log);
        }
        host.stale = false;
        self.why.push(pending.carried.why);
        self.why.extend(pending.asked.map(|asked| asked.why));
    }
}

/// Bytes are bounded by what changed, and enough for what did.
fn right_bytes(pending: &Pending, outcome: &Outcome, context: &str) {
    let asked = pending.asked.unwrap_or(Forecast {
        why: Why::Unchanged,
        cost: Cost::default(),
        requests: 0,
    });
    let most = CALL + pending.carried.cost.most + asked.cost.most;
    let least = pending.carried.cost.least;
    assert!(
        (least..=most).contains(&outcome.sent),
        "{least} to {most} bytes, by {:?} and {asked:?}: {context}",
        pending.carried
    );
    // A word on each part, of which all but the last are nearly full.
    let parts = outcome.sent / (LIMIT as u64 / 2);
    let most = RESULT + parts * PART + (pending.carried.requests + asked.requests) * REQUEST;
    assert!(
        outcome.received <= most,
        "{most} back, by {:?}: {context}",
        pending.carried
    );
}

/// Equal in every message, but for bodies that travelled as stubs.
fn same(seen: &Transcript, own: &Transcript, context: &str) {
    assert_eq!(seen, own, "{context}");
    let equal = |(seen, own): (&Message, &Message)| seen.omitted().is_some() || seen == own;
    assert!(seen.iter().zip(own.iter()).all(equal), "{context}");
}

async fn serve(place: &Place, engine: &Walker) -> Running {
    let options = ServerOptions {
        max_message_bytes: LIMIT,
        ..ServerOptions::default()
    };
    place.serve_with(engine.clone(), options).await
}
