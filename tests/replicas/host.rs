//! Hosts that say in bare messages who they are and where in their order a call stands.

use std::path::{Path, PathBuf};

use contextwire_engine::{HookId, Message, SessionId, Transcript};
use contextwire_ledger::open_file;
use contextwire_proto::v1;
use prost::Message as _;
use tempfile::TempDir;
use tonic::Status;
use tonic::transport::Channel;

use crate::harness::bare::{call, field};
use crate::harness::requests;
use crate::harness::start as start_of;

/// A file that several servers share.
pub(super) struct Store(TempDir);

impl Store {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("ledger.sqlite3")
    }

    /// Ids of the stored entries, in order.
    pub(super) fn ids(&self) -> Vec<String> {
        ids(&self.path())
    }
}

fn ids(store: &Path) -> Vec<String> {
    let file = open_file(store).unwrap();
    let log = file.log(&SessionId::new("s").unwrap()).unwrap();
    let entries = log.map(|log| log.entries).unwrap_or_default();
    entries
        .into_iter()
        .map(|entry| entry.entry_id.as_str().to_owned())
        .collect()
}

/// A message whose text is its id.
pub(super) fn entry(id: &str) -> Message {
    Message::from_payload(format!(r#"{{"role":"user","content":"{id}"}}"#)).with_entry_id(id)
}

/// A call of session `s` under its own key, in no order.
pub(super) fn unordered() -> v1::CallContext {
    v1::CallContext {
        hook_id: HookId::mint().to_string(),
        attempt: 1,
        session: Some(v1::Session {
            session_id: "s".to_owned(),
            ..v1::Session::default()
        }),
        ..v1::CallContext::default()
    }
}

/// The same at a place in a host's order.
pub(super) fn ordered(host_epoch: u64, session_seq: u64) -> v1::CallContext {
    v1::CallContext {
        host_epoch,
        session_seq: Some(session_seq),
        ..unordered()
    }
}

pub(super) async fn ingest(
    channel: &Channel,
    context: v1::CallContext,
    id: &str,
) -> Result<bool, Status> {
    let request = v1::IngestRequest {
        call: Some(context),
        message: Some(entry(id).into()),
        is_heartbeat: false,
    };
    let answer = call(
        channel,
        contextwire_engine::Hook::Ingest,
        [request.encode_to_vec()],
    )
    .await?;
    Ok(v1::IngestResponse::decode(answer).unwrap().ingested)
}

/// Commits a turn of a user and an assistant; whether it was new.
pub(super) async fn commit(channel: &Channel, n: usize) -> Result<bool, Status> {
    let hook = contextwire_engine::Hook::CommitTurn;
    let smallest = v1::CommitTurnRequest::decode(&*requests::body(hook, false)).unwrap();
    let messages = ["u", "a"].map(|part| entry(&format!("{part}{n}")).into());
    let mut request = v1::CommitTurnRequest {
        call: Some(unordered()),
        advancement_key: format!("t{n}"),
        messages: messages.into(),
        ..smallest
    };
    let anchor = request.admission.as_mut().unwrap().anchor.as_mut().unwrap();
    anchor.raw_seq = i64::try_from(n).unwrap();
    let answer = call(channel, hook, [request.encode_to_vec()]).await?;
    let answer = v1::CommitTurnResponse::decode(answer).unwrap();
    Ok(answer.status() == v1::CommitStatus::Committed)
}

/// Shows the whole log after a turn.
pub(super) async fn after_turn(
    channel: &Channel,
    context: v1::CallContext,
    ids: &[&str],
) -> Result<v1::Reply, Status> {
    let log: Transcript = ids.iter().map(|id| entry(id)).collect();
    let update = v1::TranscriptUpdate {
        list: v1::TranscriptList::Log.into(),
        ..start_of(&log).transcript.unwrap()
    };
    let start = v1::AfterTurnStart {
        call: Some(context),
        transcript: Some(update),
        ..v1::AfterTurnStart::default()
    };
    let frame = field(1, &start.encode_to_vec());
    let answer = call(channel, contextwire_engine::Hook::AfterTurn, [frame]).await?;
    let answer = v1::AfterTurnResponse::decode(answer).unwrap();
    let Some(v1::after_turn_response::Frame::Result(result)) = answer.frame else {
        panic!("a result")
    };
    Ok(result.reply.unwrap_or_default())
}

/// Asks what the model is to see, and gives what the engine says besides.
pub(super) async fn assemble(channel: &Channel, context: v1::CallContext) -> v1::Reply {
    let start = v1::AssembleStart {
        call: Some(context),
        ..start_of(&Transcript::new())
    };
    let frame = field(1, &start.encode_to_vec());
    let answer = call(channel, contextwire_engine::Hook::Assemble, [frame])
        .await
        .unwrap();
    let answer = v1::AssembleResponse::decode(answer).unwrap();
    let Some(v1::assemble_response::Frame::Result(result)) = answer.frame else {
        panic!("a result")
    };
    result.reply.unwrap_or_default()
}
