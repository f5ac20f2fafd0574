//! Layer: an engine that failed by its own word is not asked again (R7.3).

mod record;

use std::sync::Arc;

use contextwire_engine::{EngineInfo, Hook, SessionId};
pub use record::{QuarantineRecord, Quarantines};

use crate::call::{Answer, Call, ServedBy};
use crate::classify::{CountsAs, counts_as};
use crate::describe::Acquaintance;
use crate::error::CallError;
use crate::layer::{Below, Pending, Wrap, at_once, layer};
use crate::neutral;
use crate::options::{ClientOptions, Policy, QuarantineRelease, QuarantineScope};
use record::Admission;

/// The id of the built-in engine, and the name that stands for it while it serves for another.
const BUILT_IN: (&str, &str) = ("legacy", "Legacy Context Engine");

/// What bars one engine, and for whom.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    engine_id: String,
    owner: Option<String>,
    /// Whether the host goes by it at all: a turn that holds its engine by a lease does not.
    holds: bool,
    scope: QuarantineScope,
    release: QuarantineRelease,
    list: Quarantines,
}

impl Bar {
    /// The bar of an engine that the host selects by `engine_id`.
    pub(crate) fn new(engine_id: String, options: &ClientOptions) -> Self {
        Self {
            engine_id,
            owner: options.owner.clone(),
            holds: options.policy == Policy::Guarded,
            scope: options.quarantine.scope,
            release: options.quarantine.release,
            list: options.quarantine.list.clone(),
        }
    }

    /// The id that the host selects the engine by.
    pub(crate) fn engine_id(&self) -> &str {
        &self.engine_id
    }

    /// Who registered it.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// What bars the engine, for whomever.
    pub(crate) fn records(&self) -> Vec<QuarantineRecord> {
        let mut records = self.list.records();
        records.retain(|record| record.engine_id == self.engine_id);
        records
    }

    /// The record that bars the engine for every session.
    pub(crate) fn record(&self) -> Option<QuarantineRecord> {
        let record = self.list.record(&self.engine_id);
        record.filter(|_| self.holds)
    }

    /// What the host sees of the engine (HOST-SEMANTICS 3.6): while it is barred, what stands in its
    /// place, so that it neither owns compaction nor requires anything.
    pub(crate) fn active_info(&self, own: Option<EngineInfo>) -> Option<EngineInfo> {
        if self.record().is_none() {
            return own;
        }
        let (id, name) = BUILT_IN;
        Some(EngineInfo::new(id, name, env!("CARGO_PKG_VERSION")))
    }

    fn admit(&self, call: &Call) -> Admission {
        let probes = self.release == QuarantineRelease::Probe;
        self.list.admit(&self.engine_id, &call.session.id, probes)
    }

    /// A call was answered; that of a probe releases the engine.
    fn passed(&self, admission: Admission) {
        if let Admission::Probe(session) = admission {
            tracing::info!(
                engine = self.engine_id,
                "the engine answers and is released"
            );
            self.list.lift(&self.engine_id, session);
        }
    }

    fn note(&self, hook: Hook, session: SessionId, error: &CallError) {
        let (operation, reason) = if let CallError::Malformed(problems) = error {
            ("contract-validation".to_owned(), problems.clone())
        } else if let CallError::Undescribed(reason) = error {
            ("factory".to_owned(), reason.clone())
        } else if let CallError::Refused { message, .. } = error {
            (operation(hook), message.clone())
        } else {
            (operation(hook), error.to_string())
        };
        let session = match self.scope {
            QuarantineScope::Process => None,
            QuarantineScope::Session => Some(session),
        };
        self.list.bar(QuarantineRecord {
            owner: self.owner.clone(),
            session,
            ..QuarantineRecord::new(&self.engine_id, &operation, &reason)
        });
    }
}

/// A hook's name in the in-process interface.
fn operation(hook: Hook) -> String {
    if hook == Hook::EndSubagent {
        return "onSubagentEnded".to_owned();
    }
    let mut letters = hook.name().chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Refuses the calls of a barred engine, and bars one that fails. A hook that the engine never had
/// stays absent (HOST-SEMANTICS 2), and Dispose is nobody's business but the engine's.
#[derive(Clone, Debug)]
pub(crate) struct QuarantineLayer(pub(crate) Arc<Acquaintance>);

layer!(QuarantineLayer);

impl Wrap for QuarantineLayer {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        if call.hook() == Hook::Dispose {
            return Box::pin(below.call(call));
        }
        let bar = self.0.bar().clone();
        let admission = bar.admit(&call);
        if let Admission::Barred(record) = admission {
            return at_once(self.refuse(&call, record));
        }
        let (hook, session) = (call.hook(), call.session.id.clone());
        let answer = below.call(call);
        Box::pin(async move {
            let outcome = answer.await;
            match &outcome {
                Err(error) if counts_as(error) == CountsAs::Quarantine => {
                    bar.note(hook, session, error);
                }
                Ok(served) if served.by != ServedBy::InProcess => bar.passed(admission),
                Ok(_) | Err(_) => {}
            }
            outcome
        })
    }
}

impl QuarantineLayer {
    fn refuse(&self, call: &Call, record: QuarantineRecord) -> Result<Answer, CallError> {
        if self.0.lacks(call.hook()) {
            return neutral::absent(call);
        }
        Err(CallError::Quarantined {
            operation: record.operation,
            reason: record.reason,
        })
    }
}

#[cfg(test)]
mod tests;
