//! The laws of the durable parts, one file a subject.

mod fencing;
mod keys;
mod laws;
mod ordering;
mod preparations;
mod spawns;

use std::time::Duration;

use super::*;
use crate::context::HookContext;
use crate::error::{EngineError, ErrorKind};
use crate::ids::{Session, SessionId};
use crate::maintain::{Maintain, Maintained};
use crate::order::Order;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

fn session(id: &str) -> Session {
    Session::new(SessionId::new(id).unwrap())
}

/// A call of session `s`, unordered.
fn call() -> HookContext {
    HookContext::new(session("s"), Duration::from_mins(1))
}

fn ordered(host_epoch: u64, session_seq: u64) -> HookContext {
    let mut cx = call();
    cx.order = Some(Order {
        host_epoch,
        session_seq: Some(session_seq),
    });
    cx
}

fn pair(host_epoch: u64, session_seq: u64) -> Pair {
    Pair {
        host_epoch,
        session_seq,
    }
}

fn done(number: u64) -> Maintained {
    Maintained {
        rewritten_entries: number,
        ..Maintained::default()
    }
}

/// A maintenance whose answer carries a number, so that two effects are told apart.
fn maintain(
    ledger: &mut MemoryLedger,
    cx: &HookContext,
    number: u64,
) -> Result<Maintained, EngineError> {
    let attempt = Attempt::new(cx, &Maintain::default(), NOW);
    ledger.transaction(|tx| effect(tx, &attempt, |_| Ok(done(number))))
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, EngineError>) -> ErrorKind {
    outcome.unwrap_err().kind()
}
