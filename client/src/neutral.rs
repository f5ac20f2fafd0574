//! Answers that change nothing: what stands in for a hook that nobody served.

use contextwire_engine::{Bootstrapped, Ingested, IngestedBatch, Maintained, SpawnPrepared};

use crate::call::{Answer, Call, Served, ServedBy};
use crate::error::CallError;
use crate::request::{EngineReply, EngineRequest};

/// The reason that HOST-SEMANTICS 3.5 gives.
const DOWNGRADED: &str = "context engine downgraded to legacy";

/// What the host makes of a hook whose engine failed, where it goes on as if nothing had been
/// asked (HOST-SEMANTICS 3.5); `None` where the failure is its caller's business.
pub(crate) fn substitute(request: &EngineRequest) -> Option<EngineReply> {
    match request {
        EngineRequest::Bootstrap(_)
        | EngineRequest::Maintain(_)
        | EngineRequest::Ingest(_)
        | EngineRequest::IngestBatch(_)
        | EngineRequest::AfterTurn(_) => neutral(request, DOWNGRADED),
        EngineRequest::Assemble(_)
        | EngineRequest::Compact(_)
        | EngineRequest::CommitTurn(_)
        | EngineRequest::PrepareSubagentSpawn(_)
        | EngineRequest::ResolveSubagentSpawn(_)
        | EngineRequest::EndSubagent(_)
        | EngineRequest::Dispose(_) => None,
    }
}

/// What the absence of a method means in process (R1.1, HOST-SEMANTICS 2): the spawn proceeds
/// unprepared, nothing is tidied, imported or noted. Absence is no failure, so it is an answer with
/// the reason `METHOD_ABSENT` also where failures are not substituted.
///
/// # Errors
/// [`CallError::Absent`] for `CommitTurn` alone: without it the engine is not durable, and no answer
/// could say that the turn is stored.
pub(crate) fn absent(call: &Call) -> Result<Answer, CallError> {
    let hook = call.hook();
    let absent = CallError::Absent { hook };
    let reason = absent.to_string();
    match neutral(&call.request, &reason) {
        Some(result) => Ok(Served {
            result,
            by: ServedBy::InProcess,
            reason: Some(absent.into()),
            said: <_>::default(),
            traffic: call.traffic.clone(),
        }),
        None => Err(absent),
    }
}

fn neutral(request: &EngineRequest, reason: &str) -> Option<EngineReply> {
    let reason = Some(reason.to_owned());
    match request {
        EngineRequest::Bootstrap(_) => Some(EngineReply::Bootstrapped(Bootstrapped {
            reason,
            ..Bootstrapped::default()
        })),
        EngineRequest::Maintain(_) => Some(EngineReply::Maintained(Maintained {
            reason,
            ..Maintained::default()
        })),
        EngineRequest::Ingest(_) => Some(EngineReply::Ingested(Ingested::default())),
        EngineRequest::IngestBatch(_) => Some(EngineReply::IngestedBatch(IngestedBatch::default())),
        EngineRequest::AfterTurn(_) => Some(EngineReply::TurnNoted(())),
        EngineRequest::PrepareSubagentSpawn(_) => {
            Some(EngineReply::SpawnPrepared(SpawnPrepared::default()))
        }
        EngineRequest::ResolveSubagentSpawn(_) => Some(EngineReply::SpawnResolved(())),
        EngineRequest::EndSubagent(_) => Some(EngineReply::SubagentEnded(())),
        EngineRequest::Dispose(_) => Some(EngineReply::Disposed(())),
        EngineRequest::Assemble(_) | EngineRequest::Compact(_) | EngineRequest::CommitTurn(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use contextwire_engine::{
        AfterTurn, Bootstrap, CommitTurn, Compact, Dispose, EndSubagent, FallbackClass, Hook,
        IngestBatch, Maintain, PrepareSubagentSpawn, ResolveSubagentSpawn, Session, SessionId,
        SpawnOutcome,
    };

    use super::*;

    fn optional_requests() -> Vec<EngineRequest> {
        let resolve = ResolveSubagentSpawn {
            spawn_id: "spawn".to_owned(),
            outcome: SpawnOutcome::Started,
        };
        vec![
            Bootstrap::default().into(),
            IngestBatch::default().into(),
            AfterTurn::default().into(),
            CommitTurn::default().into(),
            Maintain::default().into(),
            PrepareSubagentSpawn::default().into(),
            resolve.into(),
            EndSubagent::default().into(),
            Dispose::default().into(),
        ]
    }

    fn call(request: EngineRequest) -> Call {
        let session = Session::new(SessionId::new("s").unwrap());
        Call::new(session, request, Duration::from_secs(5))
    }

    #[test]
    fn r1_1_absence_is_an_answer_for_every_optional_hook_but_commit_turn() {
        for request in optional_requests() {
            let hook = request.hook();
            let answer = absent(&call(request));
            if hook == Hook::CommitTurn {
                assert_eq!(answer.unwrap_err().code(), "METHOD_ABSENT");
                continue;
            }
            let served = answer.unwrap();
            assert_eq!(served.by, ServedBy::InProcess, "{hook}");
            assert_eq!(served.reason.unwrap().code(), "METHOD_ABSENT", "{hook}");
        }
    }

    #[test]
    fn r1_1_without_prepare_the_spawn_proceeds_unprepared() {
        let served = absent(&call(PrepareSubagentSpawn::default().into())).unwrap();
        let prepared = SpawnPrepared {
            prepared: false,
            system_prompt_addition: None,
        };
        assert_eq!(served.result, EngineReply::SpawnPrepared(prepared));
    }

    #[test]
    fn the_substitutes_are_those_of_host_semantics_3_5() {
        let reason = Some("context engine downgraded to legacy".to_owned());
        assert_eq!(
            substitute(&Bootstrap::default().into()),
            Some(EngineReply::Bootstrapped(Bootstrapped {
                bootstrapped: false,
                imported_messages: None,
                reason: reason.clone(),
            }))
        );
        assert_eq!(
            substitute(&Maintain::default().into()),
            Some(EngineReply::Maintained(Maintained {
                changed: false,
                bytes_freed: 0,
                rewritten_entries: 0,
                reason,
            }))
        );
        assert_eq!(
            substitute(&IngestBatch::default().into()),
            Some(EngineReply::IngestedBatch(IngestedBatch {
                ingested_count: 0
            }))
        );
        assert_eq!(
            substitute(&AfterTurn::default().into()),
            Some(EngineReply::TurnNoted(()))
        );
    }

    #[test]
    fn only_the_neutral_class_is_substituted() {
        let mut requests = optional_requests();
        requests.push(Compact::default().into());
        for request in requests {
            let neutral = request.hook().profile().fallback == FallbackClass::Neutral;
            assert_eq!(
                substitute(&request).is_some(),
                neutral,
                "{}",
                request.hook()
            );
        }
    }
}
