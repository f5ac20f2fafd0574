//! A store, its sessions, and what stands for one of them.

use bytes::Bytes;
use contextwire_engine::{
    Digest, DoctorFinding, DoctorSeverity, Places, PlanItem, PlanSummary, StandingPlan,
    StoreStatus, StoredSession,
};

use super::super::message::digest;
use super::super::{At, ConvertError, Problem, each};
use super::{ENTRIES, pieces, text};
use crate::v1;

/// Items of a plan in one message; each may bring a summary.
const ITEMS: usize = 64;

/// Sessions in as many messages as it takes.
pub fn listed(sessions: Vec<StoredSession>) -> Vec<v1::ListSessionsResponse> {
    let pieces = pieces(sessions, ENTRIES).into_iter();
    pieces
        .map(|sessions| v1::ListSessionsResponse {
            sessions: sessions.into_iter().map(Into::into).collect(),
        })
        .collect()
}

/// A plan in as many messages as it takes; `None` is not stored.
pub fn planned(plan: Option<StandingPlan>) -> Vec<v1::GetPlanResponse> {
    let Some(StandingPlan {
        version,
        digest,
        faults,
        items,
    }) = plan
    else {
        return vec![v1::GetPlanResponse::default()];
    };
    let mut plan = Some(v1::StoredPlan {
        version,
        digest: Bytes::copy_from_slice(&digest.0),
        faults,
    });
    let pieces = pieces(items, ITEMS).into_iter();
    pieces
        .map(|items| v1::GetPlanResponse {
            plan: plan.take(),
            items: items.into_iter().map(Into::into).collect(),
        })
        .collect()
}

/// A plan while its messages come in.
#[derive(Debug, Default)]
pub struct PlanReader(Option<StandingPlan>);

impl PlanReader {
    /// Takes the next message.
    ///
    /// # Errors
    /// When it means nothing.
    pub fn read(&mut self, message: v1::GetPlanResponse) -> Result<(), ConvertError> {
        let v1::GetPlanResponse { plan, items } = message;
        if let (None, Some(plan)) = (&self.0, plan) {
            let v1::StoredPlan {
                version,
                digest: bytes,
                faults,
            } = plan;
            self.0 = Some(StandingPlan {
                version,
                digest: Digest(digest(&bytes).at("plan.digest")?),
                faults,
                items: Vec::new(),
            });
        }
        let items: Vec<PlanItem> = each(items, "items")?;
        if let Some(plan) = &mut self.0 {
            plan.items.extend(items);
        }
        Ok(())
    }

    /// The whole; `None` is not stored.
    pub fn finish(self) -> Option<StandingPlan> {
        self.0
    }
}

impl From<StoreStatus> for v1::StoreStatus {
    fn from(status: StoreStatus) -> Self {
        let StoreStatus {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        } = status;
        Self {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        }
    }
}

impl From<v1::StoreStatus> for StoreStatus {
    fn from(wire: v1::StoreStatus) -> Self {
        let v1::StoreStatus {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        } = wire;
        Self {
            kind,
            sessions,
            entries,
            retired,
            tokens,
            summaries,
            plans,
            pins,
            debts,
            behind_in_index,
            bytes,
            free_bytes,
        }
    }
}

impl From<StoredSession> for v1::StoredSession {
    fn from(session: StoredSession) -> Self {
        let StoredSession {
            session,
            entries,
            turns,
            tokens,
            summaries,
            plan_version,
            standing_tokens,
            debt,
        } = session;
        Self {
            session_id: session.as_str().to_owned(),
            entries,
            turns,
            tokens,
            summaries,
            plan_version,
            standing_tokens,
            debt: debt.unwrap_or_default(),
        }
    }
}

impl TryFrom<v1::StoredSession> for StoredSession {
    type Error = ConvertError;

    fn try_from(wire: v1::StoredSession) -> Result<Self, ConvertError> {
        let v1::StoredSession {
            session_id,
            entries,
            turns,
            tokens,
            summaries,
            plan_version,
            standing_tokens,
            debt,
        } = wire;
        let session = super::session(session_id)?;
        Ok(Self {
            session,
            entries,
            turns,
            tokens,
            summaries,
            plan_version,
            standing_tokens,
            debt: text(debt),
        })
    }
}

impl From<DoctorFinding> for v1::DoctorFinding {
    fn from(finding: DoctorFinding) -> Self {
        let DoctorFinding {
            severity,
            check,
            found,
            advice,
        } = finding;
        let severity = match severity {
            DoctorSeverity::Ok => v1::DoctorSeverity::Ok,
            DoctorSeverity::Warning => v1::DoctorSeverity::Warning,
            DoctorSeverity::Problem => v1::DoctorSeverity::Problem,
        };
        Self {
            severity: severity.into(),
            check,
            found,
            advice: advice.unwrap_or_default(),
        }
    }
}

impl From<v1::DoctorFinding> for DoctorFinding {
    fn from(wire: v1::DoctorFinding) -> Self {
        let severity = match wire.severity() {
            v1::DoctorSeverity::Ok => DoctorSeverity::Ok,
            v1::DoctorSeverity::Warning => DoctorSeverity::Warning,
            v1::DoctorSeverity::Problem | v1::DoctorSeverity::Unspecified => {
                DoctorSeverity::Problem
            }
        };
        let v1::DoctorFinding {
            severity: _,
            check,
            found,
            advice,
        } = wire;
        Self {
            severity,
            check,
            found,
            advice: text(advice),
        }
    }
}

pub(super) fn places((start, end): Places) -> v1::Places {
    v1::Places { start, end }
}

pub(super) fn places_of(wire: v1::Places) -> Places {
    let v1::Places { start, end } = wire;
    (start, end)
}

impl From<PlanItem> for v1::PlanItem {
    fn from(item: PlanItem) -> Self {
        let PlanItem {
            places: at,
            tokens,
            summary,
        } = item;
        Self {
            places: Some(places(at)),
            tokens,
            summary: summary.map(Into::into),
        }
    }
}

impl TryFrom<v1::PlanItem> for PlanItem {
    type Error = ConvertError;

    fn try_from(wire: v1::PlanItem) -> Result<Self, ConvertError> {
        let v1::PlanItem {
            places,
            tokens,
            summary,
        } = wire;
        Ok(Self {
            places: places_of(places.ok_or(Problem::Missing).at("places")?),
            tokens,
            summary: summary.map(Into::into),
        })
    }
}

impl From<PlanSummary> for v1::PlanSummary {
    fn from(summary: PlanSummary) -> Self {
        let PlanSummary {
            handle,
            depth,
            written_by,
            text,
        } = summary;
        Self {
            handle,
            depth,
            written_by,
            text,
        }
    }
}

impl From<v1::PlanSummary> for PlanSummary {
    fn from(wire: v1::PlanSummary) -> Self {
        let v1::PlanSummary {
            handle,
            depth,
            written_by,
            text,
        } = wire;
        Self {
            handle,
            depth,
            written_by,
            text,
        }
    }
}
