//! The hooks that bring a LOG or several messages.

use contextwire_engine::durable::{self, Attempt};
use contextwire_engine::{
    AfterTurn, Bootstrap, Bootstrapped, EngineError, HookContext, IngestBatch, IngestedBatch,
};

use super::{LedgerEngine, tell_log};
use crate::log::LogUpdate;
use crate::store::Tx;

impl LedgerEngine {
    pub(super) async fn import(
        &self,
        cx: &HookContext,
        request: Bootstrap,
    ) -> Result<Bootstrapped, EngineError> {
        let attempt = self.attempt(cx, &request);
        let log = request.transcript;
        let work = move |tx: &mut Tx<'_>| {
            let cx = attempt.context();
            let answer = durable::effect(tx, &attempt, |tx| {
                let change = durable::log_change(tx, cx)?;
                let update = tx.update_log(cx, &cx.session.id, &log, change)?;
                tx.begin_here(&cx.session.id)?;
                Ok(bootstrapped(update))
            })?;
            tell_log(tx, cx, Some(log.state()))?;
            Ok(answer)
        };
        self.writer.run(cx, work).await
    }

    pub(super) async fn follow(
        &self,
        cx: &HookContext,
        request: AfterTurn,
    ) -> Result<(), EngineError> {
        let attempt: Attempt<AfterTurn> = self.attempt(cx, &request);
        let log = request.transcript;
        let work = move |tx: &mut Tx<'_>| {
            let cx = attempt.context();
            durable::effect(tx, &attempt, |tx| {
                let change = durable::log_change(tx, cx)?;
                // A LOG that may not change the stored one is no failure: the reply says how far
                // the stored one is.
                tx.update_log(cx, &cx.session.id, &log, change).map(drop)
            })?;
            tell_log(tx, cx, Some(log.state()))
        };
        self.writer.run(cx, work).await
    }

    pub(super) async fn ingest_all(
        &self,
        cx: &HookContext,
        request: IngestBatch,
    ) -> Result<IngestedBatch, EngineError> {
        if let Some(index) = request
            .messages
            .iter()
            .position(|message| message.omitted().is_some())
        {
            return Err(EngineError::rejected(format!(
                "the body of message {index} did not travel"
            )));
        }
        let attempt = self.attempt(cx, &request);
        let act = move |tx: &mut Tx<'_>, cx: &HookContext| {
            let mut ingested_count = 0;
            for message in &request.messages {
                let is_new = tx.ingest(cx, &cx.session.id, message)?;
                ingested_count += u64::from(is_new);
            }
            Ok(IngestedBatch { ingested_count })
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
