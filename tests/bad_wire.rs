//! Requests that keep no contract, and bytes that are no request: a typed error each, and the
//! connection lives (PROTOCOL 6).
//!
//! Each has its twin in [`Bench::lives`]: the same call without the defect.

mod bytes;
mod requests;

use contextwire_engine::{HookId, Ingest};
use contextwire_proto::convert::IngestRequest;
use contextwire_proto::status::violations;
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::{CallContext, Reason};
use contextwire_server::ServerOptions;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::harness::{
    Place, Proxy, RawAssemble, Running, Stub, TestEngine, channel, encoded, message, post, session,
    start, transcript,
};

type Refused = (Code, Option<Reason>);

/// Largest message of these servers in bytes.
const LIMIT: usize = 64 << 10;

struct Bench {
    _place: Place,
    _running: Running,
    proxy: Proxy,
    channel: Channel,
    stub: Stub,
}

async fn bench() -> Bench {
    let place = Place::new();
    let options = ServerOptions {
        max_message_bytes: LIMIT,
        ..ServerOptions::default()
    };
    let running = place.serve_with(TestEngine::keep(), options).await;
    let proxy = Proxy::to(&place).await;
    let channel = channel(&proxy.place().target());
    let stub = Stub::new(channel.clone());
    Bench {
        _place: place,
        _running: running,
        proxy,
        channel,
        stub,
    }
}

impl Bench {
    /// The connection lives and good calls work on it.
    async fn lives(&self) {
        let good = start(&transcript(3));
        assert_eq!(
            RawAssemble::start(&self.stub, good.clone())
                .await
                .kept()
                .await,
            [(0, 3)]
        );
        let stream = encoded(&v1::AssembleRequest {
            frame: Some(HostFrame::Start(good)),
        });
        assert_eq!(
            post(&self.channel, "Assemble", stream, &[]).await.code(),
            Code::Ok
        );
        let unary = post(&self.channel, "Ingest", encoded(&ingest()), &[]).await;
        assert_eq!(unary.code(), Code::Ok, "{unary}");
        assert_eq!(self.proxy.connections(), 1, "on the same connection");
    }

    /// The status of a stream with this start.
    async fn refused_start(&self, start: v1::AssembleStart) -> Status {
        RawAssemble::start(&self.stub, start).await.failure().await
    }
}

/// A good Ingest.
fn ingest() -> v1::IngestRequest {
    let call = CallContext::new(HookId::mint(), session("raw"));
    let request = Ingest {
        message: message(0),
        is_heartbeat: false,
    };
    IngestRequest { call, request }.into()
}

const INVALID: Refused = (Code::InvalidArgument, Some(Reason::InvalidRequest));
const VIOLATION: Refused = (Code::Internal, Some(Reason::ContractViolation));
const TOO_LARGE: Refused = (Code::ResourceExhausted, Some(Reason::MessageTooLarge));

/// The fields that a status names.
fn fields(status: &Status) -> Vec<String> {
    violations(status)
        .into_iter()
        .map(|violation| violation.field)
        .collect()
}
