//! What an operator may ask of a running store.

use std::sync::Arc;

use contextwire_engine::{EngineAdmin, EngineError, SessionId, StoredLog};

use crate::reader::Reader;

/// An operator's look at a running store: one state of the file, beside whoever writes it.
#[derive(Clone, Debug)]
pub struct StoreAdmin {
    reader: Arc<Reader>,
}

impl StoreAdmin {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        Self { reader }
    }
}

impl EngineAdmin for StoreAdmin {
    async fn inspect_session(&self, session: SessionId) -> Result<Option<StoredLog>, EngineError> {
        self.reader.run(move |tx| tx.stored_log(&session)).await
    }
}
