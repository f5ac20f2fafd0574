//! The engine's side for operators: looks beside the hooks, pins, and erasures with their proof.

use std::sync::Arc;

use contextwire_engine::{
    DoctorFinding, EngineAdmin, EngineError, EntryId, EraseSession, Erasure, ErasureProof,
    ErrorKind, ExplainTurn, ExplainedTurn, PinEntry, SessionId, StandingPlan, StoreStatus,
    StoredLog, StoredSession,
};
use contextwire_store::erase::Pieces;
use contextwire_store::{Files, LogRows, Outcome, SqliteStore, Tx};
use tokio::task::spawn_blocking;

use crate::engine::Sessions;
use crate::erase::{erase, needs_rewriting, proven, tidy_index};
use crate::look;
use crate::rows::Rows;

/// An operator's look at a running engine. What takes long has a connection of its own: no hook
/// waits for it, but for an erasure that has to write the whole file anew.
#[derive(Clone, Debug)]
pub struct LosslessAdmin {
    store: SqliteStore,
    sessions: Arc<Sessions>,
}

impl LosslessAdmin {
    pub(crate) fn new(store: SqliteStore, sessions: Arc<Sessions>) -> Self {
        Self { store, sessions }
    }

    async fn ask<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Tx) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let files = self.store.files();
        blocking(move || files.look(look)).await
    }

    /// Clears the files of what is gone and looks whether it is.
    async fn prove(&self, pieces: Pieces) -> Outcome<ErasureProof> {
        let rewrite = self.ask(needs_rewriting).await?;
        let files: Files = self.store.files();
        let scrubbed = blocking(move || Ok(files.scrub(&pieces, tidy_index, rewrite)?)).await?;
        if scrubbed.proof.is_clean() {
            let is_rewritten = scrubbed.is_rewritten;
            let noted = self.store.change(move |tx| proven(tx, is_rewritten));
            noted.await?;
        }
        Ok(scrubbed.proof)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> Outcome<T> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|ended| {
        let text = "a question of an operator ended early";
        Err(EngineError::new(ErrorKind::Failure, text).with_source(ended))
    })
}

impl EngineAdmin for LosslessAdmin {
    async fn inspect_session(&self, session: SessionId) -> Result<Option<StoredLog>, EngineError> {
        self.ask(move |tx| tx.stored_log(&session)).await
    }

    async fn store_status(&self) -> Result<Option<StoreStatus>, EngineError> {
        self.ask(|tx| look::status(tx).map(Some)).await
    }

    async fn doctor(&self, only: Option<SessionId>) -> Result<Vec<DoctorFinding>, EngineError> {
        self.ask(move |tx| look::doctor(tx, only.as_ref())).await
    }

    async fn list_sessions(&self) -> Result<Vec<StoredSession>, EngineError> {
        self.ask(look::sessions).await
    }

    async fn plan(&self, session: SessionId) -> Result<Option<StandingPlan>, EngineError> {
        self.ask(move |tx| look::plan(tx, &session)).await
    }

    async fn explain_turn(
        &self,
        question: ExplainTurn,
    ) -> Result<Option<ExplainedTurn>, EngineError> {
        self.ask(move |tx| look::explain(tx, &question)).await
    }

    async fn pin_entry(&self, pin: PinEntry) -> Result<Option<Vec<EntryId>>, EngineError> {
        self.store.change(move |tx| put_pin(tx, &pin)).await
    }

    /// The log keeps the places of single entries, with a note in place of each.
    async fn erase_session(&self, asked: EraseSession) -> Result<Erasure, EngineError> {
        let session = asked.session.clone();
        let erased = self.store.change(move |tx| {
            let mut pieces = Pieces::default();
            let rows = erase(tx, &asked, &mut pieces)?;
            Ok((rows, pieces))
        });
        let (rows, pieces) = erased.await?;
        self.sessions.forget(&session);
        let proof = self.prove(pieces).await?;
        Ok(Erasure {
            found: rows.is_some(),
            erased: rows.unwrap_or_default(),
            proof,
        })
    }
}

fn put_pin(tx: &mut Tx, pin: &PinEntry) -> Outcome<Option<Vec<EntryId>>> {
    let Some(session) = tx.session(&pin.session)? else {
        return Ok(None);
    };
    let id = pin.entry_id.as_str();
    if tx.by_entry_id(session.id, id)?.is_none() {
        return Ok(None);
    }
    if pin.pinned && tx.is_erased(session.id, id)? {
        let text = format!("entry `{id}` is erased: there is nothing of it to pin");
        return Err(EngineError::rejected(text));
    }
    tx.put_pin(session.id, &pin.entry_id, pin.pinned)?;
    let mut pinned = Vec::new();
    for place in tx.pins(session.id)? {
        let at = crate::span::Span::new(place, place + 1);
        let messages = tx.messages(session.id, at)?;
        pinned.extend(
            messages
                .iter()
                .map(|(_, message)| message.entry_id().clone()),
        );
    }
    Ok(Some(pinned))
}
