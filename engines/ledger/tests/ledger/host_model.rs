//! A host with a branch, a network that delays, and what must hold of the stored log at each step.

use std::collections::{HashMap, HashSet};

use contextwire_engine::{
    AfterTurn, Bootstrap, CommitTurn, ContextEngine, HookContext, Message, Order, Transcript,
};
use contextwire_ledger::LedgerEngine;
use proptest::prelude::*;

use super::support::*;

/// What the host does next.
#[derive(Clone, Debug)]
enum Step {
    /// A turn: what its user says, whether its messages are ingested, before the commit or after
    /// it, and whether the commit is delayed.
    Turn {
        word: Option<u8>,
        ingest: Option<bool>,
        late: bool,
    },
    /// The host goes back by this many turns.
    Rewind { turns: usize },
    /// The LOG after a turn; a delayed one is on its way until a packet is let through.
    Log { late: bool },
    /// The LOG of a session that is opened, by a new process or not.
    Open { restarts: bool },
    /// The LOG in the background.
    Upload,
    /// One of the delayed packets arrives.
    Deliver { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let turn = (
        prop::option::of(0u8..2),
        prop::option::of(any::<bool>()),
        any::<bool>(),
    );
    prop_oneof![
        5 => turn.prop_map(|(word, ingest, late)| Step::Turn { word, ingest, late }),
        2 => (1usize..3).prop_map(|turns| Step::Rewind { turns }),
        3 => any::<bool>().prop_map(|late| Step::Log { late }),
        1 => any::<bool>().prop_map(|restarts| Step::Open { restarts }),
        1 => Just(Step::Upload),
        3 => (0usize..4).prop_map(|which| Step::Deliver { which }),
    ]
}

/// A packet on its way, with what its host knew when it was made.
enum Packet {
    Commit(Box<CommitTurn>),
    Log(Transcript),
}

struct Model {
    engine: LedgerEngine,
    has_ids: bool,
    epoch: u64,
    seq: u64,
    made: usize,
    branch: Vec<Vec<Message>>,
    on_the_way: Vec<(HookContext, Packet)>,
    /// How often each message was made.
    created: HashMap<[u8; 32], usize>,
    /// The answers of turns whose commit was answered.
    committed: HashSet<[u8; 32]>,
    /// What the last delivered LOG showed, and what one before it did and it did not.
    shown: HashSet<[u8; 32]>,
    left: HashSet<[u8; 32]>,
}

impl Model {
    fn unordered(&self) -> HookContext {
        let mut cx = call();
        cx.order = Some(Order {
            host_epoch: self.epoch,
            session_seq: None,
        });
        cx
    }

    fn ordered(&mut self) -> HookContext {
        self.seq += 1;
        ordered(self.epoch, self.seq)
    }

    fn log(&self) -> Transcript {
        self.branch.iter().flatten().cloned().collect()
    }

    fn message(&mut self, word: &str) -> Message {
        self.made += 1;
        let message = text(word);
        let message = if self.has_ids {
            message.with_entry_id(format!("e{}", self.made))
        } else {
            message
        };
        *self.created.entry(message.digest().0).or_default() += 1;
        message
    }

    async fn turn(&mut self, word: Option<u8>, ingest: Option<bool>, late: bool) {
        let n = self.made;
        let asked = word.map_or_else(|| format!("u{n}"), |word| format!("same {word}"));
        let messages = vec![self.message(&asked), self.message(&format!("a{n}"))];
        self.branch.push(messages.clone());
        let raw_seq = i64::try_from(self.made).unwrap();
        let request = turn(&format!("t{n}"), raw_seq, messages.clone());
        let cx = self.unordered();
        if ingest == Some(true) {
            self.ingest(&messages).await;
        }
        if late {
            self.on_the_way.push((cx, Packet::Commit(request.into())));
        } else {
            self.commit(&cx, request).await;
        }
        if ingest == Some(false) {
            self.ingest(&messages).await;
        }
    }

    async fn ingest(&self, messages: &[Message]) {
        for message in messages {
            let cx = self.unordered();
            ingest_as(&self.engine, &cx, message.clone()).await.unwrap();
        }
    }

    async fn commit(&mut self, cx: &HookContext, request: CommitTurn) {
        let answer = request.messages.last().unwrap().digest().0;
        self.engine.commit_turn(cx, request).await.unwrap();
        self.committed.insert(answer);
    }

    /// Delivers a LOG after a turn; whether it counted.
    async fn deliver_log(&mut self, cx: &HookContext, log: Transcript) -> bool {
        let request = AfterTurn {
            transcript: log.clone(),
            ..AfterTurn::default()
        };
        let counted = self.engine.after_turn(cx, request).await.is_ok();
        if counted {
            self.saw(&log);
        }
        counted
    }

    fn saw(&mut self, log: &Transcript) {
        let shows: HashSet<[u8; 32]> = log.iter().map(|message| message.digest().0).collect();
        self.left.extend(self.shown.difference(&shows));
        self.left.retain(|digest| !shows.contains(digest));
        self.shown = shows;
    }

    async fn open(&mut self, restarts: bool) {
        if restarts {
            self.epoch += 1;
            self.seq = 0;
        }
        let (cx, transcript) = (self.ordered(), self.log());
        bootstrap(&self.engine, &cx, transcript.clone()).await;
        self.saw(&transcript);
    }

    async fn upload(&self) {
        let request = Bootstrap {
            transcript: self.log(),
            background: true,
            ..Bootstrap::default()
        };
        let cx = self.unordered();
        self.engine.bootstrap(&cx, request).await.unwrap();
    }

    async fn play(&mut self, place: &Place, step: Step) {
        match step {
            Step::Turn { word, ingest, late } => self.turn(word, ingest, late).await,
            Step::Rewind { turns } => {
                let kept = self.branch.len().saturating_sub(turns);
                self.branch.truncate(kept);
            }
            Step::Log { late: true } => {
                let packet = (self.ordered(), Packet::Log(self.log()));
                self.on_the_way.push(packet);
            }
            Step::Log { late: false } => {
                let stored: Vec<_> = place.log().entries;
                let is_known = |message: &Message| {
                    let mut stored = stored.iter();
                    stored.any(|entry| entry.digest == message.digest())
                };
                let has_news = !self.log().iter().all(is_known);
                let (cx, log) = (self.ordered(), self.log());
                assert!(self.deliver_log(&cx, log.clone()).await);
                let stored = place.log();
                assert_eq!(stored.placed, log.state(), "the LOG's order is the log's");
                if has_news {
                    assert_eq!(stored.total, log.state(), "nothing is behind a newer LOG");
                }
            }
            Step::Open { restarts } => self.open(restarts).await,
            Step::Upload => self.upload().await,
            Step::Deliver { which } => {
                if which < self.on_the_way.len() {
                    match self.on_the_way.remove(which) {
                        (cx, Packet::Commit(request)) => self.commit(&cx, *request).await,
                        (cx, Packet::Log(log)) => {
                            self.deliver_log(&cx, log).await;
                        }
                    }
                }
            }
        }
    }

    /// What holds after every step.
    fn check(&self, place: &Place) {
        let mut counts: HashMap<[u8; 32], usize> = HashMap::new();
        for entry in &place.log().entries {
            *counts.entry(entry.digest.0).or_default() += 1;
        }
        for (digest, count) in &counts {
            let made = self.created[digest];
            assert!(*count <= made, "stored {count} times, made {made} times");
            let is_one = made == 1;
            assert!(
                !is_one || !self.left.contains(digest),
                "what the LOG left out came back"
            );
        }
        for answer in self.branch.iter().filter_map(|turn| turn.last()) {
            let digest = answer.digest().0;
            if self.committed.contains(&digest) {
                assert!(counts.contains_key(&digest), "a committed turn is lost");
            }
        }
    }
}

async fn play(has_ids: bool, steps: Vec<Step>) {
    let place = Place::new();
    let mut model = Model {
        engine: place.open(),
        has_ids,
        epoch: 1,
        seq: 0,
        made: 0,
        branch: Vec::new(),
        on_the_way: Vec::new(),
        created: HashMap::new(),
        committed: HashSet::new(),
        shown: HashSet::new(),
        left: HashSet::new(),
    };
    for step in steps {
        Box::pin(model.play(&place, step)).await;
        model.check(&place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost_doubled_or_brought_back_whatever_the_network_delays(
        has_ids: bool,
        steps in prop::collection::vec(step(), 0..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(has_ids, steps));
    }
}
