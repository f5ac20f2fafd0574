//! Asks endpoints how they are, beside the conversation (`grpc.health.v1`).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::connect::Line;
use crate::endpoint::{Endpoint, Health};

const SERVICE: &str = "contextengine.v1.ContextEngineService";
/// Between two questions while nothing happens.
const INTERVAL: Duration = Duration::from_secs(5);
/// Between two questions where something did.
const SOON: Duration = Duration::from_millis(200);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks all of them until it is dropped.
pub(super) async fn watch(endpoints: Vec<Arc<Endpoint>>) {
    join_all(endpoints.into_iter().map(watch_one)).await;
}

async fn watch_one(endpoint: Arc<Endpoint>) {
    let mut health = HealthClient::new(endpoint.line.clone());
    loop {
        let now = ask(&mut health).await;
        let before = endpoint.set_health(now);
        if now == Health::Serving && endpoint.known.last().is_none() {
            // Whose it is should be known before a call has to go there; a failure says nothing yet.
            let _described = endpoint.known.engine().await.is_ok();
        }
        if before != now {
            let target = endpoint.known.target();
            match now {
                Health::Serving if before == Health::Unknown => {}
                Health::Serving => tracing::info!(%target, "the endpoint takes calls again"),
                Health::Unknown | Health::NotServing | Health::Unreachable => {
                    let health = now.name();
                    tracing::warn!(%target, health, "calls go to other endpoints");
                }
            }
        }
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = endpoint.look.notified() => sleep(SOON).await,
        }
    }
}

async fn ask(health: &mut HealthClient<Line>) -> Health {
    let request = HealthCheckRequest {
        service: SERVICE.to_owned(),
    };
    match timeout(PATIENCE, health.check(request)).await {
        Ok(Ok(answer)) => match answer.get_ref().status() {
            ServingStatus::Serving => Health::Serving,
            ServingStatus::Unknown | ServingStatus::NotServing | ServingStatus::ServiceUnknown => {
                Health::NotServing
            }
        },
        // An engine need not have the service; its calls show how it is.
        Ok(Err(status)) if matches!(status.code(), Code::Unimplemented | Code::NotFound) => {
            Health::Serving
        }
        Ok(Err(_)) | Err(_) => Health::Unreachable,
    }
}
