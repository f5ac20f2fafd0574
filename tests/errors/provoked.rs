//! Every failure that a server has a reason for, provoked over a socket.

use contextwire_engine::{Hook, Transcript};
use contextwire_proto::{Reason, v1};
use contextwire_server::{ServerOptions, UnknownFields};
use prost::Message as _;
use tonic::Status;
use tonic::transport::Channel;

use super::failing::{CANARY, Failing, KINDS, LIMIT, large, secret};
use crate::harness::bare::{call, field, number};
use crate::harness::requests::{self, frame, framed, with};
use crate::harness::{
    Gate, Place, RawHook, Running, channel, edit_update, message, session, start, start_over,
    transcript,
};

/// A failure as it arrived.
pub(super) struct Provoked {
    pub(super) what: String,
    pub(super) reason: Reason,
    pub(super) status: Status,
    /// Its text is the engine author's own.
    pub(super) authored: bool,
}

fn list() -> Transcript {
    (0..3).map(secret).collect()
}

fn call_of(id: &str) -> v1::CallContext {
    let mut session = session(id);
    session.key = Some(CANARY.to_owned());
    session.locator = Some(CANARY.to_owned());
    contextwire_proto::CallContext::new(contextwire_engine::HookId::mint(), session).into()
}

fn ingest_of(id: &str) -> v1::IngestRequest {
    v1::IngestRequest {
        call: Some(call_of(id)),
        message: Some(secret(0).into()),
        is_heartbeat: false,
    }
}

fn assemble_of(id: &str) -> v1::AssembleStart {
    v1::AssembleStart {
        call: Some(call_of(id)),
        prompt: Some(CANARY.to_owned()),
        ..start(&list())
    }
}

/// A session that has one list only, unknown to the server.
fn over_unknown(id: &str) -> v1::AssembleStart {
    v1::AssembleStart {
        call: Some(call_of(id)),
        ..start_over(&session(id), &list(), &list())
    }
}

/// Servers to provoke, and what they said.
struct Bench {
    tolerant: Channel,
    strict: Channel,
    gate: Gate,
    running: Vec<Running>,
    _places: Vec<Place>,
    provoked: Vec<Provoked>,
}

/// All of them.
pub(super) async fn provoked() -> Vec<Provoked> {
    let gate = Gate::new();
    let mut bench = Bench::new(gate).await;
    bench.of_the_engine().await;
    bench.of_the_request().await;
    bench.of_the_versions().await;
    bench.of_the_size().await;
    bench.of_the_list().await;
    bench.of_the_frames().await;
    bench.of_time().await;
    bench.of_the_drain().await;
    bench.provoked
}

impl Bench {
    async fn new(gate: Gate) -> Self {
        let (mut running, mut places, mut channels) = (Vec::new(), Vec::new(), Vec::new());
        for unknown_fields in [UnknownFields::Ignore, UnknownFields::Reject] {
            let options = ServerOptions {
                max_message_bytes: LIMIT,
                unknown_fields,
                ..ServerOptions::default()
            };
            let place = Place::new();
            running.push(place.serve_with(Failing(gate.clone()), options).await);
            channels.push(channel(&place.target()));
            places.push(place);
        }
        let [tolerant, strict] = channels.try_into().unwrap();
        Self {
            tolerant,
            strict,
            gate,
            running,
            _places: places,
            provoked: Vec::new(),
        }
    }

    fn note(&mut self, what: impl Into<String>, reason: Reason, status: Status) {
        let what = what.into();
        self.provoked.push(Provoked {
            what,
            reason,
            status,
            authored: false,
        });
    }

    /// Calls with these frames.
    async fn call(&mut self, what: &str, reason: Reason, hook: Hook, frames: Vec<Vec<u8>>) {
        let status = call(&self.tolerant, hook, frames).await.unwrap_err();
        self.note(format!("{what}, {hook}"), reason, status);
    }

    async fn assemble(&self, start: &v1::AssembleStart) -> RawHook {
        RawHook::start(&self.tolerant, Hook::Assemble, frame(start)).await
    }

    /// What an engine answers, unary and on streams.
    async fn of_the_engine(&mut self) {
        let kinds = KINDS.into_iter().chain([("panic", Reason::EngineFailure)]);
        for (kind, reason) in kinds {
            let compact = v1::CompactStart {
                call: Some(call_of(kind)),
                ..requests::compact()
            };
            for (hook, request) in [
                (Hook::Ingest, ingest_of(kind).encode_to_vec()),
                (Hook::Assemble, frame(&assemble_of(kind))),
                (Hook::Compact, frame(&compact)),
            ] {
                self.call(kind, reason, hook, vec![request]).await;
                let said = self.provoked.last_mut().unwrap();
                said.authored = kind != "panic";
            }
        }
        let wrong = frame(&assemble_of("wrong"));
        let violation = Reason::ContractViolation;
        self.call("ranges outside", violation, Hook::Assemble, vec![wrong])
            .await;
    }

    async fn of_the_request(&mut self) {
        let foreign = number(99, 1);
        for hook in [Hook::Ingest, Hook::Assemble, Hook::Compact] {
            let body = [requests::body(hook, false), foreign.clone()].concat();
            let status = call(&self.strict, hook, [framed(hook, &body)]).await;
            let what = format!("a foreign field, {hook}");
            self.note(what, Reason::UnknownField, status.unwrap_err());
            let undecodable = b"\xff\xff\xff\xff\xff".to_vec();
            self.call(
                "no message",
                Reason::InvalidRequest,
                hook,
                vec![undecodable],
            )
            .await;
            let no_call = framed(hook, &[]);
            self.call("no call", Reason::InvalidRequest, hook, vec![no_call])
                .await;
        }
        let mut named = ingest_of("s");
        named
            .call
            .as_mut()
            .unwrap()
            .must_understand
            .push("message.audio".to_owned());
        let named = named.encode_to_vec();
        self.call("a name", Reason::NotUnderstood, Hook::Ingest, vec![named])
            .await;
        let mut many = ingest_of("s");
        let call = many.call.as_mut().unwrap();
        call.must_understand = vec!["call".to_owned(); 65];
        let many = many.encode_to_vec();
        self.call(
            "many names",
            Reason::InvalidRequest,
            Hook::Ingest,
            vec![many],
        )
        .await;
        let text = with(&ingest_of("s"), &field(1, &field(1, b"\xff")));
        self.call("no utf-8", Reason::InvalidRequest, Hook::Ingest, vec![text])
            .await;
    }

    async fn of_the_versions(&mut self) {
        let settings = v1::RuntimeSettings {
            schema_version: 9,
            ..requests::settings()
        };
        let newer = v1::AssembleStart {
            runtime_settings: Some(settings),
            ..assemble_of("s")
        };
        let unsupported = Reason::VersionUnsupported;
        self.call("settings", unsupported, Hook::Assemble, vec![frame(&newer)])
            .await;
        let protocol = Some(v1::ProtocolVersion { major: 9, minor: 5 });
        let describe = v1::DescribeRequest {
            protocol,
            ..v1::DescribeRequest::default()
        };
        let describe = describe.encode_to_vec();
        self.call("a major", unsupported, Hook::Describe, vec![describe])
            .await;
        for hook in [Hook::CommitTurn, Hook::Maintain] {
            let request = requests::everything(hook);
            self.call("absent", Reason::MethodAbsent, hook, vec![request])
                .await;
        }
    }

    async fn of_the_size(&mut self) {
        let too_large = Reason::MessageTooLarge;
        let unary = v1::IngestRequest {
            message: Some(large().into()),
            ..ingest_of("s")
        };
        let unary = unary.encode_to_vec();
        self.call("a message", too_large, Hook::Ingest, vec![unary])
            .await;
        let first = start(&[large()].into_iter().collect());
        self.call("a frame", too_large, Hook::Assemble, vec![frame(&first)])
            .await;
        let result = frame(&assemble_of("large"));
        self.call("a result", too_large, Hook::Assemble, vec![result])
            .await;
        let mut stub = ingest_of("s");
        stub.message.as_mut().unwrap().omitted = Some(v1::OmittedPayload {
            bytes: 77,
            sha256: vec![7; 32].into(),
        });
        self.call(
            "a stub",
            too_large,
            Hook::Ingest,
            vec![stub.encode_to_vec()],
        )
        .await;
    }

    async fn of_the_list(&mut self) {
        let unknown = frame(&over_unknown("half"));
        let unavailable = Reason::TranscriptUnavailable;
        self.call("half-closed", unavailable, Hook::Assemble, vec![unknown])
            .await;
        let wrong_head = edit_update(assemble_of("head"), |update| {
            update.head = Some(transcript(3).state().into());
        });
        let mismatch = Reason::TranscriptDigestMismatch;
        self.call(
            "a wrong head",
            mismatch,
            Hook::Assemble,
            vec![frame(&wrong_head)],
        )
        .await;
        let outside = edit_update(assemble_of("outside"), |update| {
            let keep = v1::Keep { start: 3, count: 5 };
            update.segments.push(v1::Segment {
                kind: Some(v1::segment::Kind::Keep(keep)),
            });
        });
        let invalid = Reason::InvalidRequest;
        self.call("a range", invalid, Hook::Assemble, vec![frame(&outside)])
            .await;
        let violation = Reason::ContractViolation;
        let unasked = edit_update(assemble_of("unasked"), |update| update.seq = 7);
        self.call("a part", violation, Hook::Assemble, vec![frame(&unasked)])
            .await;
        let mut hook = self.assemble(&over_unknown("other")).await;
        hook.next().await.unwrap();
        let mut update = over_unknown("other").transcript.unwrap();
        update.list = v1::TranscriptList::Log.into();
        hook.send_list(&update).await;
        self.note("the other list", violation, hook.failure().await);
    }

    async fn of_the_frames(&mut self) {
        let violation = Reason::ContractViolation;
        let twice = frame(&over_unknown("twice"));
        let frames = vec![twice.clone(), twice];
        self.call("a second start", violation, Hook::Assemble, frames)
            .await;
        let cancel = field(4, &v1::Cancel::default().encode_to_vec());
        self.call("no start", violation, Hook::Compact, vec![cancel])
            .await;
        self.call("nothing", Reason::InvalidRequest, Hook::Compact, vec![])
            .await;
        self.call(
            "an empty frame",
            Reason::InvalidRequest,
            Hook::Compact,
            vec![vec![]],
        )
        .await;
    }

    async fn of_time(&mut self) {
        let mut late = assemble_of("hang");
        late.call.as_mut().unwrap().budget_ms = 50;
        let deadline = Reason::DeadlineExceeded;
        self.call("a budget", deadline, Hook::Assemble, vec![frame(&late)])
            .await;
        let mut late = ingest_of("hang");
        late.call.as_mut().unwrap().budget_ms = 50;
        self.call(
            "a budget",
            deadline,
            Hook::Ingest,
            vec![late.encode_to_vec()],
        )
        .await;
        let mut hook = self.assemble(&assemble_of("hang")).await;
        hook.cancel(v1::CancelReason::Superseded).await;
        self.note("a cancel", Reason::Cancelled, hook.failure().await);
        let bare = v1::IngestRequest {
            message: Some(message(0).into()),
            ..ingest_of("s")
        };
        let mut request = tonic::Request::new(bare);
        request
            .metadata_mut()
            .insert("grpc-timeout", "soon".parse().unwrap());
        let mut stub = crate::harness::Stub::new(self.tolerant.clone());
        let status = stub.ingest(request).await.unwrap_err();
        self.note("an unreadable timeout", Reason::InvalidRequest, status);
    }

    /// The last one: the server is gone afterwards.
    async fn of_the_drain(&mut self) {
        let mut hook = self.assemble(&assemble_of("hang")).await;
        self.gate.arrived(1).await;
        let running = self.running.remove(0);
        running.begin_stop();
        let draining = loop {
            let request = ingest_of("s").encode_to_vec();
            if let Err(status) = call(&self.tolerant, Hook::Ingest, [request]).await {
                break status;
            }
        };
        self.note("a drain", Reason::Draining, draining);
        self.gate.open();
        hook.result().await;
        running.stop().await.unwrap();
    }
}
