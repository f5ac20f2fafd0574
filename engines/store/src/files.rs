//! The files of a store that is open, for work that may take long: it has a connection of its own, so
//! that no hook waits for it.

use std::path::PathBuf;
use std::time::Duration;

use crate::connection::{self, Schema, Use};
use crate::error::{SqlError, StoreError};
use crate::store::Outcome;
use crate::tx::Tx;

/// The files of a store.
#[derive(Clone, Debug)]
pub struct Files {
    pub(crate) path: PathBuf,
    pub(crate) schema: Schema,
    pub(crate) busy: Duration,
}

impl Files {
    /// Runs `look` on one state of the store. Blocks for as long as that takes.
    ///
    /// # Errors
    /// Those of `look`, and the store's.
    pub fn look<T>(&self, look: impl FnOnce(&Tx) -> Outcome<T>) -> Outcome<T> {
        let opened = connection::open(&self.path, &self.schema, Use::Read, self.busy);
        let tx = Tx::new(opened?);
        let snapshot = tx.connection().unchecked_transaction().map_err(SqlError)?;
        let seen = look(&tx)?;
        snapshot.finish().map_err(SqlError)?;
        Ok(seen)
    }
}

impl From<StoreError> for contextwire_engine::EngineError {
    fn from(error: StoreError) -> Self {
        Self::of(error)
    }
}
