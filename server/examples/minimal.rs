//! A whole engine: the model sees the last ten messages. Run it, then
//! `contextwire replay --target unix:/tmp/last-ten/engine.sock`.

use contextwire_server::Server;
use contextwire_server::engine::{
    Assemble, AssembleOutcome, Assembled, Compact, Compacted, ContextEngine, EngineError,
    EngineInfo, HookContext, Ingest, Ingested,
};

struct LastTen;

impl ContextEngine for LastTen {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("last-ten", "Last ten messages", "1.0.0")
    }
    async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
        Ok(Ingested { ingested: false }) // stores nothing
    }
    async fn assemble(
        &self,
        _: &HookContext,
        request: Assemble,
    ) -> Result<AssembleOutcome, EngineError> {
        let len = request.transcript.len();
        Ok(request.reply(Assembled::keep(len.saturating_sub(10)..len)))
    }
    async fn compact(&self, _: &HookContext, _: Compact) -> Result<Compacted, EngineError> {
        Ok(Compacted::declined("this engine keeps no summaries"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(Server::new(LastTen)
        .listen_unix("/tmp/last-ten/engine.sock")
        .run()
        .await?)
}
