//! One delivery at a time in a lane, within this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// The lanes in which something is delivered or waits for it.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<HashMap<String, Arc<Turn<()>>>>);

impl Lanes {
    /// Waits until nothing else is delivered in the lane.
    pub(super) async fn enter(&self, engine: &str, lane: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lanes.retain(|_, turn| Arc::strong_count(turn) > 1);
            let lane = lanes.entry(format!("{engine}\n{lane}"));
            Arc::clone(lane.or_default())
        };
        turn.lock_owned().await
    }
}
