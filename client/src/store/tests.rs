//! What every store does, checked on each of them.

mod context;
mod crash;
mod identity;
mod jsonl;
mod model;
mod page;
mod rewrite;
mod terms;
mod twins;

use contextwire_engine::{EntryId, Message, RewriteEntries, SessionId, Transcript};
use tempfile::TempDir;

use super::*;

const NOW: i64 = 1_796_047_450_469;

fn session() -> SessionId {
    SessionId::new("main").unwrap()
}

fn options() -> JsonlOptions {
    JsonlOptions {
        durability: Durability::ProcessDeath,
        ..JsonlOptions::new(session(), NOW)
    }
}

async fn open(folder: &TempDir) -> JsonlStore {
    let path = folder.path().join("main.jsonl");
    JsonlStore::open(path, options()).await.unwrap()
}

/// Runs a case on an empty store of each kind.
async fn each_store(case: impl AsyncFn(AnyStore)) {
    case(AnyStore::new(MemoryStore::with_entry_ids())).await;
    let folder = tempfile::tempdir().unwrap();
    case(AnyStore::new(open(&folder).await)).await;
}

/// An entry with a given id.
fn entry(id: &str, body: EntryBody) -> NewEntry {
    NewEntry::new(body, NOW).with_id(native(id))
}

fn message(id: &str, payload: &str) -> NewEntry {
    entry(id, EntryBody::Message(payload.to_owned().into()))
}

fn native(id: &str) -> NativeId {
    NativeId::new(id).unwrap()
}

fn user(text: &str) -> String {
    said("user", text)
}

fn assistant(text: &str) -> String {
    said("assistant", text)
}

fn said(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}","timestamp":1}}"#)
}

fn tool_result(text: &str) -> String {
    format!(r#"{{"role":"toolResult","toolCallId":"c1","content":"{text}"}}"#)
}

fn label(id: &str, target: &str) -> NewEntry {
    let (target, label) = (target.into(), Some("here".to_owned()));
    entry(id, EntryBody::Label { target, label })
}

fn compaction(id: &str, first_kept: Option<&str>) -> NewEntry {
    let compaction = Compaction {
        summary: "so far".to_owned(),
        first_kept: first_kept.map(EntryId::from),
        tokens_before: 7,
        ..Compaction::default()
    };
    entry(id, EntryBody::Compaction(compaction))
}

fn reset(id: &str, first_kept: Option<&str>) -> NewEntry {
    let first_kept = first_kept.map(EntryId::from);
    let reason = ResetReason::New;
    entry(id, EntryBody::Reset { reason, first_kept })
}

/// A request to replace payloads by lineage id.
fn replace(replacements: &[(&str, &str)]) -> RewriteEntries {
    let pair = |(id, payload): &(&str, &str)| {
        let message = Message::from_payload((*payload).to_owned());
        (EntryId::from(*id), message)
    };
    RewriteEntries {
        replacements: replacements.iter().map(pair).collect(),
        ..RewriteEntries::default()
    }
}

async fn rewrite(store: &impl TranscriptStore, replacements: &[(&str, &str)]) -> Rewritten {
    let request = replace(replacements);
    store.rewrite(request, RewriteTerms::at(NOW)).await.unwrap()
}

/// Pairs of lineage id and payload.
fn pairs(list: &Transcript) -> Vec<(String, String)> {
    let pair = |message: &Message| {
        let payload = String::from_utf8(message.payload().to_vec()).unwrap();
        (message.entry_id().as_str().to_owned(), payload)
    };
    list.iter().map(pair).collect()
}

async fn log(store: &impl TranscriptStore) -> Vec<(String, String)> {
    pairs(&store.log().await.unwrap())
}

fn ids(list: &Transcript) -> Vec<&str> {
    list.iter()
        .map(|message| message.entry_id().as_str())
        .collect()
}

/// Lineage ids of the active branch.
async fn branch(store: &impl TranscriptStore) -> Vec<String> {
    let entries = store.entries().await.unwrap();
    let id = |entry: &Entry| entry.entry_id().as_str().to_owned();
    entries.iter().map(id).collect()
}

/// Native ids of the active branch.
async fn natives(store: &impl TranscriptStore) -> Vec<NativeId> {
    let entries = store.entries().await.unwrap();
    entries.iter().map(|entry| entry.id().clone()).collect()
}

/// A text field of an entry's line.
fn field(entry: &Entry, key: &str) -> Option<String> {
    let fields = fields::Fields::scan(entry.json()).unwrap();
    fields.text(key).map(std::borrow::Cow::into_owned)
}
