//! What the tests on real sockets share: places to listen at, engines that run there and can be
//! killed, a proxy that counts and cuts connections, and a host that speaks in single frames.

pub(crate) mod bare;
mod bytes;
mod engine;
mod failing;
mod http2;
mod http2_engine;
mod messages;
mod odd;
mod old;
mod place;
mod process;
mod proxy;
mod python;
mod raw;
mod relay;
pub(crate) mod requests;
mod stream;
mod wire;

use std::future::Future;
use std::time::Duration;

pub(crate) use bytes::{encoded, framed, post};
pub(crate) use engine::{Gate, TestEngine};
pub(crate) use failing::Failing;
pub(crate) use http2::{Http2, Http2Call};
pub(crate) use http2_engine::{Http2Answer, Http2Engine, Http2Request};
pub(crate) use messages::{message, session, transcript, view};
pub(crate) use odd::Odd;
pub(crate) use old::{OldEngine, Temper};
pub(crate) use place::{Place, Running};
pub(crate) use process::Process;
pub(crate) use proxy::{Flow, Proxy};
pub(crate) use python::{Age, PythonEngine, python};
pub(crate) use raw::{
    RawAssemble, RawCompact, Stub, channel, edit_update, refusal, start, start_over, stub, update,
};
pub(crate) use relay::Relay;
pub(crate) use stream::RawHook;
pub(crate) use wire::{Listener, Wire, connect};

/// A deadline where nothing is about time.
pub(crate) const PATIENT: Duration = Duration::from_mins(1);

/// A wait that would otherwise last for ever. Nothing is timed with it.
const HUNG: Duration = Duration::from_mins(2);

/// What comes of `work`; panics when nothing does.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HUNG, work).await.expect("this hangs")
}
