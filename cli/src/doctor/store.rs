//! What a running engine says is wrong with what it stores.

use std::time::Duration;

use contextwire_client::{AdminClient, Target};
use contextwire_engine::{DoctorFinding, DoctorSeverity};
use contextwire_proto::Reason;

use crate::report::{Finding, Severity};

/// Its findings; none of an engine that shows operators nothing.
pub(super) async fn examine(target: &Target, within: Duration) -> Vec<Finding> {
    let Ok(client) = AdminClient::new(target) else {
        return Vec::new();
    };
    match client.doctor(None, within).await {
        Ok(findings) => findings.into_iter().map(finding).collect(),
        Err(error) if error.code() == Reason::MethodAbsent.name() => Vec::new(),
        Err(error) => vec![Finding::warning(
            "store",
            format!("{}: {error}", error.code()),
            "it reads everything that is stored: give it longer with --deadline",
        )],
    }
}

fn finding(said: DoctorFinding) -> Finding {
    Finding {
        severity: match said.severity {
            DoctorSeverity::Ok => Severity::Ok,
            DoctorSeverity::Warning => Severity::Warning,
            DoctorSeverity::Problem => Severity::Problem,
        },
        check: said.check.into(),
        found: said.found,
        advice: said.advice,
    }
}
