//! One endpoint of an engine, and what is known of it alone.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::breaker::Circuit;
use crate::connect::{Line, Stub, stub_over};
use crate::describe::Acquaintance;
use crate::options::ClientOptions;
use crate::sync::Book;
use crate::target::Target;

/// Whether an endpoint is well, as far as anybody asked (`grpc.health.v1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Nobody asked.
    Unknown,
    /// It takes calls.
    Serving,
    /// It drains, or is not ready.
    NotServing,
    /// It does not answer.
    Unreachable,
}

impl Health {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Serving => "serving",
            Self::NotServing => "not-serving",
            Self::Unreachable => "unreachable",
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Serving => 1,
            Self::NotServing => 2,
            Self::Unreachable => 3,
        }
    }
}

/// An address of an engine, its circuit, its description, and what it holds of lists.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) line: Line,
    pub(crate) stub: Stub,
    pub(crate) known: Arc<Acquaintance>,
    pub(crate) circuit: Arc<Mutex<Circuit>>,
    pub(crate) book: Arc<Book>,
    /// Somebody has a reason to look at it now.
    pub(crate) look: Notify,
    health: AtomicU8,
    running: AtomicUsize,
    answered: AtomicU64,
    passed_on: AtomicU64,
    is_foreign: AtomicBool,
}

/// What is known of an engine as a whole, and its endpoints.
///
/// # Errors
/// When one of them cannot be written as an address.
pub(crate) fn of(
    target: &Target,
    options: &ClientOptions,
) -> Result<(Arc<Acquaintance>, Vec<Arc<Endpoint>>), tonic::transport::Error> {
    let mut lines = Vec::new();
    for target in target.endpoints() {
        let line = Line::to(target)?;
        let stub = stub_over(line.clone(), options.max_message_bytes);
        lines.push((line, stub, target.clone()));
    }
    if let [(line, stub, _)] = &lines[..] {
        let known = Arc::new(Acquaintance::new(stub.clone(), target, options));
        let only = Endpoint::new((line.clone(), stub.clone()), Arc::clone(&known));
        return Ok((known, vec![Arc::new(only)]));
    }
    let stubs = lines
        .iter()
        .map(|(_, stub, target)| (stub.clone(), target.clone()));
    let (whole, each) = Acquaintance::several(stubs.collect(), target, options);
    let endpoints = lines.into_iter().zip(each);
    let endpoints =
        endpoints.map(|((line, stub, _), known)| Arc::new(Endpoint::new((line, stub), known)));
    Ok((Arc::new(whole), endpoints.collect()))
}

impl Endpoint {
    fn new((line, stub): (Line, Stub), known: Arc<Acquaintance>) -> Self {
        Self {
            line,
            stub,
            known,
            circuit: Arc::new(Mutex::new(Circuit::new())),
            book: Arc::new(Book::new()),
            look: Notify::new(),
            health: AtomicU8::new(Health::Unknown.number()),
            running: AtomicUsize::new(0),
            answered: AtomicU64::new(0),
            passed_on: AtomicU64::new(0),
            is_foreign: AtomicBool::new(false),
        }
    }

    pub(crate) fn health(&self) -> Health {
        match self.health.load(Ordering::Relaxed) {
            1 => Health::Serving,
            2 => Health::NotServing,
            3 => Health::Unreachable,
            _ => Health::Unknown,
        }
    }

    /// Takes in a health; gives the one before.
    pub(crate) fn set_health(&self, now: Health) -> Health {
        let before = self.health();
        self.health.store(now.number(), Ordering::Relaxed);
        before
    }

    /// Takes in whether another engine answers here; whether that is so and news.
    pub(crate) fn is_known_as_foreign(&self, is_foreign: bool) -> bool {
        is_foreign && !self.is_foreign.swap(is_foreign, Ordering::Relaxed)
    }

    /// Tries that are on their way.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Tries that it answered, and tries that went on to another endpoint.
    pub(crate) fn tries(&self) -> (u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (count(&self.answered), count(&self.passed_on))
    }

    pub(crate) fn has_answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn has_passed_on(&self) {
        self.passed_on.fetch_add(1, Ordering::Relaxed);
    }
}

/// A try on its way to an endpoint; counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Running(Arc<Endpoint>);

impl Running {
    pub(crate) fn at(endpoint: &Arc<Endpoint>) -> Self {
        endpoint.running.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(endpoint))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
