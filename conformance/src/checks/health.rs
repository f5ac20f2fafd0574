//! The health service beside the hooks.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::check::{Check, Checked, broken, check, ensure};
use crate::probe::{Probe, within};

pub(super) const CHECKS: &[Check] = &[check!(
    "E-LIF-01",
    ["R1.1"],
    Must,
    Core,
    [],
    serving,
    "grpc.health.v1 answers SERVING for the service and overall",
    "load balancers and supervisors ask nothing else"
)];

async fn serving(probe: Probe) -> Checked {
    for service in ["", "contextengine.v1.ContextEngineService"] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let mut health = HealthClient::new(probe.channel());
        let Some(answer) = within(health.check(request)).await else {
            return broken("health does not answer");
        };
        let status = match answer {
            Ok(answer) => answer.into_inner().status(),
            Err(status) => return broken(format!("health of `{service}`: {:?}", status.code())),
        };
        ensure(status == ServingStatus::Serving, || {
            format!("health of `{service}` is {status:?}")
        })?;
    }
    Ok(())
}
