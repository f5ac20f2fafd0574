//! Who makes room: an engine that neither owns compaction nor hands it on leaves it to nobody
//! (R1.2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::{
    Compact, Host, HostAnswer, HostCall, HostCallError, HostCalls, Session, SessionId,
};

use crate::report::Finding;

const CHECK: &str = "compaction";

/// A host that notes whether it was asked to compact, and declines.
#[derive(Default)]
struct Asked(AtomicBool);

impl HostCalls for Asked {
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        if matches!(call, HostCall::DelegateCompaction(_)) {
            self.0.store(true, Ordering::Relaxed);
        }
        Box::pin(async {
            Err(HostCallError::new(
                "DENIED",
                "this is an examination, nothing is compacted",
            ))
        })
    }
}

/// Asks an engine that does not own compaction to compact a session that nobody has.
pub(super) async fn examine(client: &EngineClient, owns: bool, within: Duration) -> Finding {
    if owns {
        return Finding::ok(CHECK, "the engine owns it");
    }
    let Ok(id) = SessionId::new(format!("doctor-{}", uuid::Uuid::now_v7())) else {
        return Finding::ok(CHECK, "not examined");
    };
    let asked = Arc::new(Asked::default());
    let client = client.with_host(Host::new(Arc::<Asked>::clone(&asked)));
    let request = Compact {
        force: true,
        ..Compact::default()
    };
    let answer = client
        .compact_within(&Session::new(id), request, within)
        .await;
    let delegates = asked.0.load(Ordering::Relaxed);
    match answer {
        _ if delegates => Finding::ok(CHECK, "the engine delegates it to its host"),
        Ok(served) if matches!(served.by, ServedBy::Engine(_)) => {
            let compacted = served.result;
            let reason = compacted.reason.filter(|reason| !reason.trim().is_empty());
            match (compacted.ok, reason) {
                (false, Some(reason)) => Finding::warning(
                    CHECK,
                    format!("the engine neither owns nor delegates it, and says so: {reason}"),
                    "the host has to compact by itself when a session grows too long",
                ),
                _ => Finding::problem(
                    CHECK,
                    "the engine owns no compaction, delegates none, and gives no reason",
                    "its author: answer Compact with cx.host.delegate_compaction(..), or with ok: \
                     false and a reason",
                ),
            }
        }
        Ok(_) | Err(_) => Finding::problem(
            CHECK,
            match answer {
                Ok(_) => "Compact was not answered by the engine".to_owned(),
                Err(error) => format!("Compact fails: {error}"),
            },
            "look at the engine's log",
        ),
    }
}

#[cfg(test)]
mod tests {
    use contextwire_client::Target;
    use contextwire_engine::{
        Assemble, AssembleOutcome, Assembled, Compacted, ContextEngine, EngineError, EngineInfo,
        HookContext, Ingest, Ingested,
    };
    use contextwire_server::{Listen, Server};

    use crate::doctor::examine_engine;
    use crate::report::Severity;

    /// Its model is away.
    struct Failing;

    impl ContextEngine for Failing {
        fn info(&self) -> EngineInfo {
            EngineInfo::new("failing", "Failing", "1.0.0")
        }

        async fn ingest(&self, _: &HookContext, _: Ingest) -> Result<Ingested, EngineError> {
            Ok(Ingested::default())
        }

        async fn assemble(
            &self,
            _: &HookContext,
            request: Assemble,
        ) -> Result<AssembleOutcome, EngineError> {
            Ok(request.reply(Assembled::keep(0..request.transcript.len())))
        }

        async fn compact(
            &self,
            _: &HookContext,
            _: super::Compact,
        ) -> Result<Compacted, EngineError> {
            Err(EngineError::rejected("there is no model"))
        }
    }

    #[tokio::test]
    async fn what_is_done_in_the_engines_place_is_not_taken_for_its_own() {
        let loopback = "127.0.0.1:0".parse().unwrap();
        let server = Server::new(Failing).listen(Listen::Tcp(loopback));
        let bound = server.bind().await.unwrap();
        let Some(&Listen::Tcp(address)) = bound.addresses().first() else {
            panic!("a TCP address")
        };
        tokio::spawn(async move { bound.run(std::future::pending()).await });
        let target = Target::tcp(address).unwrap();
        let findings = examine_engine(&target, super::Duration::from_mins(1)).await;
        let compaction = findings.iter().find(|it| it.check == super::CHECK).unwrap();
        assert_eq!(compaction.severity, Severity::Problem);
        assert!(compaction.found.contains("no model"), "{compaction:?}");
    }
}
