//! The hooks that bring a LOG, a turn, or messages.

use contextwire_engine::durable::{self, Attempt};
use contextwire_engine::{
    AfterTurn, Bootstrap, Bootstrapped, CommitTurn, EngineError, HookContext, Ingest, IngestBatch,
    Ingested, IngestedBatch, TurnCommitted,
};

use super::LogHooks;
use crate::log::{self, LogUpdate};
use crate::store::{Outcome, Store};

impl<S: Store> LogHooks<S> {
    /// Imports a LOG.
    ///
    /// # Errors
    /// As [`durable::effect`].
    pub async fn bootstrap(&self, cx: &HookContext, request: Bootstrap) -> Outcome<Bootstrapped> {
        let (attempt, settle) = (self.attempt(cx, &request), self.settle);
        let is_background = request.background;
        let transcript = request.transcript;
        let work = move |rows: &mut S::Rows| {
            let cx = attempt.context();
            let answer = durable::effect(rows, &attempt, |rows| {
                let change = durable::log_change(rows, cx)?;
                let update = log::update(rows, cx, &cx.session.id, &transcript, change)?;
                let epoch = cx.order.map(|order| order.host_epoch);
                // A host without a process of its own goes on with an upload in the background.
                if update != LogUpdate::Differs && (epoch.is_some() || !is_background) {
                    log::begin_here(rows, &cx.session.id, epoch)?;
                }
                settle(rows, cx)?;
                Ok(bootstrapped(update))
            })?;
            log::tell(rows, cx, Some(transcript.state()))?;
            Ok(answer)
        };
        self.bring(cx, work).await
    }

    /// Follows the LOG after a turn.
    ///
    /// # Errors
    /// As [`durable::effect`].
    pub async fn after_turn(&self, cx: &HookContext, request: AfterTurn) -> Outcome<()> {
        let settle = self.settle;
        let attempt: Attempt<AfterTurn> = self.attempt(cx, &request);
        let transcript = request.transcript;
        let work = move |rows: &mut S::Rows| {
            let cx = attempt.context();
            durable::effect(rows, &attempt, |rows| {
                let change = durable::log_change(rows, cx)?;
                // A LOG that may not change the stored one is no failure: the reply says how far
                // the stored one is.
                log::update(rows, cx, &cx.session.id, &transcript, change)?;
                settle(rows, cx)
            })?;
            log::tell(rows, cx, Some(transcript.state()))
        };
        self.bring(cx, work).await
    }

    /// Stores a message.
    ///
    /// # Errors
    /// As [`durable::effect`] and [`log::ingest`].
    pub async fn ingest(&self, cx: &HookContext, request: Ingest) -> Outcome<Ingested> {
        let attempt = self.attempt(cx, &request);
        let Ingest {
            message,
            is_heartbeat,
        } = request;
        let act = move |rows: &mut S::Rows, cx: &HookContext| {
            let ingested = log::ingest(rows, cx, &cx.session.id, &message, is_heartbeat)?;
            Ok(Ingested { ingested })
        };
        self.act(attempt, act).await
    }

    /// Stores several messages, all or none.
    ///
    /// # Errors
    /// As [`durable::effect`]; rejected where the body of one did not travel.
    pub async fn ingest_batch(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Outcome<IngestedBatch> {
        let attempt = self.attempt(cx, &request);
        let act = move |rows: &mut S::Rows, cx: &HookContext| {
            let mut messages = request.messages.iter();
            if let Some(index) = messages.position(|message| message.omitted().is_some()) {
                return Err(EngineError::rejected(format!(
                    "the body of message {index} did not travel"
                )));
            }
            let mut ingested_count = 0;
            for message in &request.messages {
                let heartbeat = request.is_heartbeat;
                let is_new = log::ingest(rows, cx, &cx.session.id, message, heartbeat)?;
                ingested_count += u64::from(is_new);
            }
            Ok(IngestedBatch { ingested_count })
        };
        self.act(attempt, act).await
    }

    /// Stores a closed turn.
    ///
    /// # Errors
    /// As [`durable::effect`].
    pub async fn commit_turn(
        &self,
        cx: &HookContext,
        request: CommitTurn,
    ) -> Outcome<TurnCommitted> {
        let attempt = self.attempt(cx, &request);
        let act = move |rows: &mut S::Rows, cx: &HookContext| {
            log::commit(rows, cx, &cx.session.id, &request)?;
            Ok(TurnCommitted::Committed)
        };
        self.act(attempt, act).await
    }
}

fn bootstrapped(update: LogUpdate) -> Bootstrapped {
    match update {
        LogUpdate::Applied { imported } => Bootstrapped {
            bootstrapped: true,
            imported_messages: Some(imported),
            reason: None,
        },
        LogUpdate::Ahead => Bootstrapped {
            bootstrapped: true,
            imported_messages: Some(0),
            reason: Some("the stored log goes on after this one".to_owned()),
        },
        LogUpdate::Differs => Bootstrapped {
            bootstrapped: false,
            imported_messages: None,
            reason: Some(
                "the stored log is another one, and this call may only extend it".to_owned(),
            ),
        },
    }
}
