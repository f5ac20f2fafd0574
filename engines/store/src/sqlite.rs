//! A store in one SQLite file: one thread writes, one reads beside it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contextwire_engine::HookContext;

use crate::admin::StoreAdmin;
use crate::connection::{self, Schema, Use};
use crate::error::StoreError;
use crate::files::Files;
use crate::reader::Reader;
use crate::store::{Outcome, Store};
use crate::tx::Tx;
use crate::writer::Writer;

/// A file of rows. Several of these, in this process or in others, may use one file.
/// A clone is another handle of the same.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    writer: Arc<Writer>,
    reader: Arc<Reader>,
    files: Arc<Files>,
}

impl SqliteStore {
    /// Opens the file, and creates it for its owner alone where there is none. Its folder must
    /// exist. `busy` is how long to wait for another process that writes; then a call fails as
    /// transient.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be used.
    pub fn open(path: &Path, schema: &Schema, busy: Duration) -> Result<Self, StoreError> {
        let writing = connection::open(path, schema, Use::Write, busy)?;
        let reading = connection::open(path, schema, Use::Read, busy)?;
        let failed = |error| StoreError::open(path, error);
        Ok(Self {
            writer: Arc::new(Writer::start(writing, schema.weigh).map_err(failed)?),
            reader: Arc::new(Reader::start(reading).map_err(failed)?),
            files: Arc::new(Files {
                path: path.to_owned(),
                schema: *schema,
                busy,
            }),
        })
    }

    /// An operator's look at what is stored; it reads beside the hooks.
    pub fn admin(&self) -> StoreAdmin {
        StoreAdmin::new(Arc::clone(&self.reader))
    }

    /// Its files, for work that may take long.
    pub fn files(&self) -> Files {
        Files::clone(&self.files)
    }

    /// Runs `act` in a transaction for an operator, as [`Store::write`] does for a hook.
    ///
    /// # Errors
    /// Those of `act`, and the store's.
    pub async fn change<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Tx) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        self.writer.run_for_operator(act).await
    }
}

impl Store for SqliteStore {
    type Rows = Tx;

    async fn write<T: Send + 'static>(
        &self,
        cx: &HookContext,
        act: impl FnOnce(&mut Tx) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        self.writer.run(cx, act).await
    }

    fn submit(&self, act: impl FnOnce(&mut Tx) -> Outcome<()> + Send + 'static) {
        self.writer.submit(act);
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Tx) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        self.reader.run(look).await
    }
}
