//! Preparations: durable before the answer, settled once, gone with their time (section 9).

use contextwire_engine::durable;
use contextwire_engine::{
    EngineError, HookContext, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnPrepared,
};

use super::{LedgerEngine, tell_log};
use crate::store::Tx;

impl LedgerEngine {
    pub(super) async fn prepare(
        &self,
        cx: &HookContext,
        request: PrepareSubagentSpawn,
    ) -> Result<SpawnPrepared, EngineError> {
        let (attempt, now) = (self.attempt(cx, &request), (self.clock)());
        let work = move |tx: &mut Tx<'_>| {
            durable::sweep(tx, now)?;
            let prepared = SpawnPrepared {
                prepared: true,
                system_prompt_addition: None,
            };
            let answer = durable::prepare(tx, &attempt, &request, |_| Ok(prepared))?;
            tell_log(tx, attempt.context(), attempt.context().log_head)?;
            Ok(answer)
        };
        self.writer.run(cx, work).await
    }

    pub(super) async fn resolve(
        &self,
        cx: &HookContext,
        request: ResolveSubagentSpawn,
    ) -> Result<(), EngineError> {
        let (attempt, now) = (self.attempt(cx, &request), (self.clock)());
        let work = move |tx: &mut Tx<'_>| {
            durable::sweep(tx, now)?;
            durable::resolve(tx, &attempt, &request)?;
            tell_log(tx, attempt.context(), attempt.context().log_head)
        };
        self.writer.run(cx, work).await
    }
}
