//! What every hook of a server uses.

use std::sync::Arc;

use contextwire_engine::AnyEngine;

use crate::computing::Pace;
use crate::drain::Drain;
use crate::load::Load;
use crate::mirror::Mirrors;
use crate::options::ServerOptions;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: AnyEngine,
    pub(crate) mirrors: Mirrors,
    pub(crate) drain: Drain,
    pub(crate) load: Arc<Load>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) options: ServerOptions,
    /// Random per start, so that a host notices a restart.
    pub(crate) instance_id: String,
}

impl Shared {
    pub(crate) fn new(engine: AnyEngine, options: ServerOptions) -> Self {
        Self {
            engine,
            mirrors: Mirrors::new(options.mirror_bytes),
            drain: Drain::default(),
            load: Load::new(&options),
            pace: Arc::default(),
            instance_id: uuid::Uuid::now_v7().to_string(),
            options,
        }
    }
}
