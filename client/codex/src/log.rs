//! The session's log: a JSON Lines file that outlives threads, engines and processes.

use std::path::Path;

use contextwire_client::SessionHost;
use contextwire_client::engine::{
    CommitTurn, EntryAnchor, Host as Calls, Message, RuntimeContext, Session, Transcript,
    TurnAdmission,
};
use contextwire_client::store::{
    AnyStore, Entry, JsonlOptions, JsonlStore, NewEntry, StoreError, TranscriptStore,
};
use serde_json::{Value, json};

use crate::wall_clock::now_ms;

/// Whose turns these are, for engines that ask.
const AGENT: &str = "codex";
/// The file is only ever appended to.
const GENERATION: &str = "1";

/// What was said, message by message. Codex's own threads come and go; this stays.
#[derive(Clone, Debug)]
pub(crate) struct SessionLog {
    session: Session,
    store: AnyStore,
    path: String,
}

impl SessionLog {
    /// Opens the file, or makes it. One process at a time has it.
    pub(crate) async fn open(path: &Path, session: &Session) -> Result<Self, StoreError> {
        let options = JsonlOptions::new(session.id.clone(), now_ms());
        Ok(Self {
            session: session.clone(),
            store: AnyStore::new(JsonlStore::open(path, options).await?),
            path: path.display().to_string(),
        })
    }

    pub(crate) async fn transcript(&self) -> Result<Transcript, StoreError> {
        self.store.log().await
    }

    /// Appends messages as they are.
    pub(crate) async fn append(&self, messages: &[Value]) -> Result<(), StoreError> {
        let now = now_ms();
        let entry = |message: &Value| NewEntry::message(message.to_string(), now);
        self.store
            .append(messages.iter().map(entry).collect())
            .await?;
        Ok(())
    }

    /// Appends what the user says now; gives the log before it, and the receipt for it.
    pub(crate) async fn admit(
        &self,
        prompt: &str,
    ) -> Result<(Transcript, TurnAdmission), StoreError> {
        let before = self.transcript().await?;
        let said = json!({ "role": "user", "content": prompt, "timestamp": now_ms() });
        self.append(&[said]).await?;
        let (log, entries) = (self.transcript().await?, self.store.entries().await?);
        let anchor = log
            .last()
            .map(|user| self.anchor(user, log.len() - 1, &entries));
        let anchor = anchor.unwrap_or_default();
        let admission = TurnAdmission {
            logical_turn_id: anchor.entry_id.clone(),
            anchor,
            role: "user".to_owned(),
        };
        Ok((before, admission))
    }

    /// The turn that this admission opened, with everything that came since.
    pub(crate) async fn commit(
        &self,
        admission: TurnAdmission,
        facts: RuntimeContext,
    ) -> Result<CommitTurn, StoreError> {
        let (log, entries) = (self.transcript().await?, self.store.entries().await?);
        let from = usize::try_from(admission.anchor.active_message_position).unwrap_or(0);
        let last = log.len().saturating_sub(1);
        let terminal = log
            .last()
            .map(|message| self.anchor(message, last, &entries));
        Ok(CommitTurn {
            runtime_settings: None,
            runtime_context: Some(facts),
            advancement_key: admission.logical_turn_id.clone(),
            terminal: terminal.unwrap_or_default(),
            messages: log.range(from.min(log.len())..log.len()).cloned().collect(),
            admission,
            is_heartbeat: false,
        })
    }

    /// Whoever serves what an engine asks of this session: to read and to rewrite the log.
    pub(crate) fn calls(&self) -> Calls {
        let host = SessionHost::new(self.session.clone(), self.store.clone());
        Calls::new(std::sync::Arc::new(host))
    }

    fn anchor(&self, message: &Message, position: usize, entries: &[Entry]) -> EntryAnchor {
        let id = message.entry_id();
        let at = entries.iter().position(|entry| entry.entry_id() == id);
        let parent = at.and_then(|at| entries.get(at.checked_sub(1)?));
        let number = |place: usize| i64::try_from(place).unwrap_or(i64::MAX);
        let key = self.session.key.as_ref();
        EntryAnchor {
            agent_id: AGENT.to_owned(),
            session_id: self.session.id.to_string(),
            session_key: key.map_or_else(|| self.session.id.to_string(), ToString::to_string),
            store_path: self.path.clone(),
            generation: GENERATION.to_owned(),
            entry_id: id.as_str().to_owned(),
            raw_seq: number(at.unwrap_or(position) + 1),
            effective_parent_id: parent.map(|entry| entry.entry_id().as_str().to_owned()),
            active_message_position: number(position),
            idempotency_key: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use contextwire_client::engine::SessionId;

    use super::*;

    #[tokio::test]
    async fn a_turn_is_committed_from_its_prompt_to_its_last_message() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::new(SessionId::new("s").unwrap());
        let log = SessionLog::open(&folder.path().join("log.jsonl"), &session).await;
        let log = log.unwrap();
        let (before, _) = log.admit("one").await.unwrap();
        assert!(before.is_empty());
        log.append(&[json!({"role": "assistant", "content": "first"})])
            .await
            .unwrap();
        let (before, admission) = log.admit("two").await.unwrap();
        assert_eq!(before.len(), 2, "the prompt is not part of it");
        assert_eq!(admission.anchor.active_message_position, 2);
        log.append(&[json!({"role": "assistant", "content": "second"})])
            .await
            .unwrap();

        let commit = log
            .commit(admission.clone(), RuntimeContext::default())
            .await;
        let commit = commit.unwrap();
        assert_eq!(commit.advancement_key, admission.anchor.entry_id);
        let roles: Vec<_> = commit.messages.iter().map(Message::role).collect();
        assert_eq!(roles, ["user", "assistant"]);
        assert_eq!(commit.terminal.active_message_position, 3);
        let parent = commit.terminal.effective_parent_id.as_deref();
        assert_eq!(parent, Some(admission.anchor.entry_id.as_str()));
        let whole = log.transcript().await.unwrap();
        assert_eq!(
            whole.last().unwrap().entry_id().as_str(),
            commit.terminal.entry_id
        );
    }
}
