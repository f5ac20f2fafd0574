//! An engine that remembers, its server, and one connection to it.

use std::cell::Cell;

use bytes::Bytes;
use contextwire_engine::Hook;
use contextwire_engine::testing::{RecordingEngine, SeenRequest};
use contextwire_server::{ServerOptions, UnknownFields};
use prost::Message as _;
use tonic::Status;
use tonic::transport::Channel;

use crate::harness::bare::call;
use crate::harness::requests::ingest;
use crate::harness::{Place, Proxy, Running, channel};

/// A server, and one connection to it.
pub(super) struct Setup {
    engine: RecordingEngine,
    /// How many of its calls were looked at.
    looked_at: Cell<usize>,
    pub(super) channel: Channel,
    proxy: Proxy,
    _server: Running,
    _place: Place,
}

impl Setup {
    pub(super) async fn new(unknown_fields: UnknownFields) -> Self {
        let (engine, place) = (RecordingEngine::new(), Place::new());
        let options = ServerOptions {
            unknown_fields,
            ..ServerOptions::default()
        };
        let server = place.serve_with(engine.clone(), options).await;
        let proxy = Proxy::to(&place).await;
        let channel = channel(&proxy.place().target());
        Self {
            engine,
            looked_at: Cell::new(0),
            channel,
            proxy,
            _server: server,
            _place: place,
        }
    }

    pub(super) async fn tolerant() -> Self {
        Self::new(UnknownFields::Ignore).await
    }

    pub(super) async fn strict() -> Self {
        Self::new(UnknownFields::Reject).await
    }

    /// What reached the engine since the last look.
    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        let all = self.engine.seen();
        let before = self.looked_at.replace(all.len());
        all.into_iter()
            .skip(before)
            .map(|seen| seen.request)
            .collect()
    }

    pub(super) async fn call(&self, hook: Hook, request: Vec<u8>) -> Result<Bytes, Status> {
        call(&self.channel, hook, [request]).await
    }

    /// The status of a call that did not reach the engine, on a connection that works afterwards.
    pub(super) async fn refused(&self, hook: Hook, frames: Vec<Vec<u8>>) -> Status {
        let status = call(&self.channel, hook, frames).await.unwrap_err();
        assert_eq!(self.seen(), [], "an effect before the refusal");
        self.call(Hook::Ingest, ingest().encode_to_vec())
            .await
            .unwrap();
        assert_eq!(self.seen().len(), 1);
        assert_eq!(self.proxy.connections(), 1, "the connection was lost");
        status
    }
}
