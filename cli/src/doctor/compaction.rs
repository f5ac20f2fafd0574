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
